"""One run of a desk, shown to people who only read."""

from __future__ import annotations

from pathlib import Path

from reviewdesk.desk.core import Access, Clock, Desk, default_path, default_reviewer, now
from reviewdesk.store import runs
from reviewdesk.store.connect import still_there


class SharedRun(Desk):
    """A desk in which no other run is found, and nothing can be written."""

    def __init__(self, path: Path, reviewer: str, clock: Clock, run_hash: str) -> None:
        """Open the desk, and show the run with this hash as its reviewer sees it."""
        super().__init__(path, reviewer, clock, Access.READ)
        self._run_hash = run_hash
        try:
            runs.show_only(self.conn, run_hash)
        except BaseException:
            self.conn.close()
            raise

    def reader(self) -> Desk:
        """Open a second connection, which shows as little."""
        still_there(self.conn, self.path)
        found = SharedRun(self.path, self.reviewer, self.clock, self._run_hash)
        found.columns = self.columns
        return found


def share(path: Path | None, run_hash: str, reviewer: str | None = None) -> Desk:
    """Open a desk to show one run of it."""
    return SharedRun(path or default_path(), reviewer or default_reviewer(), now, run_hash)
