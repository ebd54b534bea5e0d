"""Recognise the columns of a table by their usual names."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Container, Iterable, Mapping, Sequence

_SPELLINGS: Mapping[str, tuple[str, ...]] = {
    "judge": (
        "judge", "juror", "critic", "rater", "annotator", "evaluator", "judge_name", "judge_id",
        "model_judge", "judge_model",
    ),
    "score": ("score", "rating", "value", "grade"),
    "item": (
        "item", "item_id", "example_id", "question_id", "case_id", "sample_id", "case", "example",
        "sample", "id",
    ),
    "model": ("judge_model", "juror_model", "model"),
    "vendor": ("judge_vendor", "vendor"),
    "pass": ("pass", "passed", "verdict", "decision", "vote"),
    "label": ("label",),
    "decision": (
        "decision", "consensus", "final_decision", "final_verdict", "panel_decision",
        "panel_verdict", "majority",
    ),
    "reason": ("reason", "reasoning", "rationale", "explanation", "comment", "justification"),
    "repeat": ("repeat", "epoch", "trial", "replicate", "iteration"),
    "confidence": ("confidence",),
    "weight": ("weight",),
    "error": ("error", "error_message"),
    "status": ("status",),
    "at": ("at", "timestamp", "created_at"),
    "latency_ms": ("latency_ms",),
    "cost_usd": ("cost_usd",),
    "tokens_in": ("tokens_in",),
    "tokens_out": ("tokens_out",),
    "rubric": ("rubric", "criterion", "criteria"),
    "test": ("test", "test_name", "name"),
    "suite": ("suite", "dataset"),
    "tags": ("tags",),
    "threshold": ("threshold",),
    "input": ("input", "prompt", "question", "query", "instruction"),
    "output": ("output", "response", "answer", "completion", "text"),
    "alternative": ("alternative",),
    "reference": ("reference", "expected", "expected_output", "reference_answer", "ground_truth"),
    "generator": ("generator", "generator_model", "output_model", "model"),
    "human": ("human", "human_label", "truth", "gold", "gold_label"),
    "human_by": ("human_by", "labelled_by", "labeled_by"),
    "human_at": ("human_at", "labelled_at", "labeled_at"),
}  # fmt: skip
"""The column names of each role, the clearest first. A column fills only one role."""

_LAST_RESORT = "test"
"""The role that names the items if no column does."""

_SEPARATORS = re.compile(r"[\s\-]+")

BALLOT = frozenset({
    "model", "vendor", "pass", "label", "reason", "repeat", "confidence", "weight", "error",
    "status", "at", "latency_ms", "cost_usd", "tokens_in", "tokens_out",
})  # fmt: skip
"""The roles that describe one ballot."""

FACTS = frozenset({
    "test", "suite", "tags", "threshold", "decision", "input", "output", "alternative", "reference",
    "generator",
})  # fmt: skip
"""The roles that describe an item."""

ITEM = FACTS | {"item", "rubric", "repeat", "human", "human_by", "human_at"}
"""The roles that have one cell in a row, even with a column for each judge."""


def roles_of(columns: Iterable[str]) -> dict[str, str]:
    """Return the roles that the table's columns fill, each with its column."""
    named: dict[str, str] = {}
    for column in columns:
        named.setdefault(_plain(column), column)
    roles: dict[str, str] = {}
    for role, spellings in _SPELLINGS.items():
        if spelling := next((spelling for spelling in spellings if spelling in named), None):
            roles[role] = named.pop(spelling)
    if "item" not in roles and _LAST_RESORT in roles:
        roles["item"] = roles.pop(_LAST_RESORT)
    return roles


def doubled(columns: Sequence[str], used: Container[str]) -> str | None:
    """Return a used column that the header names twice, or None."""
    counts = Counter(columns)
    return next((name for name in columns if name and name in used and counts[name] > 1), None)


def names_models(column: str) -> bool:
    """Return True if the judge column's name says that it holds models."""
    return _plain(column) in {"model_judge", "judge_model"}


def _plain(column: str) -> str:
    return _SEPARATORS.sub("_", column.strip().casefold())
