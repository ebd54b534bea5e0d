"""Compare the panel of a new report with its parent's, and with the panel that was labelled."""

from __future__ import annotations

from msgspec import Struct

from reviewdesk.domain.gates.expect import Expectation, Finding, GateStatus, TargetValue
from reviewdesk.domain.gates.join import ENOUGH, ReportContent, SuiteLabels
from reviewdesk.domain.gates.no_worse import PanelChange, PanelDecisions, change, pairs
from reviewdesk.domain.verdict import SLACK
from reviewdesk.errors import UsageError
from reviewdesk.reports.bytes.source import Source
from reviewdesk.reports.suites.matchers import Schema

_NO_FRAME = "the suite does not list what its labels are drawn from: export it again"
_NO_BASELINE = (
    "the suite does not say what the panel decided that was labelled: name its report with "
    "--baseline, or export the suite again"
)


class Against(Struct, frozen=True):
    """The reports of older panels, and the accuracy that a new panel may lose to each of them.

    Without a ``baseline``, the panel that was labelled is the first one: the suite's frame has its
    decisions. A ``margin`` is above 0 and below 1.
    """

    parent: Source
    margin: float
    baseline: Source | None = None


def compared_with(
    parent: Source | None, baseline: Source | None, margin: float | None
) -> Against | None:
    """Return what a new panel is compared with; ``None`` if nothing is given.

    Raises:
        UsageError: no parent is given, or no margin between 0 and 1.
    """
    if parent is None and baseline is None and margin is None:
        return None
    if parent is None:
        raise UsageError("a margin or a baseline without a parent", "Add --against FILE.")
    if margin is None or not 0 < margin < 1:
        raise UsageError(
            "--against needs a margin, the accuracy that the new panel may lose",
            "Add one above 0 and below 1, such as --margin 0.02.",
        )
    return Against(parent, margin, baseline)


class OlderPanel(Struct, frozen=True):
    """A panel that a new one is compared with; ``contents`` is ``None`` for that of the suite."""

    role: str
    name: str
    margin: float
    contents: list[ReportContent] | None


def finding(labels: SuiteLabels, new: list[ReportContent], older: OlderPanel) -> Finding:
    """Check that a new panel loses no more than the margin to an older one.

    It fails if the whole interval lies below the margin, passes if the whole interval lies above,
    and is skipped, with the reason, if neither is shown.
    """
    limit = -older.margin
    expected = Expectation(f"change_from_{older.role}", Schema.of({"minimum": limit}))
    found = _change(labels, new, older)
    if isinstance(found, str):
        return Finding(expected, TargetValue(None, skip=found), GateStatus.SKIP, found)
    note = f"{found.apart} of {found.items} decisions differ from {older.name}"
    reading = TargetValue(found.estimate, low=found.low, high=found.high)
    if found.high < limit - SLACK:
        return Finding(expected, reading, GateStatus.FAIL, note, found.high - limit)
    if found.low >= limit - SLACK:
        return Finding(expected, reading, GateStatus.PASS, note, found.low - limit)
    reason = f"{found.low:.4g} to {found.high:.4g} reaches past {limit:.6g}; {note}"
    return Finding(expected, reading, GateStatus.SKIP, reason)


def _change(labels: SuiteLabels, new: list[ReportContent], older: OlderPanel) -> PanelChange | str:
    """Compare two panels, or return the reason why they cannot be compared."""
    if labels.drawn and labels.frame is None:
        return _NO_FRAME
    if older.contents is None:
        old = PanelDecisions.of_suite(labels)
    else:
        old = PanelDecisions.of_report(labels, older.contents)
    if old is None:
        return _NO_BASELINE
    count = len(labels.labels)
    if len(old.of_labels) < ENOUGH * count - SLACK:
        return (
            f"only {len(old.of_labels)} of {count} labels are of an answer in {older.name}; "
            f"{ENOUGH:.0%} are needed"
        )
    both = tuple(pairs(labels, PanelDecisions.of_report(labels, new), old))
    return change(both) if both else f"no label is of an answer in both reports ({older.name})"
