"""The messages that workers and widgets post; their payloads are frozen to cross threads."""

from __future__ import annotations

from dataclasses import dataclass

from textual.message import Message

from reviewdesk.domain.enums import Status
from reviewdesk.domain.records import Calibration, Metrics, Pace
from reviewdesk.errors import ReviewDeskError


@dataclass(frozen=True)
class Figures:
    """The figures that a calibration worker computed; ``token`` names the request they answer."""

    token: int
    calibration: Calibration | None = None
    alone: Metrics | None = None
    """The metrics of the labelled verdicts alone, for a blind session."""
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
    """The content of a page of the calibration screen; ``token`` names the request it answers."""

    token: int
    page: object | None = None
    error: ReviewDeskError | None = None


class PageRead(Message):
    """A worker has read a page of the calibration screen."""

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
    """A widget met an error while painting; the screen shows it on the status line."""

    def __init__(self, error: ReviewDeskError) -> None:
        """Carry the error."""
        super().__init__()
        self.error = error


class JobMoved(Message):
    """A background job has made progress."""

    def __init__(self, name: str, share: float) -> None:
        """Carry the job's name and the share that is done, from 0 to 1."""
        super().__init__()
        self.name, self.share = name, share


class JobEnded(Message):
    """A background job has finished or failed."""

    def __init__(self, name: str, found: object, error: ReviewDeskError | None) -> None:
        """Carry the job's name, its result and its error."""
        super().__init__()
        self.name, self.found, self.error = name, found, error


@dataclass(frozen=True)
class Arrival:
    """One ballot of a re-run; ``error`` is empty if the ballot can be used."""

    juror: str
    vote: bool | None
    score: float | None
    status: str
    error: str

    @property
    def failed(self) -> bool:
        """Whether the ballot holds no answer; an abstention counts as an answer."""
        return bool(self.error) or Status(self.status).missing


class BallotArrived(Message):
    """A juror of a re-run has answered or failed."""

    def __init__(self, arrival: Arrival) -> None:
        """Carry the ballot."""
        super().__init__()
        self.arrival = arrival
