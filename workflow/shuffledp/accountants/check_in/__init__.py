"""Accountants of protocols in which clients choose when they report, a protocol and mechanism a module."""
