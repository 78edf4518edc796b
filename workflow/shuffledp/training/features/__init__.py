"""Makers of features of colour images, which are fixed before a linear layer on them is trained privately."""
