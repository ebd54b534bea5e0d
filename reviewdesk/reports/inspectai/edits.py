"""Read scores that a person edited: the first value is the jury's, the last is a human label.

Every edit keeps the explanation and the reason that its editor wrote.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from msgspec import Struct

from reviewdesk.reports.inspectai.grades import GradeReader
from reviewdesk.reports.inspectai.texts import Texts
from reviewdesk.reports.mapping import values
from reviewdesk.reports.mapping.foreign import Remarks, text, time
from reviewdesk.reports.mapping.values import listed, record

_UNCHANGED = "UNCHANGED"


class EditedScore(Struct, frozen=True):
    """A score as its scorer gave it, and the edits that people made."""

    original: dict[str, Any] | None
    """The scorer's own score; None if a person added the score."""
    edits: tuple[dict[str, Any], ...]
    """The edits that name their author, oldest first."""

    @property
    def last(self) -> dict[str, Any] | None:
        """The last edit that changed the value, or None."""
        return next((one for one in reversed(self.edits) if _changes_value(one)), None)


def scores_of(keys: dict[str, Any]) -> dict[str, dict[str, Any]]:
    """Return a sample's scores by name. A bare value becomes a score with a ``value`` alone."""
    found = {}
    for name, score in record(keys.get("scores")).items():
        if isinstance(score, dict):
            if score.keys() - {"history"}:
                found[name] = score
        elif isinstance(score, str | int | float):
            found[name] = {"value": score}
    return found


def split_edits(score: dict[str, Any]) -> EditedScore:
    """Split a score with a history into the original score and its edits."""
    history = [one for one in listed(score.get("history")) if isinstance(one, dict)]
    if not history:
        return EditedScore(score, ())
    edits = tuple(one for one in history if isinstance(one.get("provenance"), dict))
    added = bool(edits) and edits[0] is history[0]
    return EditedScore(None if added else history[0], edits)


def _changes_value(edit: dict[str, Any]) -> bool:
    return "value" in edit and edit["value"] != _UNCHANGED


def human(
    split_edits: Mapping[str, EditedScore], grader: GradeReader, remarks: Remarks, texts: Texts
) -> dict[str, Any]:
    """Return the ``human`` and ``meta`` fields of a verdict, from the edits of its jury's scores.

    ``edited`` has the scores by name. The label comes from the latest edit. All other edits are
    listed under ``meta.edits``, and so is the latest one if it gives no label.
    """
    all_edits = [(name, edit) for name, one in split_edits.items() for edit in one.edits]
    changes = [one.last for one in split_edits.values() if one.last]
    label = None
    if changes:
        if len(changes) > 1:
            remarks.count("of several edited scores the one edited last is the human label")
        last = max(changes, key=lambda one: text(record(one["provenance"]).get("timestamp")) or "")
        label = _label(last["value"], grader)
        if label is None:
            remarks.count("an edited score that is neither a pass nor a fail gives no human label")
        else:
            all_edits = [(name, edit) for name, edit in all_edits if edit is not last]
    listed_edits = [_edit(name, edit, texts) for name, edit in all_edits]
    return {
        "human": {"label": label, **_edit_source(last, texts)} if label else None,
        "meta": {"edits": listed_edits} if listed_edits else None,
    }


def _edit_source(edit: dict[str, Any], texts: Texts) -> dict[str, Any]:
    source = record(edit["provenance"])
    explanation = text(texts.plain(edit.get("explanation")))
    notes = [explanation if explanation != _UNCHANGED else None, text(source.get("reason"))]
    return values.without_nulls(
        {
            "by": text(source.get("author")),
            "at": time(source.get("timestamp")),
            "note": "\n".join(filter(None, notes)) or None,
        }
    )


def _edit(name: str, edit: dict[str, Any], texts: Texts) -> dict[str, Any]:
    value = edit.get("value") if _changes_value(edit) else None
    plain = value if isinstance(value, str | int | float) else None
    return values.without_nulls({"score": name, "value": plain, **_edit_source(edit, texts)})


def _label(value: Any, grader: GradeReader) -> str | None:
    """Return the label for a grade, or None. Of the numbers, only 1 and 0 have a clear meaning."""
    if isinstance(value, int | float):
        return {1.0: "pass", 0.0: "fail"}.get(float(value))
    ballot = grader.ballot(value, "")
    passed = ballot.get("pass")
    if isinstance(passed, bool):
        return "pass" if passed else "fail"
    # P is partial credit and N no answer: a person looked at it and did not decide.
    return "unsure" if ballot.get("label") in {"P", "N"} else None
