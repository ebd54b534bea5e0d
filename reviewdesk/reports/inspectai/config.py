"""Read a log's header: the scorers, and the models they are configured to ask."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from msgspec import Struct

from reviewdesk.reports.mapping.foreign import text
from reviewdesk.reports.mapping.values import listed, record

_CODE = frozenset(["answer", "choice", "exact", "f1", "includes", "match", "math", "pattern"])
"""Built-in scorers of Inspect that call no model."""
_GRADED = "model_graded"
_NO_MODEL = "none/none"


class PanelSeat(Struct, frozen=True):
    """One place on a scorer's panel."""

    name: str
    model: str | None


class Scorer(Struct, frozen=True):
    """A scorer's configuration, with one seat for each model that it asks."""

    name: str
    seats: tuple[PanelSeat, ...] = ()
    rubric: str | None = None

    @property
    def is_code(self) -> bool:
        """Whether this scorer is known to be code, without a model call."""
        return not self.seats and self.name.rpartition("/")[2] in _CODE


class LogHeader(Struct, frozen=True):
    """The parts of a log's header that are used."""

    spec: Mapping[str, Any]
    scorers: Mapping[str, Scorer]
    """Scorers, keyed by the name of the score that each one gives."""

    @staticmethod
    def of(header: Mapping[str, Any]) -> LogHeader:
        """Read a header. Ignore keys that are missing or hold another type."""
        spec = record(header.get("eval"))
        found: dict[str, Scorer] = {}
        for name, options in _scorer_options(spec, record(header.get("results"))):
            found[_free_name(name, found)] = _scorer(name, options, spec)
        return LogHeader(spec, found)

    @property
    def model(self) -> str | None:
        """The model under test, or None if the log names none."""
        model = text(self.spec.get("model"))
        return None if model == _NO_MODEL else model

    @property
    def epochs(self) -> int:
        """The number of times each sample was run."""
        return whole(record(self.spec.get("config")).get("epochs")) or 1

    @property
    def planned(self) -> int | None:
        """The number of samples in a complete log, or None if unknown."""
        dataset = whole(record(self.spec.get("dataset")).get("samples"))
        return dataset * self.epochs if dataset is not None else None


def whole(value: Any) -> int | None:
    """Return the value if it is an integer of 1 or more, else None."""
    return value if isinstance(value, int) and not isinstance(value, bool) and value > 0 else None


def _scorer_options(
    spec: dict[str, Any], results: dict[str, Any]
) -> Iterator[tuple[str, dict[str, Any]]]:
    """Yield each scorer's name and options. Older logs list scorers only in the results."""
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


def _free_name(name: str, taken: Mapping[str, Scorer]) -> str:
    """Return the name, numbered if taken: Inspect calls a second scorer's scores ``name1``."""
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
    models = _models(options.get("model")) or _role_models(name, options, spec)
    return Scorer(name, tuple(PanelSeat(model, model) for model in models), rubric)


def _role_models(name: str, options: dict[str, Any], spec: dict[str, Any]) -> list[str]:
    if not name.rpartition("/")[2].startswith(_GRADED):
        return []
    role = options.get("model_role", "grader")
    named = text(role) or text(record(role).get("name"))
    bound = _models(record(spec.get("model_roles")).get(named)) if named else []
    return bound or _models(spec.get("model"))


def _models(stated: Any) -> list[str]:
    """Return the model names in a text, in an object with a ``model``, or in a list of these."""
    each = stated if isinstance(stated, list) else [stated]
    models = (text(record(one).get("model")) or text(one) for one in each)
    return [model for model in models if model]
