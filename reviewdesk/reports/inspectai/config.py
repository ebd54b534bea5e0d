"""What a log says of its run: the scorers and whom they were told to ask."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

_CODE = frozenset(["answer", "choice", "exact", "f1", "includes", "match", "math", "pattern"])
"""Inspect's own scorers that ask no model."""
_GRADED = "model_graded"
_NO_MODEL = "none/none"


@dataclass(frozen=True, slots=True)
class PanelSeat:
    """One place on a scorer's panel."""

    name: str
    model: str | None


@dataclass(frozen=True, slots=True)
class Scorer:
    """A scorer as it was configured; one that asks several models has a seat for each."""

    name: str
    seats: tuple[PanelSeat, ...] = ()
    rubric: str | None = None

    @property
    def is_code(self) -> bool:
        """Whether it is known to ask no model."""
        return not self.seats and self.name.rpartition("/")[2] in _CODE


@dataclass(frozen=True, slots=True)
class LogHeader:
    """The header of a log, as far as it is read."""

    spec: Mapping[str, Any]
    scorers: Mapping[str, Scorer]
    """By the names of the scores they give."""

    @staticmethod
    def of(header: Mapping[str, Any]) -> LogHeader:
        """Read a header; keys that are missing or of another kind say nothing."""
        spec = record(header.get("eval"))
        found: dict[str, Scorer] = {}
        for name, options in _listed(spec, record(header.get("results"))):
            found[_unused(name, found)] = _scorer(name, options, spec)
        return LogHeader(spec, found)

    @property
    def model(self) -> str | None:
        """The model under test."""
        model = text(self.spec.get("model"))
        return None if model == _NO_MODEL else model

    @property
    def epochs(self) -> int:
        """How often each sample was run."""
        return whole(record(self.spec.get("config")).get("epochs")) or 1

    @property
    def planned(self) -> int | None:
        """How many samples a whole log has."""
        dataset = whole(record(self.spec.get("dataset")).get("samples"))
        return dataset * self.epochs if dataset is not None else None


def record(value: Any) -> dict[str, Any]:
    """An object, or an empty one in the place of anything else."""
    return value if isinstance(value, dict) else {}


def listed(value: Any) -> list[Any]:
    """A list, or an empty one in the place of anything else."""
    return value if isinstance(value, list) else []


def text(value: Any) -> str | None:
    """A text that is not empty."""
    return value if isinstance(value, str) and value.strip() else None


def whole(value: Any) -> int | None:
    """A whole number, 1 or more."""
    return value if isinstance(value, int) and not isinstance(value, bool) and value > 0 else None


def _listed(spec: dict[str, Any], results: dict[str, Any]) -> Iterator[tuple[str, dict[str, Any]]]:
    """The scorers by name with their options; older logs list them with the results alone."""
    if isinstance(spec.get("scorers"), list):
        for scorer in map(record, spec["scorers"]):
            if name := text(scorer.get("name")):
                yield name, record(scorer.get("options"))
        return
    seen: set[str] = set()
    for score in map(record, listed(results.get("scores"))):
        name = text(score.get("scorer"))
        if name and name not in seen:
            seen.add(name)
            yield name, record(score.get("params"))


def _unused(name: str, taken: Mapping[str, Scorer]) -> str:
    """The second scorer of a name gives scores called ``name1``."""
    count, found = 0, name
    while found in taken:
        count += 1
        found = f"{name}{count}"
    return found


def _scorer(name: str, options: dict[str, Any], spec: dict[str, Any]) -> Scorer:
    rubric = text(options.get("instructions")) or text(options.get("template"))
    if members := listed(options.get("scorers")):
        seats = [
            PanelSeat(text(one.get("name")) or name, next(iter(_models(params.get("model"))), None))
            for one in map(record, members)
            for params in (record(one.get("params")),)
        ]
        return Scorer(name, tuple(seats), rubric)
    models = _models(options.get("model")) or _by_role(name, options, spec)
    return Scorer(name, tuple(PanelSeat(model, model) for model in models), rubric)


def _by_role(name: str, options: dict[str, Any], spec: dict[str, Any]) -> list[str]:
    """The models bound to the grader's role; where there are none the model under test grades."""
    if not name.rpartition("/")[2].startswith(_GRADED):
        return []
    role = options.get("model_role", "grader")
    named = text(role) or text(record(role).get("name"))
    bound = _models(record(spec.get("model_roles")).get(named)) if named else []
    return bound or _models(spec.get("model"))


def _models(stated: Any) -> list[str]:
    """Names of models, which stand as a text, as an object with a name, or in a list of these."""
    models = (text(record(one).get("model")) or text(one) for one in _several(stated))
    return [model for model in models if model]


def _several(stated: Any) -> list[Any]:
    return stated if isinstance(stated, list) else [stated]
