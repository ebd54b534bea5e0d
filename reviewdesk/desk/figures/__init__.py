"""Figures of a run: calibration, jurors, what-if and the strip."""
