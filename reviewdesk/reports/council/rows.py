"""The rows of an lm-council ratings file: what each of them rates, and how."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any, NamedTuple

from reviewdesk.reports.mapping import foreign, values
from reviewdesk.reports.mapping.raw_scores import Scale, fitted
from reviewdesk.reports.mapping.unread import understood, unread_keys
from reviewdesk.reports.wording import FieldProblem, must_be

FIRST_IS_BETTER = "The first response is better than the second."

_CHOICES = {"A>>B": True, "A>B": True, "A=B": None, "B>A": False, "B>>A": False}
_OVERALL = "Overall"
_COMMON = frozenset(
    {"user_prompt", "judge_model", "temperature", "explanation"}
    | {"completion_tokens", "prompt_tokens", "total_tokens"}
)
_PAIR = _COMMON | {"first_completion_by", "second_completion_by", "pairwise_choice"}
_SINGLE = _COMMON | {"model_being_judged", _OVERALL}


class RatedPair(NamedTuple):
    """What ratings have in common that make one verdict.

    ``rival`` is the second response's model, or nothing where one response is rated alone.
    """

    prompt: str
    model: str
    rival: str | None
    rubric: str


@dataclass(frozen=True, slots=True)
class Rating:
    """One judge's answer to one question, as a canonical ballot without an id."""

    rated: RatedPair
    judge: str
    ballot: dict[str, Any]


def ratings(row: Any, scale: Scale, count: Callable[[str], None]) -> list[Rating] | FieldProblem:
    """The ratings of a row: one of a pair, or one for each criterion that a response is held to."""
    if not isinstance(row, dict):
        return FieldProblem((), must_be("an object", row))
    names = {"first_completion_by", "second_completion_by"}
    paired = "pairwise_choice" in row
    if not paired:
        names = {"model_being_judged"}
    for name in ("judge_model", *sorted(names)):
        if foreign.text(row.get(name)) is None:
            return FieldProblem((name,), must_be("the name of a model", row.get(name)))
    if not isinstance(row.get("user_prompt"), str):
        return FieldProblem(("user_prompt",), must_be("a text", row.get("user_prompt")))
    if paired:
        return [_pair(row, count)]
    return list(_criteria(row, scale, count))


def unmapped(row: dict[str, Any]) -> list[str]:
    """The keys of a row that nothing is made of."""
    if "pairwise_choice" in row:
        return [key for key in row if key not in _PAIR]
    return [key for key, value in row.items() if key not in _SINGLE and not _is_rating(value)]


def _pair(row: dict[str, Any], count: Callable[[str], None]) -> Rating:
    rated = RatedPair(
        row["user_prompt"],
        row["first_completion_by"],
        row["second_completion_by"],
        FIRST_IS_BETTER,
    )
    choice = foreign.text(row.get("pairwise_choice"))
    word = choice.strip().strip("[]").strip() if choice else None
    if word and word not in _CHOICES:
        count("a choice in unknown words is kept as its label, without a vote")
    answer = {"label": word or None, "pass": _CHOICES.get(word) if word else None}
    ballot = values.said(_call(row) | answer, "pass")
    unread = unread_keys(row, ("pairwise_choice",), _PAIR)
    return Rating(rated, row["judge_model"], understood(ballot, unread))


def _criteria(row: dict[str, Any], scale: Scale, count: Callable[[str], None]) -> Iterator[Rating]:
    criteria = [key for key, value in row.items() if key not in _SINGLE and _is_rating(value)]
    if _OVERALL in row:
        if criteria:
            count("Overall, the mean of a judge's ratings, is left out")
        elif _is_rating(row[_OVERALL]):
            criteria = [_OVERALL]
    if not criteria:
        rated = RatedPair(row["user_prompt"], row["model_being_judged"], None, _OVERALL)
        ballot = understood(
            values.said(_call(row)), unread_keys(row, (_OVERALL,), _COMMON | {"model_being_judged"})
        )
        yield Rating(rated, row["judge_model"], ballot)
    for criterion in criteria:
        rated = RatedPair(row["user_prompt"], row["model_being_judged"], None, criterion)
        scores = fitted(row[criterion], scale, count, "a rating")
        yield Rating(rated, row["judge_model"], values.said(_call(row) | scores))


def _call(row: dict[str, Any]) -> dict[str, Any]:
    """What a row says of the judge's call, whatever was asked."""
    return {
        "model": row["judge_model"],
        "reason": foreign.text(row.get("explanation")),
        "temperature": values.number(row.get("temperature")),
        "tokens_in": foreign.count(row.get("prompt_tokens")),
        "tokens_out": foreign.count(row.get("completion_tokens")),
    }


def _is_rating(value: Any) -> bool:
    """A number, or the null that stands where a judge gave none."""
    return value is None or values.number(value) is not None
