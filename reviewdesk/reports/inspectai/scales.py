"""Which scorers of a log leave the scale 0..1, seen before the first sample is mapped."""

from __future__ import annotations

from typing import Any

from reviewdesk.reports.inspectai.config import listed, record
from reviewdesk.reports.inspectai.grades import numeral
from reviewdesk.reports.inspectai.picking import ANY, KEEP, pick
from reviewdesk.reports.rawscores import Scales
from reviewdesk.reports.strictjson import Tally
from reviewdesk.reports.window import Window

_GIVEN = {"value": KEEP, "metadata": {"panel": {"votes": KEEP}}}
_SCORES = {"scores": {ANY: {**_GIVEN, "history": [_GIVEN]}}}


def weigh(window: Window, scales: Scales, where: str) -> None:
    """Step over a sample and show its scores to what must know those of all."""
    for name, score in record(record(pick(window, _SCORES, where)).get("scores")).items():
        for given in (record(score), *map(record, listed(record(score).get("history")))):
            _weigh(name, given, scales)


def weigh_samples(window: Window, scales: Scales) -> None:
    """The same of all samples of a log that is one document."""
    for key in window.members():
        if key != "samples":
            window.skip("$")
            continue
        for index in window.elements():
            weigh(window, scales, f"$.samples[{index}]")


def uncounted() -> Tally:
    """For a look whose findings are counted by the next one."""
    return Tally(lenient=True)


def _weigh(name: str, given: dict[str, Any], scales: Scales) -> None:
    value, panel = given.get("value"), record(record(given.get("metadata")).get("panel"))
    parts: list[tuple[str, Any]] = [(name, vote) for vote in listed(panel.get("votes"))]
    if isinstance(value, dict):
        parts += [(f"{name}.{key}", part) for key, part in value.items()]
    elif isinstance(value, list):
        parts += [(f"{name}.{at}", part) for at, part in enumerate(value)]
    else:
        parts.append((name, value))
    for whose, part in parts:
        scales.off(whose, numeral(part.strip()) if isinstance(part, str) else part)
