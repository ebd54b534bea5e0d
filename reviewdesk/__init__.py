"""reviewdesk: a terminal desk for reviewing what juries of LLM judges decided, and its library.

The names in ``__all__`` are the library; what it computes with is in ``reviewdesk.stats``. Each is
loaded at its first use, so that starting the program, or using a panel alone, loads no numpy.
"""

from reviewdesk.version import __version__ as __version__

TYPE_CHECKING = False  # ``typing`` itself takes a tenth of the time to the first page
if TYPE_CHECKING:
    from reviewdesk.desk.live.panel import LiveVerdict, Panel, with_prompt
    from reviewdesk.domain.assessment.result import Assessment
    from reviewdesk.domain.panel.case import Case, Check
    from reviewdesk.domain.panel.juror import Juror, Price
    from reviewdesk.domain.verdict import Ballot, Decision, ballot
    from reviewdesk.errors import (
        DeskError,
        NoJurorsError,
        NotFoundError,
        PanelError,
        ReportError,
        ReviewDeskError,
        UsageError,
    )
    from reviewdesk.library import (
        CalibrationRecord,
        DeskRecord,
        DeskRecords,
        DeskRun,
        Plot,
        ReviewDesk,
        open,  # noqa: A004 - as the command
    )

_WHERE = {
    "desk.live.panel": "LiveVerdict Panel with_prompt",
    "domain.assessment.result": "Assessment",
    "domain.panel.case": "Case Check",
    "domain.panel.juror": "Juror Price",
    "domain.verdict": "Ballot Decision ballot",
    "errors": (
        "DeskError NoJurorsError NotFoundError PanelError ReportError ReviewDeskError UsageError"
    ),
    "library": "DeskRun ReviewDesk open CalibrationRecord Plot DeskRecord DeskRecords",
}
"""The module of each name. The names equal those under ``TYPE_CHECKING`` and in ``__all__``."""

_MODULES = {name: module for module, names in _WHERE.items() for name in names.split()}

__all__ = [
    "Assessment", "Ballot", "CalibrationRecord", "Case", "Check", "Decision", "DeskError",
    "DeskRecord", "DeskRecords", "DeskRun", "Juror", "LiveVerdict", "NoJurorsError",
    "NotFoundError", "Panel", "PanelError", "Plot", "Price", "ReportError", "ReviewDesk",
    "ReviewDeskError", "UsageError", "ballot", "open", "with_prompt",
]  # fmt: skip

if not TYPE_CHECKING:  # else every misspelt name would pass for one of ours

    def __getattr__(name: str) -> object:
        """Load a name of the library from its module. Raise AttributeError for any other name.

        Names of ``reviewdesk.stats`` were here in version 0.1: they are found with a warning.
        """
        if name.startswith("__"):  # what others look for in any module
            raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
        from importlib import import_module

        if name in _MODULES:
            found = getattr(import_module(f"{__name__}.{_MODULES[name]}"), name)
            globals()[name] = found
            return found
        stats = import_module(f"{__name__}.stats")
        if name == "stats":
            return stats
        if name not in stats.__all__:
            raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
        from warnings import warn

        moved = f"reviewdesk.{name} is reviewdesk.stats.{name} now, and goes in version 0.3"
        warn(moved, DeprecationWarning, stacklevel=2)
        return getattr(stats, name)


def __dir__() -> list[str]:
    """Return the names of the library, ``stats`` and ``__version__``."""
    return sorted([*__all__, "stats", "__version__"])
