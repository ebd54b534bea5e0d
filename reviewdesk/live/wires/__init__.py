"""Address endpoints, send requests to them, and read what they answer."""
