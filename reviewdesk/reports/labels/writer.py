"""Write labels as JSON Lines, YAML, CSV without formulas, a suite, or bodies that other tools take.

The bodies are addressed by the ids that a run kept. Shapes: langfuse 5.0.4
(``CreateScoreRequest``), langsmith 0.15.1 (``FeedbackCreate``), arize-phoenix-client 3.5.0
(``SpanAnnotationData``), argilla 2.8.0 (``Response`` of a record), mlflow 3.17.2
(``log_feedback``), and the rating of a promptfoo result.
"""

import csv
import io
import json
import uuid
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, TypeAlias

from reviewdesk.domain.gates.expect import BRIER_LIMIT, ECE_LIMIT, SPECIFICITY_LIMIT
from reviewdesk.domain.gates.join import PanelContent
from reviewdesk.domain.labels.sampling import STRATA
from reviewdesk.domain.records import Truth
from reviewdesk.domain.safetext import show_line, without_formula
from reviewdesk.domain.stats.correction import CELLS, Cells
from reviewdesk.reports.wording import JsonObject

Row: TypeAlias = Mapping[str, Any]
"""A label in the form of a full export, with ``origin``: the tool's ids of its verdict."""

NAME = "human_review"
"""The name of the score, feedback or annotation in the tool."""
_SPACE = uuid.UUID("5b0f3c1e-7d2b-4f6a-9a55-2f0f0b9f4f11")
"""The namespace of the ids, so that a label that is sent twice is stored once."""

_TOOLS: Mapping[str, tuple[set[str], JsonObject, bool]] = {
    "langfuse": ({"trace", "observation", "session"}, {
        "id": "id", "traceId": "origin.trace", "observationId": "origin.observation",
        "sessionId": "origin.session", "queueId": "origin.queue", "name": "name", "value": "value",
        "dataType": "type", "comment": "note", "metadata": "about",
    }, True),
    "langsmith": ({"run"}, {
        "id": "id", "run_id": "origin.run", "trace_id": "origin.trace", "key": "name",
        "score": "score", "value": "truth", "comment": "note",
        "feedback_source": {"type": "=api", "metadata": "about"},
    }, True),
    # An annotation replaces an earlier one with the same name and identifier.
    "phoenix": ({"span"}, {
        "span_id": "origin.span", "name": "name", "annotator_kind": "=HUMAN",
        "result": {"label": "truth", "score": "score", "explanation": "note"},
        "metadata": "about", "identifier": "reviewer",
    }, True),
    "promptfoo": ({"result"}, {
        "result_id": "origin.result",
        "component_result": {
            "pass": "passed", "score": "score", "reason": "reason", "comment": "note",
            "assertion": {"type": "=human"},
        },
    }, False),
    "argilla": ({"record"}, {"id": "origin.record", "responses": "answers"}, True),
    "mlflow": ({"trace"}, {
        "trace_id": "origin.trace", "span_id": "origin.span", "name": "name", "value": "truth",
        "source": {"source_type": "=HUMAN", "source_id": "reviewer"}, "rationale": "note",
        "metadata": {"labelled_at": "time"},
    }, True),
}  # fmt: skip
"""For each tool: the ids, of which one is needed, the body, and whether it takes unsure labels.

A body names the facts that stand at its keys; ``=text`` is the text itself.
"""
TOOLS = tuple(_TOOLS)


def feedback(tool: str, row: Row) -> JsonObject | None:
    """Return a label as ``tool`` takes it, or ``None`` if the tool has no place or word for it."""
    needed, body, takes_unsure = _TOOLS[tool]
    origin = row["origin"] or {}
    if needed.isdisjoint(origin) or (row["truth"] == Truth.UNSURE and not takes_unsure):
        return None
    score = {Truth.PASS: 1.0, Truth.FAIL: 0.0}.get(row["truth"])
    answers = {NAME: row["truth"], f"{NAME}_note": row["note"]}
    facts = {
        **row,
        **{f"origin.{name}": value for name, value in origin.items()},
        "id": str(uuid.uuid5(_SPACE, f"{row['item_hash']} {row['reviewer']}")),
        "name": NAME,
        "score": score,
        "passed": score == 1,
        # A boolean score is 1 or 0; an unsure label is a separate category.
        "value": row["truth"] if score is None else score,
        "type": "CATEGORICAL" if score is None else "BOOLEAN",
        "reason": row["note"] or f"rated by {row['reviewer']}",
        "about": {"reviewer": row["reviewer"], "tags": row["tags"], "labelled_at": row["time"]},
        "answers": [{"question_name": key, "value": one} for key, one in answers.items() if one],
    }
    return _filled(body, facts)


def _filled(body: JsonObject, facts: JsonObject) -> JsonObject:
    """Return a body with the facts that it names, without those that are null."""
    made: JsonObject = {}
    for key, one in body.items():
        if isinstance(one, dict):
            made[key] = _filled(one, facts)
        else:
            made[key] = one[1:] if one.startswith("=") else facts.get(one)
    return {key: one for key, one in made.items() if one is not None}


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
    cells: Cells,
    observed: float,
    decided: int | None,
    about: Mapping[str, Any],
    question: Mapping[str, Any] | None,
    *,
    frame: bool,
) -> str:
    """Return a suite over the ``labels.jsonl`` beside it, with limits for the judge.

    ``frame`` says whether ``frame.jsonl`` exists too; ``question`` is that of the run. No limit
    depends on the number of good answers, so that no gate fails because the product improves.
    """
    limits = {
        "ece": f"maximum: {ECE_LIMIT}",
        "brier": f"maximum: {BRIER_LIMIT}",
        "specificity_low": f"minimum: {SPECIFICITY_LIMIT}",
    }
    quoted = show_line(name, 120).replace("\\", "\\\\").replace('"', '\\"')
    lines = [
        "# Written by reviewdesk. labels export --format suite --force replaces it: edit a copy.",
        *_comments(about),
        "calibration:",
        f'  - name: "{quoted.encode("ascii", "backslashreplace").decode()}"',
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


def as_frame(contents: Iterable[PanelContent]) -> str:
    """Return a line per content that labels were drawn from: hash, stratum and decisions."""
    rows = []
    for one in contents:
        row: dict[str, Any] = {"item_hash": one.item_hash, "stratum": STRATA[one.stratum]}
        row |= {"decision": one.decision, "decided": one.decided, "answer": one.answer}
        rows.append({**row, "id": one.id, "content": one.content} if one.content else row)
    return as_jsonl(rows)


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
