"""Run the command line as ``python -m reviewdesk``."""

from reviewdesk.cli import main

if __name__ == "__main__":
    main()
