"""Reads figures in a worker thread: those of the strip, and the pages of the calibration screen."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, TypeVar

from reviewdesk.app.messages import CalibrationReady, Figures
from reviewdesk.domain.records import Run
from reviewdesk.errors import DeskError, ReviewDeskError

if TYPE_CHECKING:
    from reviewdesk.desk import Desk
    from reviewdesk.desk.figures.strip import LiveStrip

T = TypeVar("T")


def read_figures(strip: LiveStrip, desk: Desk, run: Run, token: int, *, blind: bool) -> Figures:
    """Read the strip's figures and the pace; an error is returned in them, not raised."""
    found, error = _read(desk, lambda reader: strip.read(reader, run))
    if found is None:
        return Figures(token, error=error)
    return Figures(token, found.calibration, found.alone if blind else None, found.pace)


def read_page(
    desk: Desk, run: Run, token: int, ask: Callable[[Desk, Run], object]
) -> CalibrationReady:
    """Read a page of the calibration screen; an error is returned with it, not raised."""
    found, error = _read(desk, lambda reader: ask(reader, run))
    return CalibrationReady(token, found, error)


def _read(desk: Desk, ask: Callable[[Desk], T]) -> tuple[T | None, ReviewDeskError | None]:
    """Call ``ask`` with a separate connection; return its result or the error, never raise."""
    try:
        reader = desk.reader()
        try:
            return ask(reader), None
        finally:
            reader.close()
    except ReviewDeskError as error:
        return None, error
    except Exception as error:  # noqa: BLE001  (worker entry: figures must never end a session)
        return None, DeskError(f"no figures: {type(error).__name__}: {error}")
