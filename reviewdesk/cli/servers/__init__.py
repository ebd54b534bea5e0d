"""Commands that serve a desk to others: people in browsers, and agents."""
