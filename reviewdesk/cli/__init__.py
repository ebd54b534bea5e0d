"""The command line."""

from reviewdesk.cli.program import cli, main, run

__all__ = ["cli", "main", "run"]
