"""Write labels as JSON Lines, YAML, CSV without formulas, a suite, or a suite's counts."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from reviewdesk.domain.gates.expect import BRIER_LIMIT, ECE_LIMIT, SPECIFICITY_LIMIT
from reviewdesk.domain.gates.join import FrameContent
from reviewdesk.domain.gates.targets import Reliability
from reviewdesk.domain.labels.sampling import STRATA
from reviewdesk.domain.safetext import show_line, without_formula
from reviewdesk.domain.stats.correction import CELLS

SUITE_LABELS = "labels.jsonl"
SUITE_FRAME = "frame.jsonl"
"""The names of the files beside a suite: its labels, and the contents they are drawn from."""


def as_jsonl(rows: Sequence[Mapping[str, Any]]) -> str:
    return "".join(f"{_ascii(row)}\n" for row in rows)


def as_yaml(rows: Sequence[Mapping[str, Any]], about: Mapping[str, Any]) -> str:
    """Return a YAML list of flat rows, one per line, after a comment for each fact about them."""
    lines = [*_comments(about), *(f"- {_flow(row)}" for row in rows)]
    return "".join(f"{line}\n" for line in (lines if rows else [*lines, "[]"]))


def as_suite(
    name: str,
    cells: Reliability,
    observed: float,
    decided: int | None,
    about: Mapping[str, Any],
    question: Mapping[str, Any] | None,
    *,
    frame: bool,
    limits: Mapping[str, str] | None = None,
) -> str:
    """Return a suite over the ``labels.jsonl`` beside it, with limits for the judge.

    ``frame`` is true if ``frame.jsonl`` exists too; ``question`` is the question of the run. No
    limit depends on the number of good answers, so that no gate fails because the product
    improves. With ``limits``, the suite is one of ``init``.
    """
    origin = "labels export --format suite, which replaces this file each time."
    if limits is not None:
        origin = "init. Edit the limit below expect, or add others."
    limits = limits or {
        "ece": f"maximum: {ECE_LIMIT}",
        "brier": f"maximum: {BRIER_LIMIT}",
        "specificity_low": f"minimum: {SPECIFICITY_LIMIT}",
    }
    lines = [
        f"# Written by reviewdesk {origin}",
        *_comments(about),
        "calibration:",
        f"  - name: {_yaml_text(name)}",
        f"    labels: ./{SUITE_LABELS}",
        *([f"    frame: ./{SUITE_FRAME}"] if frame else []),
        *([] if question is None else [f"    question: {_flow(question)}"]),
        "    # How the judge and the labels agree, weighted where the labels are",
        f"    reliability: {_flow({cell: getattr(cells, cell) for cell in CELLS})}",
        f"    observed_positive_rate: {_ascii(observed)}",
        *([] if decided is None else [f"    observed_n: {decided}"]),
        "    expect:",
    ]
    for target, limit in limits.items():
        lines.append(f"      - {{ target: {target}, matcher: {{ schema: {{ {limit} }} }} }}")
    return "".join(f"{line}\n" for line in lines)


def as_frame(contents: Iterable[FrameContent]) -> str:
    """Return a line per content that labels were drawn from: hash, stratum and decision."""
    rows = []
    for one in contents:
        row: dict[str, Any] = {"item_hash": one.item_hash, "stratum": STRATA[one.stratum]}
        row |= {"decision": one.decision, "answer": one.answer}
        rows.append({**row, "id": one.id, "content": one.content} if one.content else row)
    return as_jsonl(rows)


def _yaml_text(text: str) -> str:
    """Quote a text in plain ASCII, without the surrogate pairs of JSON, which YAML lacks."""
    quoted = show_line(text, 120).replace("\\", "\\\\").replace('"', '\\"')
    return f'"{quoted.encode("ascii", "backslashreplace").decode()}"'


def _comments(about: Mapping[str, Any]) -> list[str]:
    return [f"# {name}: {_ascii(value)}" for name, value in about.items()]


def _flow(row: Mapping[str, Any]) -> str:
    return "{ " + ", ".join(f"{name}: {_ascii(value)}" for name, value in row.items()) + " }"


def _ascii(value: object) -> str:
    """Return JSON on one line in plain ASCII, which is also YAML and is safe for a terminal."""
    return json.dumps(value, allow_nan=False).replace("\x7f", "\\u007f")


def as_csv(rows: Sequence[Mapping[str, Any]]) -> str:
    """Return CSV with a header; a text that a spreadsheet would run as a formula is quoted."""
    if not rows:
        return ""
    out = io.StringIO()
    writer = csv.DictWriter(out, fieldnames=list(rows[0]), lineterminator="\n")
    writer.writeheader()
    writer.writerows({name: _cell(value) for name, value in row.items()} for row in rows)
    return out.getvalue()


def _cell(value: object) -> object:
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, list):
        value = " ".join(map(str, value))
    if isinstance(value, dict):
        value = _ascii(value)
    if not isinstance(value, str):
        return value
    return without_formula(show_line(value, 20_000))
