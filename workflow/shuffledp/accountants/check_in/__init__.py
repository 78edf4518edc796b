"""Accountants of protocols in which clients choose when they report; one module a protocol and mechanism."""
