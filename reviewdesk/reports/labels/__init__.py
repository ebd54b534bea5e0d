"""Read and write labels files."""
