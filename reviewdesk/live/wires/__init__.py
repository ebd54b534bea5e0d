"""Address endpoints, send requests to them, and read their answers."""
