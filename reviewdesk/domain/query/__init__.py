"""The language of filters, orders and search."""
