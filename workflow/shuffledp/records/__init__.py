"""Files that are written whole, the tables in them, and the record of what each was made from."""
