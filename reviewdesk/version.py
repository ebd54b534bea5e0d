"""The version of the program, and where it is kept."""

__version__ = "0.2.0"
REPOSITORY = "reviewdesk/reviewdesk"
