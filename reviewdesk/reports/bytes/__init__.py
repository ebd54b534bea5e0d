"""Bytes as JSON, YAML and archives, read strictly and with positions."""
