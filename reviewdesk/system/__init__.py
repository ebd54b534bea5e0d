"""Differences of Linux, macOS and Windows, a module each: disks, locks, terminals, signals."""
