"""The report: one page with the ledger, figures and captions, brackets, and the origin of every result."""
