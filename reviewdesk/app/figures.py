"""What the workers read: the figures of the strip with the pace, and the calibration screen."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, TypeVar

from reviewdesk.app.messages import Figures, Judged
from reviewdesk.desk.chronicle import pace
from reviewdesk.desk.judge import calibration_page
from reviewdesk.domain.records import Run
from reviewdesk.errors import DeskError, ReviewDeskError

if TYPE_CHECKING:
    from reviewdesk.desk import Desk

T = TypeVar("T")


def read_figures(desk: Desk, run: Run, token: int, *, blind: bool) -> Figures:
    """The strip's figures and the pace; an error is a figure too."""
    if blind:
        page, error = _read(desk, lambda reader: calibration_page(reader, run, jurors=False))
        if page is not None:
            return Figures(token, page.calibration, page.alone.metrics, page.pace)
        return Figures(token, error=error)
    found, error = _read(desk, lambda reader: (reader.calibration(run), pace(reader, run)))
    if found is None:
        return Figures(token, error=error)
    return Figures(token, found[0], pace=found[1])


def read_page(desk: Desk, run: Run, token: int) -> Judged:
    """Everything that the calibration screen shows."""
    found, error = _read(desk, lambda reader: calibration_page(reader, run))
    return Judged(token, found, error)


def _read(desk: Desk, ask: Callable[[Desk], T]) -> tuple[T | None, ReviewDeskError | None]:
    """The worker's entry: ask through a connection of its own."""
    try:
        reader = desk.reader()
        try:
            return ask(reader), None
        finally:
            reader.close()
    except ReviewDeskError as error:
        return None, error
    except Exception as error:  # noqa: BLE001  (worker entry: figures must never end a sitting)
        return None, DeskError(f"no figures: {type(error).__name__}: {error}")
