"""The desk file: SQLite, one writer at a time, nothing lost."""
