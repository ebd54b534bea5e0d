"""Widgets that paint lines: the queue, the panes and the bars."""
