"""Accountants of the plain shuffle, in which all clients report in every round; one module a mechanism."""
