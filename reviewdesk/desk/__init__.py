"""The use cases: the one place where domain, reports and store meet.

The command line and the app both call a ``Desk`` and keep no copy of their own.
"""

from __future__ import annotations

from reviewdesk.desk.core import Desk
from reviewdesk.desk.loading import LoadOptions

__all__ = ["Desk", "LoadOptions"]
