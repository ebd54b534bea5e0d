"""Labels files: read and written."""
