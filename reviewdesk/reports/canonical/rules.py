"""Check canonical headers and verdicts by their types and by rules that no schema can express.

The stored bodies are the JSON of the file; only optional keys that are null are dropped.
"""

import re
from collections.abc import Iterator, Sequence
from contextlib import suppress
from datetime import datetime
from fractions import Fraction
from types import UnionType
from typing import Annotated, Any, Literal, TypeVar, Union, get_args, get_origin, get_type_hints

import msgspec
from msgspec.json import decode

from reviewdesk.domain.report_model import (
    HeaderModel,
    RunFactsModel,
    VerdictModel,
    json_of,
    verdict_model,
)
from reviewdesk.reports.bytes.strict_json import REFUSED, UNCLEAN, is_too_deep, quotes
from reviewdesk.reports.wording import FieldError, Path, found, must_be, spell_path

_Model = TypeVar("_Model", bound=msgspec.Struct)
_TIME = re.compile(
    r"(\d{4}-\d\d-\d\d)[Tt ]([01]\d|2[0-3]):([0-5]\d):([0-5]\d|60)(?:\.\d+)?"
    r"(?:[Zz]|[+-](?:[01]\d|2[0-3]):[0-5]\d)\Z",
    re.ASCII,
)
_TIME_WORDS = "a time such as 2025-01-31T12:00:00Z"


def is_time(text: str) -> bool:
    """Return True if a text is an RFC 3339 time on a day that exists."""
    match = _TIME.match(text)
    if not match:
        return False
    try:
        datetime.fromisoformat(match[1])
    except ValueError:
        return False
    return True


def header_problem(header: Any) -> FieldError | None:
    """Return the first problem of a report's header, or None."""
    made = _checked(HeaderModel, header)
    if isinstance(made, FieldError):
        return made
    quorum = made.defaults.quorum if made.defaults else None
    return _time(made.created_at, ("created_at",)) or _quorum(quorum, ("defaults", "quorum"))


def checked_verdict(verdict: Any) -> VerdictModel | FieldError:
    made = _checked(VerdictModel, verdict)
    return made if isinstance(made, FieldError) else verdict_rules(made) or made


def run_facts_problem(value: dict[str, Any]) -> str:
    """Return what is wrong with the facts of a run, in words; empty if nothing is."""
    made = _checked(RunFactsModel, value)
    if isinstance(made, RunFactsModel):
        problem = _quorum(made.options.quorum, ("options", "quorum"))
        if problem is None and not made.options.skip_bad:
            problem = FieldError(("options", "skip_bad"), must_be("true", False))
    else:
        problem = made
    return f"{spell_path(problem.path)} {problem.text}" if problem else ""


def _checked(kind: type[_Model], value: Any) -> _Model | FieldError:
    try:
        return msgspec.convert(value, kind)
    except msgspec.ValidationError as error:
        return _misfit(str(error), value, kind)
    except RecursionError:
        return FieldError((), "is nested too deep")


_PLACE = re.compile(r" - at `\$([^`]*)`\Z")
_STEP = re.compile(r"\.(\w+)|\[(\d+|\.\.\.)\]")
_WORDS = {
    str: "a text", bool: "true or false", float: "a number", int: "a whole number",
    list: "a list", dict: "an object",
}  # fmt: skip


def _misfit(message: str, value: Any, kind: Any) -> FieldError:
    """Return the problem that a message of msgspec describes, reworded and with its path."""
    path: list[str | int] = []
    place = _PLACE.search(message)
    for name, index in _STEP.findall(place[1] if place else ""):
        kind = _inner(kind, name)
        step: str | int = name or index
        if index == "...":
            step = next(key for key, one in value.items() if not _fits(one, kind))
        elif index:
            step = int(index)
        path.append(step)
        value = value[step]
    if message.startswith("Object missing required field"):
        return FieldError((*path, message.split("`")[1]), "is missing")
    if message.startswith("Object contains unknown field"):
        (struct,) = (one for one in _branches(kind) if hasattr(one, "__struct_encode_fields__"))
        unknown = next(key for key in value if key not in struct.__struct_encode_fields__)
        return FieldError(
            (*path, unknown), "is not a key of this format (free data belongs under meta)"
        )
    return FieldError(tuple(path), must_be(_words(kind), value))


def _fits(value: Any, kind: Any) -> bool:
    try:
        msgspec.convert(value, kind)
    except msgspec.ValidationError:
        return False
    return True


def _branches(kind: Any) -> Iterator[Any]:
    if get_origin(kind) is Annotated:
        yield from _branches(get_args(kind)[0])
    elif get_origin(kind) in {Union, UnionType}:
        for one in get_args(kind):
            yield from _branches(one)
    else:
        yield kind


def _inner(kind: Any, name: str) -> Any:
    """Return the type of a field; without a name, that of the elements of a list or an object."""
    for one in _branches(kind):
        if name and hasattr(one, "__struct_encode_fields__"):
            at = one.__struct_encode_fields__.index(name)
            return get_type_hints(one, include_extras=True)[one.__struct_fields__[at]]
        if not name and get_origin(one) in {list, dict}:
            return get_args(one)[-1]
    return Any


def _words(kind: Any) -> str:
    """Return what a value of a type must be, from its limits or else from the type's name."""
    union = get_origin(kind) in {Union, UnionType}
    for one in get_args(kind) if union else (kind,):
        for limits in getattr(one, "__metadata__", ()):
            if limits.extra:
                return str(limits.extra["words"])
    first = next(_branches(kind))
    if get_origin(first) is Literal:
        *some, last = (f'"{word}"' for word in get_args(first))
        return f"{', '.join(some)} or {last}" if some else last
    return _WORDS.get(get_origin(first) or first, "an object")


