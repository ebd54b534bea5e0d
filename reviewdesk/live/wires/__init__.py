"""How endpoints are addressed, asked and read."""
