"""A desk that is open for a reviewer, and where the review goes on."""

from __future__ import annotations

from typing import TYPE_CHECKING

from msgspec import Struct

from reviewdesk.domain.records import Run, View

if TYPE_CHECKING:
    from reviewdesk.desk.core import Desk


class Opening(Struct, frozen=True):
    """What an app needs to begin a review; ``notice`` is the first text of its status line."""

    desk: Desk
    run: Run
    view: View
    notice: str = ""
