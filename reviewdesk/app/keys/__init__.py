"""The registry of actions and everything made from it: keys, footer, palette and commands."""
