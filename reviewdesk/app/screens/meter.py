"""The figures of the strip: asked for after every label, taken only from the newest answer."""

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
    """What a worker last found, and the saved mark that waits for figures that count it."""

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
        """Another run has other figures."""
        self.figures = self.alone = self.pace = None
        self.saved = self._unmarked = ""

    def mark(self, text: str) -> None:
        """Show the saved mark together with the figures that already count what was saved."""
        self.saved, self._unmarked = "", text

    def ask(self) -> None:
        """Ask for the figures; only the answer to the newest question is taken."""
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
        """Keep figures that answer the newest question; whether they do."""
        if found.token != self._token:
            return False
        self.saved, self._unmarked = self._unmarked or self.saved, ""
        if found.error is None:
            self.figures, self.alone = found.calibration, found.alone
            self.pace = found.pace
        return True
