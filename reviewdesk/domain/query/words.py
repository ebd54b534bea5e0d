"""The vocabulary of filters and orders; the words of flags are in ``assessment/result.py``."""

from collections.abc import Mapping

from reviewdesk.domain.assessment.result import SHORT, Flag

STATES = {"mark": "marked by you", "note": "has a note", "deferred": "put off by you"}
"""Words for what reviewers did with an item."""
BALLOTS = {"failed": "a juror's call failed", "abstained": "a juror abstained"}
"""Words that hold if at least one ballot has this status."""
UNANIMOUS = {"unanimous_votes": "all votes are the same"}
"""The word for a panel whose votes, two or more of them, are all the same."""
WRONG = {"wrong": "labelled against the panel"}
"""Words for a panel whose pass is labelled fail, or whose fail is labelled pass."""
PANEL = WRONG | BALLOTS | UNANIMOUS
CHOICES = {
    "label": {
        "none": "no label",
        "pass": "labelled pass",
        "fail": "labelled fail",
        "unsure": "labelled can't tell",
        "disputed": "reviewers differ",
        "tuning": "labelled, of the half that panels are tuned on",
        "holdout": "labelled, of the half that panels are tried on",
    },
    "band": {
        "high": "close agreement",
        "medium": "middling agreement",
        "low": "little agreement",
        "none": "no band: no agreement, or a measure without bands",
    },
    "decision": {
        "pass": "the panel passed it",
        "fail": "the panel failed it",
        "inconclusive": "the panel came to no decision",
        "error": "the panel did not answer",
        "none": "no decision, stated or computable",
    },
    "wrong": {
        "pass": "the panel passed what is labelled fail",
        "fail": "the panel failed what is labelled pass",
    },
    "rerun": {"flipped": "its newest re-run turned a pass into a fail, or the reverse"},
    "warn": {
        "any": "any warning",
        "bias": "a bias warning",
        "same-family": "a juror of the generator's family",
    },
}
HALVES = frozenset({"tuning", "holdout"})
"""The values of ``label`` that come from the split of the labels, not from a column."""
NAMED = {
    "tag": "a tag of a reviewer or of the report",
    "juror": "a juror or model on the panel",
    "run": "also judged in that run",
    "flip": "decided otherwise in that run",
}
UNTAGGED = "none"
NUMBERS = {
    "score": "the panel's score",
    "confidence": "how sure the panel is of its own decision",
    "agreement": "how closely the jurors agree",
    "margin": "the distance to the threshold",
    "range": "the distance between the lowest and the highest score",
    "swing": "how far the panel's score of the same content moved between runs",
}
OPERATORS = {"<": "below", "<=": "at most", "=": "exactly", ">=": "at least", ">": "above"}
TEXTS = {
    "id": "the id contains",
    "test": "the test's name contains",
    "text": "words anywhere in it, as in search",
}
HEADINGS = {
    "label": "by label",
    "band": "by the band beside the agreement",
    "decision": "by the panel's decision",
    "wrong": "labelled against the panel's pass, or against its fail",
    "rerun": "by the decision of its newest re-run",
    "warn": "by warning",
}
ORDERS = {
    "draw": "flagged and random check mixed, then the rest",
    "file": "as in the report",
    "score": "by score, lowest first",
    "agreement": "by agreement, lowest first",
    "margin": "by distance to the threshold, nearest first",
    "id": "by id",
}


def short(flag: Flag) -> str:
    return SHORT[flag].rstrip("!")


NOT_TOLD = "not told"
"""The truth of an item that one other person labelled, which the reviewer may not see yet."""
CODES: Mapping[str, tuple[str, ...]] = {
    "decision": ("fail", "pass", "inconclusive", "error"),
    "band": ("high", "medium", "low"),
    "truth": ("pass", "fail", "unsure", "disputed", NOT_TOLD),
}
"""The words of the coded columns; a code is the index of its word, and -1 means no word."""
PLACES = frozenset({"draw", "mix", "id"})
"""Columns that hold an order of the rows instead of a fact about each row."""
LABELS = frozenset({"truth"})
TYPES: Mapping[str, str] = {
    **dict.fromkeys(NUMBERS, "d"),
    **dict.fromkeys(sorted(PLACES), "i"),
    **dict.fromkeys((*CODES, *UNANIMOUS), "b"),
    "flags": "i",
}
"""The type code of every column, as of ``array``."""
