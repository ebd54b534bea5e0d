"""The reader of Inspect logs: ``.json``, and ``.eval``, which is a zip archive."""
