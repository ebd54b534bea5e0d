"""The shared place that an address names."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from reviewdesk.remote.folder import FolderPlace

if TYPE_CHECKING:
    from reviewdesk.remote.place import SharedPlace


def place_at(where: str) -> SharedPlace:
    """Return the place at an address.

    Raises:
        UsageError: there is no such place.
    """
    return FolderPlace(Path(where).expanduser())
