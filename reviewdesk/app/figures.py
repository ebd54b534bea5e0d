"""The worker that reads the figures of the strip."""

from __future__ import annotations

from typing import TYPE_CHECKING

from reviewdesk.app.messages import Figures
from reviewdesk.domain.records import Run
from reviewdesk.errors import DeskError, ReviewDeskError

if TYPE_CHECKING:
    from reviewdesk.desk import Desk


def read_figures(desk: Desk, run: Run, token: int) -> Figures:
    """The worker's entry: read through a connection of its own; an error is a figure too."""
    try:
        reader = desk.reader()
        try:
            return Figures(token, reader.calibration(run))
        finally:
            reader.close()
    except ReviewDeskError as error:
        return Figures(token, None, error)
    except Exception as error:  # noqa: BLE001  (worker entry: figures must never end a sitting)
        return Figures(token, None, DeskError(f"no figures: {type(error).__name__}: {error}"))
