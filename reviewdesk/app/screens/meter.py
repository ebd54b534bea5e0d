"""The figures of the strip: read by a worker after every label; only the newest answer counts."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

from textual.worker import get_current_worker

from reviewdesk.app.messages import CalibrationFinished, Figures
from reviewdesk.app.workers.figures import read_figures
from reviewdesk.desk.figures.strip import LiveStrip
from reviewdesk.domain.records import Calibration, Metrics, Pace

if TYPE_CHECKING:
    from reviewdesk.app.screens.review import ReviewScreen


class StripMeter:
    """The latest figures, and the saved mark, which waits for figures that count the new label."""

    def __init__(self, screen: ReviewScreen) -> None:
        """Measure the run that ``screen`` shows."""
        self._screen = screen
        self.figures: Calibration | None = None
        self.alone: Metrics | None = None
        self.pace: Pace | None = None
        self.saved = ""
        self._unmarked = ""
        self._token = 0
        self.strip = LiveStrip()

    def clear(self) -> None:
        """Drop the figures and the mark, because another run is shown."""
        self.figures = self.alone = self.pace = None
        self.saved = self._unmarked = ""

    def mark(self, text: str) -> None:
        """Show the saved mark ``text`` only when the figures that count the saved event arrive."""
        self.saved, self._unmarked = "", text

    def ask(self) -> None:
        """Read the figures in a worker; only the answer to the newest request is taken."""
        self._token += 1
        self._screen.run_worker(
            partial(self._read, self._token),
            name="calibration",
            group="calibration",
            thread=True,
            exclusive=True,
        )

    def _read(self, token: int) -> None:
        review_session = self._screen.review_session
        session = review_session.session
        blind = session.view.blind
        found = read_figures(self.strip, review_session.desk, session.run, token, blind=blind)
        if not get_current_worker().is_cancelled:
            self._screen.post_message(CalibrationFinished(found))

    def take(self, found: Figures) -> bool:
        """Store figures if they answer the newest request; return whether they do."""
        if found.token != self._token:
            return False
        self.saved, self._unmarked = self._unmarked or self.saved, ""
        if found.error is None:
            self.figures, self.alone = found.calibration, found.alone
            self.pace = found.pace
        return True
