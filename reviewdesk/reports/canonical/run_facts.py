"""What is known of a run beside its report, in the first line of the file in which it travels."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import Field

from reviewdesk.reports.canonical.rules import header_problem
from reviewdesk.reports.validation import Strict, validated
from reviewdesk.reports.wording import FieldError, spell_path

_POLICY = ("threshold", "quorum", "strategy")
Sha256 = Annotated[str, Field(pattern=r"^[0-9a-f]{64}$")]
Words = Annotated[list[str], Field(max_length=1000)]


class RunOptionsModel(Strict):
    """The options that a run was read with; those of its policy are checked as a report's are."""

    threshold: Any = None
    quorum: Any = None
    strategy: Any = None
    skip_bad: Literal[True] = True
    models: dict[str, str] | None = None
    pass_labels: Words | None = None
    fail_labels: Words | None = None
    scale: Annotated[list[float], Field(min_length=2, max_length=2)] | None = None
    judge_columns: Words | None = None


class RunFactsModel(Strict):
    """A run: its hash, where it was read from, and how it was drawn."""

    schema_: Literal["reviewdesk.run/1"] = Field(alias="schema")
    hash: Sha256
    file: Annotated[str, Field(min_length=1, max_length=4096)]
    file_hash: Sha256
    format: Annotated[str, Field(min_length=1, max_length=100)]
    options: RunOptionsModel
    seed: Annotated[str, Field(min_length=1, max_length=1000)]
    audit_share: Annotated[float, Field(ge=0, le=1)]
    skipped: Annotated[int, Field(ge=0, lt=1 << 53)]
    notes: Annotated[list[str], Field(max_length=1000)]
    drawn: Literal["contents"] | None = None


def run_facts_problem(value: dict[str, Any]) -> str:
    """Return what is wrong with the facts of a run, in words; empty if nothing is."""
    try:
        validated(RunFactsModel, value)
    except FieldError as error:
        return f"{spell_path(error.problem.path)} {error.problem.text}"
    policy = {name: value["options"].get(name) for name in _POLICY}
    problem = header_problem({"schema": "reviewdesk.report/1", "defaults": policy})
    return "" if problem is None else f"{spell_path(problem.path)} {problem.text}"
