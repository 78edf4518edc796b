"""The report: one page with the ledger, figures and captions, brackets, and where it all comes from."""
