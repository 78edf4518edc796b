"""Accountants of the plain shuffle, in which all clients report in every round, a mechanism a module."""
