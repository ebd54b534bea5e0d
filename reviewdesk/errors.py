"""Every error a person can meet, and the exit code each one leads to.

ReviewDeskError
├── UsageError            the command or key asked for something that cannot be done
│   ├── NotFoundError     no such run or verdict
│   └── AmbiguousError    a name that fits several things
├── InputFileError        a file from outside is not what it must be: file, place, found, mend
│   ├── ReportError
│   ├── LabelsFileError
│   ├── PanelError        a panel, prompt or cases file
│   └── SuiteError        names file and line
├── NoJurorsError         a panel of which nobody answered has nothing to decide by
├── TransportError        a live call that brought no answer; always ends as a ballot's status
├── JournalError          the replies of a live run cannot be kept, or are damaged on disk
├── CeilingError          the next call might cost more than a person allowed
├── SettingsError         a setting or a key that cannot be used, and where it was set
├── DeskError             the desk file cannot be used: locked, read-only, corrupt, newer
└── Cancelled             a person stopped long work
"""

from __future__ import annotations

from enum import IntEnum


class ExitCode(IntEnum):
    """What a process tells its caller; the only place where the numbers are written."""

    OK = 0
    FAILED = 1
    BAD_INPUT = 2
    NOT_REPRESENTATIVE = 3
    INTERRUPTED = 130


class ReviewDeskError(Exception):
    """Base of all errors that are shown to a person as one line: what happened, what to do."""

    exit_code = ExitCode.BAD_INPUT

    def __init__(self, message: str, hint: str = "") -> None:
        """Keep the message and the hint apart, so that a screen may set them differently."""
        self.message = message
        self.hint = hint
        super().__init__(f"{message}. {hint}" if hint else message)


class UsageError(ReviewDeskError):
    """The request itself cannot be carried out."""


class NotFoundError(UsageError):
    """A run, verdict or file that was named is not there."""


class AmbiguousError(UsageError):
    """A name fits more than one thing; the message lists them."""


class NoJurorsError(ReviewDeskError):
    """Nobody on the panel answered: there is no score, and certainly not one of 0."""


class TransportError(ReviewDeskError):
    """No answer came: refused, reset, too large, redirected; ``kind`` is one word for a ballot."""

    def __init__(self, kind: str, message: str) -> None:
        """Keep the word apart from the sentence; neither holds a key."""
        self.kind = kind
        super().__init__(message)


class JournalError(ReviewDeskError):
    """The file of a live run's replies cannot be written or read; what was stored in it stays."""


class CeilingError(ReviewDeskError):
    """The ceiling of a live run's cost is reached; what was paid for is stored."""

    exit_code = ExitCode.FAILED


class SettingsError(ReviewDeskError):
    """A setting that cannot be used; ``place`` is ``FILE: line 7``, a variable or an option."""

    def __init__(self, place: str, problem: str, hint: str = "") -> None:
        """Build the one-line form ``place: problem. hint``."""
        self.place = place
        self.problem = problem
        super().__init__(f"{place}: {problem}", hint)


class DeskError(ReviewDeskError):
    """The desk file cannot be opened or written; the desk itself is unharmed."""


class Cancelled(ReviewDeskError):
    """A person stopped the work; nothing of it was kept."""

    exit_code = ExitCode.INTERRUPTED


class InputFileError(ReviewDeskError):
    """A file from outside is wrong at one place.

    ``where`` is a JSON path (``$.verdicts[3].score``) or ``line 7``; empty for the whole file.
    """

    def __init__(self, file: str, where: str, problem: str, hint: str = "") -> None:
        """Build the one-line form ``file: where: problem. hint``."""
        self.file = file
        self.where = where
        self.problem = problem
        super().__init__(": ".join(part for part in (file, where, problem) if part), hint)


class ReportError(InputFileError):
    """A report that cannot be opened."""


class LabelsFileError(InputFileError):
    """A labels file that cannot be read."""


class PanelError(InputFileError):
    """A panel, prompt or cases file that cannot be used."""


class SuiteError(InputFileError):
    """A suite of gates that cannot be run; ``line`` counts from 1, 0 is the whole file."""

    def __init__(self, file: str, line: int, problem: str, hint: str = "") -> None:
        """Build the one-line form ``file:line: problem. hint``."""
        super().__init__(f"{file}:{line}" if line else file, "", problem, hint)
        self.line = line
