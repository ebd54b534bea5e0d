"""Compares each juror with people, with the other jurors, and with itself over time."""
