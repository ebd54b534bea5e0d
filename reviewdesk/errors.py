"""Every error that is shown to a person, with its exit code."""

from enum import IntEnum
from signal import Signals


class ExitCode(IntEnum):
    """Exit codes of the process. No other code writes these numbers."""

    OK = 0
    FAILED = 1
    BAD_INPUT = 2
    NOT_REPRESENTATIVE = 3
    FAULT = 70
    HUNG_UP = 129
    INTERRUPTED = 130
    TERMINATED = 143


def reason(error: OSError) -> str:
    """Return what the system says went wrong, in lower case."""
    return (error.strerror or str(error)).lower()


class Ended(KeyboardInterrupt):
    """A signal asked the process to end; it passes through handlers of errors as ctrl+c does."""

    def __init__(self, number: int) -> None:
        terminated = Signals(number) is Signals.SIGTERM
        # The others say that the terminal has gone.
        self.exit_code = ExitCode.TERMINATED if terminated else ExitCode.HUNG_UP
        super().__init__(f"ended by {Signals(number).name}; what is saved stays saved")


class ReviewDeskError(Exception):
    """Base of all errors that are shown as one line: what happened, and what to do."""

    exit_code = ExitCode.BAD_INPUT

    def __init__(self, message: str, hint: str = "") -> None:
        self.message = message
        self.hint = hint
        super().__init__(f"{message}. {hint}" if hint else message)


class UsageError(ReviewDeskError):
    """The request cannot be carried out."""


class NotFoundError(UsageError):
    """The named run, verdict or file does not exist."""


class NoJurorsError(ReviewDeskError):
    """No juror on the panel answered, so there is no score. A score of 0 would be wrong."""


class TransportError(ReviewDeskError):
    """A live call got no usable answer; ``kind`` is one word, and nothing here may hold a key."""

    def __init__(self, kind: str, message: str) -> None:
        self.kind = kind
        super().__init__(message)


class JournalError(ReviewDeskError):
    """The journal of a live run cannot be written or read. Stored replies are kept."""


class CeilingError(ReviewDeskError):
    """A live run has reached its cost ceiling. All replies paid for are stored."""

    exit_code = ExitCode.FAILED


class SettingsError(ReviewDeskError):
    """A setting cannot be used. ``place`` is ``FILE: line 7``, a variable or an option."""

    def __init__(self, place: str, problem: str, hint: str = "") -> None:
        self.place = place
        self.problem = problem
        super().__init__(f"{place}: {problem}", hint)


class DeskError(ReviewDeskError):
    """The desk file cannot be opened or written. Its content is unharmed."""


class BusyError(DeskError):
    """Another process holds the write lock of the desk file. The same write may work later."""


class ChainError(DeskError):
    """A chain of another desk is not taken. It says whose it is, at which event, and why."""

    def __init__(self, desk: str, reviewer: str, seq: int, problem: str, hint: str = "") -> None:
        event = f"event {seq}: " if seq else ""
        super().__init__(f"chain of {reviewer} on desk {desk}: {event}{problem}", hint)


class Cancelled(ReviewDeskError):
    """A person stopped the operation, and none of its changes are kept."""

    exit_code = ExitCode.INTERRUPTED


class InputFileError(ReviewDeskError):
    """An input file is wrong at one place: a JSON path, ``line 7``, or "" for the whole file."""

    def __init__(self, file: str, where: str, problem: str, hint: str = "") -> None:
        self.file = file
        self.where = where
        self.problem = problem
        super().__init__(": ".join(part for part in (file, where, problem) if part), hint)


class ReportError(InputFileError):
    """A report cannot be opened. ``details`` are lines that help, such as a map of a table."""

    details: str = ""


class UnclearTableError(ReportError):
    """A person must say what the columns of a table are.

    ``item`` and ``judges`` are guesses. If ``nested``, only a map can say
    where the answers are.
    """

    columns: tuple[str, ...] = ()
    item: str = ""
    judges: tuple[str, ...] = ()
    nested: bool = False


class LabelsFileError(InputFileError):
    """A labels file cannot be read."""


class PanelError(InputFileError):
    """A panel, prompt or cases file cannot be used."""


class SuiteError(InputFileError):
    """A suite of gates cannot be run. ``line`` counts from 1; 0 means the whole file."""

    def __init__(self, file: str, line: int, problem: str, hint: str = "") -> None:
        super().__init__(f"{file}:{line}" if line else file, "", problem, hint)
        self.line = line
