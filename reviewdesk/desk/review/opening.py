"""A desk that is open for a reviewer, and where the review goes on."""

from __future__ import annotations

from typing import TYPE_CHECKING

from reviewdesk.domain.records import Run, View
from reviewdesk.frozen import Frozen

if TYPE_CHECKING:
    from reviewdesk.desk.core import Desk


class Opening(Frozen):
    """What an app needs to begin a review; ``notice`` is the first text of its status line."""

    desk: Desk
    run: Run
    view: View
    notice: str = ""
