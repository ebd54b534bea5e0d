"""What the screens show, as plain text."""
