"""Pages of the report beside the figures: the ledger, the brackets and where each result comes from."""
