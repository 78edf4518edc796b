"""Files: how they are read and written, the tables in them, and the record of what each was made from."""
