"""Reproduction of the four papers: configuration, figures, ledger, report, studies and recorded runs.

Only the command line and the workflow's scripts import it.
"""
