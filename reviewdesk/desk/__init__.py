"""The use cases: the one place where domain, reports and store meet.

The command line and the app both call a ``Desk`` and keep no copy of their own.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from reviewdesk.desk.core import Desk
    from reviewdesk.desk.loading import LoadOptions

__all__ = ["Desk", "LoadOptions"]


_WHERE = {"Desk": "core", "LoadOptions": "loading"}

if not TYPE_CHECKING:  # else every misspelt name would pass for one of ours

    def __getattr__(name: str) -> object:
        """Load the desk when it is asked for: a panel of the library needs no SQLite."""
        if name not in _WHERE:
            raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
        found = getattr(import_module(f"{__name__}.{_WHERE[name]}"), name)
        globals()[name] = found
        return found
