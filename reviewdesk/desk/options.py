"""The options of a load, as the command line writes them and as Python has them."""

import os
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any, TypedDict

from reviewdesk.errors import UsageError

if TYPE_CHECKING:
    from reviewdesk.desk.loading import LoadOptions

STRATEGIES = (
    "quorum", "majority", "unanimous", "weighted_average", "mean", "median", "highest", "lowest",
    "trimmed_mean", "supermajority",
)  # fmt: skip
_NUMBER = r"[-+]?[0-9]*\.?[0-9]+"
_SIZE = re.compile(r"([0-9]{1,15}) ?(|[KMG])(?:i?B)?", re.IGNORECASE)
_SCALE = re.compile(rf"\s*({_NUMBER})\s*(?:\.\.|,|:|-)\s*({_NUMBER})\s*\Z")


class OpenOptions(TypedDict, total=False):
    """The options of ``reviewdesk open`` that say how a report is read, by the same names."""

    format: str | None
    skip_bad: bool
    seed: str | int | None
    threshold: float | None
    quorum: float | str | None
    strategy: str | None
    import_labels: bool
    models: Mapping[str, str]
    pass_labels: str | Sequence[str]
    fail_labels: str | Sequence[str]
    scale: str | tuple[float, float] | None
    judge_columns: str | Sequence[str]
    criteria_columns: str | Sequence[str]
    item_column: str | None
    output_column: str | None
    reason_suffix: str | None
    map: str | os.PathLike[str] | None
    texts: str | os.PathLike[str] | None


def load_options(given: Mapping[str, Any]) -> "LoadOptions":
    from reviewdesk.desk.loading import LoadOptions

    named = {name: value for name, value in given.items() if value is not None}
    read = {name: _READERS[name](value) for name, value in named.items() if name in _READERS}
    return LoadOptions(**{**named, **read})


def strategy_of(value: object) -> str:
    if value not in STRATEGIES:
        hint = f"Rules: {', '.join(STRATEGIES)}."
        raise UsageError(f"--strategy: there is no rule {value!r}", hint)
    return str(value)


def quorum_of(value: str | float) -> float | str:
    """Return a quorum as a report states it: a share above 0 and up to 1, or ``k/n``."""
    text = str(value)
    whole, slash, of = text.partition("/")
    if slash and whole.isdecimal() and of.isdecimal() and 0 < int(whole) <= int(of):
        return text
    try:
        share = float(text)
    except ValueError:
        share = -1
    if not 0 < share <= 1:
        raise UsageError(f"--quorum: {value!r} is not a quorum", "Write 0.67, 1 or 2/3.")
    return share


def share_of(option: str, value: str | float, what: str, below: float | None = None) -> float:
    """Return a share from 0 to 1; ``what`` names it in the error, with an article."""
    try:
        share = float(value)
    except (TypeError, ValueError):
        share = -1
    if not 0 <= share <= 1 or (below is not None and share >= below):
        most = "to 1" if below is None else f"and below {below:g}"
        raise UsageError(f"{option}: {value!r} is not {what}", f"Write a number from 0 {most}.")
    return share + 0.0  # turns -0.0 into 0.0, so that no zero is printed with a sign


def _models_of(given: Mapping[str, str] | Iterable[str]) -> dict[str, str]:
    if isinstance(given, Mapping):
        return {str(name): str(model) for name, model in given.items()}
    found: dict[str, str] = {}
    for text in _words_of(given):
        name, equals, model = (part.strip() for part in text.partition("="))
        if not (name and equals and model):
            raise UsageError(
                f"--models: {text!r} is not JUROR=MODEL", "Write --models critic=model."
            )
        if found.setdefault(name, model) != model:
            raise UsageError(f"--models: {name!r} is given two models", "Keep one of them.")
    return found


def scale_of(given: str | tuple[float, float]) -> tuple[float, float]:
    match = _SCALE.match(given) if isinstance(given, str) else None
    ends = (float(match[1]), float(match[2])) if match else given
    if not isinstance(ends, tuple | list) or len(ends) != 2:
        raise UsageError(f"--scale: {given!r} is not a scale", "Write it as 1..5.")
    return ends[0], ends[1]


def _columns_of(option: str, given: str | Iterable[str]) -> tuple[str, ...]:
    parts = given.split(",") if isinstance(given, str) else given
    names = tuple(dict.fromkeys(str(name).strip() for name in parts))
    if not all(names):
        raise UsageError(f"{option}: {given!r} has an empty name", "Write a,b,c.")
    return names


def _words_of(given: str | Iterable[str]) -> tuple[str, ...]:
    return (given,) if isinstance(given, str) else tuple(given)


_READERS: Mapping[str, Callable[[Any], object]] = {
    "threshold": lambda value: share_of("--threshold", value, "a threshold"),
    "quorum": quorum_of,
    "strategy": strategy_of,
    "models": _models_of,
    "scale": scale_of,
    "judge_columns": partial(_columns_of, "--judge-columns"),
    "criteria_columns": partial(_columns_of, "--criteria-columns"),
    "pass_labels": _words_of,
    "fail_labels": _words_of,
    "seed": str,
    "map": os.fspath,
    "texts": os.fspath,
}
"""The readers of option values that are more than a word; errors name options as commands do."""


def size_of(value: str | int | None) -> int | None:
    if value is None or value == "":
        return None
    match = _SIZE.fullmatch(str(value).strip())
    if match is None:
        raise UsageError(f"--max-size: {value!r} is not a size", "Write 500M or 4G.")
    return int(match[1]) << " KMG".index(match[2].upper() or " ") * 10
