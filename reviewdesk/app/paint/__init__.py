"""Painters: functions that turn data and a width into styled lines."""
