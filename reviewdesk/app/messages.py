"""The frozen messages that workers and widgets post; handlers own the state."""

from __future__ import annotations

from dataclasses import dataclass

from textual.message import Message

from reviewdesk.domain.enums import Status
from reviewdesk.domain.records import Calibration, Metrics, Pace
from reviewdesk.errors import ReviewDeskError


@dataclass(frozen=True)
class Figures:
    """What a calibration worker found; ``token`` tells which request it answers."""

    token: int
    calibration: Calibration | None = None
    alone: Metrics | None = None
    """What the labelled verdicts tell by themselves, for a blind session."""
    pace: Pace | None = None
    error: ReviewDeskError | None = None


class CalibrationFinished(Message):
    """A calibration worker has finished."""

    def __init__(self, figures: Figures) -> None:
        """Carry the frozen figures across the thread boundary."""
        super().__init__()
        self.figures = figures


@dataclass(frozen=True)
class CalibrationReady:
    """What a page of the calibration screen shows; ``token`` as above."""

    token: int
    page: object | None = None
    error: ReviewDeskError | None = None


class PageRead(Message):
    """The calibration screen's worker has finished."""

    def __init__(self, judged: CalibrationReady) -> None:
        """Carry the frozen page across the thread boundary."""
        super().__init__()
        self.judged = judged


class RowChosen(Message):
    """A line of the queue was clicked."""

    def __init__(self, index: int) -> None:
        """Carry the index into the queue."""
        super().__init__()
        self.index = index


class PaintFailed(Message):
    """A widget met an error while it was painting; it belongs on the status line."""

    def __init__(self, error: ReviewDeskError) -> None:
        """Carry the error."""
        super().__init__()
        self.error = error


class JobMoved(Message):
    """A job in the background came some way."""

    def __init__(self, name: str, share: float) -> None:
        """Carry the job's name and the share that is done."""
        super().__init__()
        self.name, self.share = name, share


class JobEnded(Message):
    """A job in the background has finished, or failed."""

    def __init__(self, name: str, found: object, error: ReviewDeskError | None) -> None:
        """Carry what came of it."""
        super().__init__()
        self.name, self.found, self.error = name, found, error


@dataclass(frozen=True)
class Arrival:
    """A ballot of a re-run as it arrives; ``error`` is empty where it can be used."""

    juror: str
    vote: bool | None
    score: float | None
    status: str
    error: str

    @property
    def failed(self) -> bool:
        """Whether it came without an answer; who abstained has answered."""
        return bool(self.error) or Status(self.status).missing


class BallotArrived(Message):
    """A juror that was asked again has answered, or failed."""

    def __init__(self, arrival: Arrival) -> None:
        """Carry the ballot."""
        super().__init__()
        self.arrival = arrival