def verdict_rules(verdict: VerdictModel, path: Path = ()) -> FieldError | None:
    """Return the first problem of a verdict whose keys and values all have the right type."""
    problem = _jurors(verdict, path) or _quorum(verdict.quorum, (*path, "quorum"))
    if not problem and verdict.human:
        problem = _time(verdict.human.at, (*path, "human", "at"))
    if not problem and verdict.provenance:
        problem = _time(verdict.provenance.committed_at, (*path, "provenance", "committed_at"))
    for index, rerun in enumerate(verdict.reruns or ()):
        problem = problem or verdict_rules(rerun, (*path, "reruns", index))
    return problem


def _jurors(verdict: VerdictModel, path: Path) -> FieldError | None:
    seen: set[str] = set()
    for seat, juror in enumerate(verdict.jurors):
        if juror.id in seen:
            text = f"must be unique within the verdict, found {found(juror.id)} again"
            return FieldError((*path, "jurors", seat, "id"), text)
        seen.add(juror.id)
        if juror.at and (problem := _time(juror.at, (*path, "jurors", seat, "at"))):
            return problem
        if juror.error:
            for key, value in (("score", juror.score), ("pass", juror.pass_)):
                if value is not None and value is not msgspec.UNSET:
                    text = must_be("null where the juror has an error", value)
                    return FieldError((*path, "jurors", seat, key), text)
    for key in ("dropped_low", "dropped_high") if verdict.trim else ():
        for index, name in enumerate(getattr(verdict.trim, key) or ()):
            if name not in seen:
                text = f"must name a juror of the verdict, found {found(name)}"
                return FieldError((*path, "trim", key, index), text)
    return None


def _time(value: str | None, path: Path) -> FieldError | None:
    fits = value is None or is_time(value)
    return None if fits else FieldError(path, must_be(_TIME_WORDS, value))


def _quorum(quorum: float | str | None, path: Path) -> FieldError | None:
    if not isinstance(quorum, str):
        return None
    over, under = quorum.split("/")
    short = len(quorum) <= 40 and quorum.isprintable()
    if short and int(under) > 0 and 0 < Fraction(int(over), int(under)) <= 1:
        return None
    return FieldError(path, must_be("a fraction above 0 and at most 1", quorum))


_ESCAPE = re.compile(rb"\\u")
"""Found by its first byte, in less time than ``in`` takes."""


def clean_verdicts(texts: Sequence[bytes]) -> list[Any]:
    """Return for each JSON text its verdict and the stored JSON, or ``UNCLEAN``.

    Only the strict decoder can read texts with anything odd, or say what is wrong. Doubled keys, of
    which only the last would be kept, are detected by counting quotes: the texts have more of them
    than the verdicts have when they are written again.
    """
    with suppress(*REFUSED):
        verdicts = list(map(verdict_model, texts))
        whole = b"".join(texts)
        blanks = b"\n" in whole or b"\t" in whole
        escapes = _ESCAPE.search(whole) is not None
        given = quotes(whole)
        needed = quotes(json_of(verdicts))
        stored = list(texts)
        dropped = 0
        for at, text in enumerate(texts) if blanks or escapes or given != needed else ():
            again = blanks and (b"\n" in text or b"\t" in text)
            again = again or (escapes and b"\\u" in text)
            if again or (given != needed and b"null" in text):
                value = decode(text)
                count = drop_nulls(value)
                dropped += count
                if again or count:
                    stored[at] = json_of(value)
        if given == needed + 2 * dropped and not _is_odd(verdicts, texts):
            return list(zip(verdicts, stored, strict=True))
    return [UNCLEAN] if len(texts) == 1 else [clean_verdicts([text])[0] for text in texts]


def _is_odd(verdicts: Sequence[VerdictModel], texts: Sequence[bytes]) -> bool:
    """Return True if free values of verdicts are nested too deep; raise an error for others."""
    for one, text in zip(verdicts, texts, strict=True):
        values: list[Any] = [one.meta, one.labels, one.reruns]
        for juror in one.jurors:
            values += juror.meta, juror.samples
        if any(values):
            msgspec.msgpack.encode(list(filter(None, values)))  # refuses numbers over 64 bits
            if is_too_deep(text, one):
                return True
    return False


_PARTS: dict[str, Any] = {
    "case": {}, "agreement": {}, "trim": {}, "human": {}, "provenance": {}, "generator": {},
    "checks": {}, "producer": {}, "defaults": {}, "jurors": {"error": {}},
}  # fmt: skip
_PARTS["reruns"] = _PARTS
"""The keys whose values may have nulls that are not stored, each with those in its value.

Free values are kept unchanged.
"""
_MEANT = frozenset({"pass", "value"})
"""The keys whose null has a meaning: a withheld vote or an undefined agreement."""


def drop_nulls(value: dict[str, Any], parts: dict[str, Any] = _PARTS) -> int:
    """Remove the nulls of a valid verdict or header that are not stored; return their number.

    A juror's ``pass: null`` stays, as it withholds the vote; without the key, the threshold
    decides.
    """
    gone = [key for key, one in value.items() if one is None and key not in _MEANT]
    for key in gone:
        del value[key]
    count = len(gone)
    for key, inner in parts.items():
        if part := value.get(key):
            for one in part if type(part) is list else (part,):
                count += drop_nulls(one, inner)
    return count
