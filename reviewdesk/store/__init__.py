"""The desk file: a SQLite database with one writer at a time that never loses what was saved."""
