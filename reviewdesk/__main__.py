"""Run the command line as ``python -m reviewdesk``."""

from __future__ import annotations

from reviewdesk.cli import main

if __name__ == "__main__":
    main()
