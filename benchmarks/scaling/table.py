"""The tables as Markdown, and their place in the docs."""

from __future__ import annotations

import os
import platform
from collections.abc import Sequence
from datetime import UTC, datetime

from scaling.measure import ROOT, Row

MOST_LABELS = 100_000
PAGE = ROOT / "docs" / "reference" / "measured.md"


def markdown(
    rows: Sequence[Row], costs: Sequence[tuple[int, str, str, str]], load: Sequence[float]
) -> str:
    """Return both tables with the machine, its load meanwhile, and the day they were made on."""
    later = f"the same after as many labels, up to {MOST_LABELS:,}"
    busy = ", ".join(f"{one:.1f}" for one in load)
    found = [
        f"{machine()}, {datetime.now(UTC):%d %B %Y}; load average before and after: {busy}.", "",
        "| what | goal | found | measured against, in the same run |", "|---|---|---|---|",
        *(f"| {one.what} | {one.goal} | {one.found} | {one.beside} |" for one in rows), "",
    ]  # fmt: skip
    if costs:
        found += [
            f"| verdicts | ingest, CPU per verdict | first label, with its figures | {later} |",
            "|---|---|---|---|",
            *(f"| {size:,} | {' | '.join(cells)} |" for size, *cells in costs),
        ]
    return "\n".join(found)


def machine() -> str:
    """Name what the figures depend on: cores, system and Python; never a host."""
    return (
        f"{os.cpu_count()} cores, {platform.system()} {platform.machine()}, "
        f"Python {platform.python_version()}"
    )


def write(text: str, part: str) -> None:
    """Replace what stands between the markers of a part of the page."""
    begin, end = f"<!-- {part}: begin -->", f"<!-- {part}: end -->"
    before, rest = PAGE.read_text(encoding="utf-8").split(begin)
    PAGE.write_text(f"{before}{begin}\n{text}\n{end}{rest.split(end)[1]}", encoding="utf-8")
