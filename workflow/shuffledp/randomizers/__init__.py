"""Local randomisers: what a client sends instead of its gradient.

``constants`` holds the mathematics (no torch), ``registry`` names the randomisers and makes them; each is a
module of its own on torch, batched over clients.
"""
