"""The JSON of the commands. Other programs rely on it, so keys keep their names and order."""
