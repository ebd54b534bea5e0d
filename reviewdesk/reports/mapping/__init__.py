"""Code that the readers of other tools' files share."""
