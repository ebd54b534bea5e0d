"""The command line. Its entry shows the first page of the desk before it loads the commands."""

from __future__ import annotations

import os
import sys

TYPE_CHECKING = False
if TYPE_CHECKING:
    from reviewdesk.cli.program import cli, run

__all__ = ["cli", "main", "run"]


def main() -> None:
    """Run a command, and exit with its exit code."""
    from reviewdesk.cli import first_frame

    # The threads of numpy's library wait for work by turning on a core; no sum here is for them.
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
    try:
        first_frame.show(sys.argv[1:])
        from reviewdesk.cli.program import main as run_command

        run_command()
    except KeyboardInterrupt:
        first_frame.close()
        sys.exit(130)
    finally:
        first_frame.close()


if not TYPE_CHECKING:  # so that a type checker still finds misspelt names

    def __getattr__(name: str) -> object:
        """Load the commands when somebody asks for them."""
        if name not in {"cli", "run"}:
            raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
        from reviewdesk.cli import program

        return getattr(program, name)
