"""A map: how one kind of table is read.

A map holds paths. ``a.b`` is a column of that name, or ``b`` in the object or the JSON text ``a``.
``a|b`` is the first of two that is filled, ``=text`` is the text itself, ``a.*`` gathers the cells
that begin so, ``a + b`` joins names, and ``^.a`` is what stands around an element or a row.
"""

from __future__ import annotations

from typing import Any, TypeAlias

from msgspec import Struct

Words: TypeAlias = str | list[str]


def _key(field_name: str) -> str:
    """Return the key of a field in a map's file: ``pass`` for ``pass_``."""
    return field_name.rstrip("_")


class BallotRule(Struct, frozen=True, forbid_unknown_fields=True, rename=_key):
    """Where the ballots of a row are. Of the rules for one place, the first that fits counts.

    The place is the row itself, each element of the list or object ``each``, or each of
    ``columns``, in whose paths ``*`` stands for what the name has at the ``*``.
    """

    each: str = ""
    columns: Words = ""
    except_: Words = ""
    """Names that are no judges, among those of ``columns``."""
    where: dict[str, Words] = {}
    """The words that paths must hold: ``*`` is any, ``!word`` any other than a word, an empty text
    none, and ``!=path`` one that differs from another cell's."""
    as_: str = "ballot"
    """``ballot``, ``check``, ``person`` for a label, ``none`` for no ballot, ``nothing`` for a row
    that is not read, or ``refused`` for a table that cannot be read; ``note`` says why, and behind
    a ``;`` what to do."""
    note: str = ""
    judge: str = ""
    score: str = ""
    pass_: str = ""
    label: str = ""
    reason: str = ""
    error: str = ""
    failed: str = ""
    """A cell that is true if the judge failed."""
    status: str = ""
    dimension: str = ""
    model: str = ""
    vendor: str = ""
    confidence: str = ""
    weight: str = ""
    epoch: str = ""
    by: str = ""
    at: str = ""
    latency_ms: str = ""
    cost_usd: str = ""
    tokens_in: str = ""
    tokens_out: str = ""
    certainty: str = ""
    """How sure the judge is of its vote, which gives the score."""
    latency_s: str = ""
    temperature: str = ""
    raw: str = ""


class TableMap(BallotRule, frozen=True, forbid_unknown_fields=True, rename=_key):
    """How one kind of table is read. The paths for ballots here hold for every rule."""

    name: str = ""
    about: str = ""
    origin: dict[str, str] = {}
    """Ids of the tool that are kept, by name."""
    signature: list[str] = []
    """Columns by which the kind is recognised."""
    rows: str = ""
    """The key of the list of rows, for a document with several lists."""
    item: Words = ""
    """Paths to try for the item's id; ``a + b`` joins the ids that are filled."""
    title: str = ""
    test: str = ""
    suite: str = ""
    tags: str = ""
    threshold: str = ""
    decision: str = ""
    input: Words = ""
    """A list of paths joins texts and earlier turns of a conversation."""
    output: str = ""
    conversation: str = ""
    """Messages or spans, whose last answer is the output where no column holds one."""
    alternative: str = ""
    reference: str = ""
    generator: str = ""
    rival: str = ""
    """The model that wrote the alternative."""
    strategy: str = ""
    agreement: str = ""
    escalation: str = ""
    """Why a person should look; ``words.quiet`` are reasons that are none."""
    case_name: str = ""
    attempt: str = ""
    row_error: str = ""
    """Why the response itself is missing."""
    rubric: str = ""
    human: str = ""
    human_by: str = ""
    human_at: str = ""
    words: dict[str, list[str]] = {}
    """Under ``pass``, ``fail`` and ``error``, the words that mean so in this kind of table."""
    scale: list[float] | None = None
    notes: list[str] = []
    panel: bool = False
    """Whether the judges are surely one panel; else names such as tone are questions."""
    ballots: list[dict[str, Any]] = []
