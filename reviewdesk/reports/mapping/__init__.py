"""What the readers of other tools' files share."""
