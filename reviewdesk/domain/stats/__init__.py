"""Estimators: calibration, intervals, corrections and agreement over many verdicts."""
