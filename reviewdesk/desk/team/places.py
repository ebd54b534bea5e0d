"""The shared place that an address names."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING

from reviewdesk.desk.team.sync import CHAINS, RUNS
from reviewdesk.errors import UsageError
from reviewdesk.remote.folder import FolderPlace
from reviewdesk.remote.parts import is_remote

if TYPE_CHECKING:
    from reviewdesk.remote.place import SharedPlace


def place_at(where: str, *, git: bool = False) -> SharedPlace:
    """Return the place at an address: a work tree if it is the top of one, or with ``git``.

    Raises:
        UsageError: there is no such place, or no client for it is installed.
        DeskError: git cannot work there.
    """
    if not where.strip():
        raise UsageError("WHERE: names no place", "Name a folder, a work tree or an address.")
    if is_remote(where):
        from reviewdesk.remote.address import AddressPlace

        if git:
            raise UsageError(f"{where}: is an address", "--git takes a folder of this machine.")
        if where.startswith("file://"):
            raise UsageError(f"{where}: is a folder", "Write its path alone.")
        return AddressPlace(where)
    path = Path(where).expanduser()
    if git or os.path.lexists(path / ".git"):
        from reviewdesk.remote.git import GitPlace

        return GitPlace(path, (CHAINS, RUNS))
    return FolderPlace(path)
