"""Decode verdicts that are standard JSON and fit the models, several times faster than the rest.

The types that are decoded to are made of the models' own JSON schema. What is not clean at first
sight (a doubled or unknown key, a number that overflows, a lone surrogate) is left to the strict
decoder and to the models, which word what is wrong.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Callable, Iterator
from functools import lru_cache
from typing import Annotated, Any, Literal, NamedTuple, NotRequired, TypeAlias, TypedDict, Union

import msgspec

from reviewdesk.domain.run.counting import count_of
from reviewdesk.reports.bytes.strict_json import MAX_DEPTH, NonStandardJsonError, decode
from reviewdesk.reports.bytes.window import TextLine, Window
from reviewdesk.reports.canonical.models import JurorModel, VerdictModel
from reviewdesk.reports.report import PlainVerdicts, ReportVerdict

UNCLEAN = (msgspec.MsgspecError, UnicodeError, RecursionError, OverflowError)
_MOST = 10**15
"""The largest number that is taken at sight, where the models set no bound."""
_FREE = frozenset({"meta", "labels", "samples"})
_PLAIN = frozenset(
    {
        "id", "case", "input", "output", "alternative", "reference", "rubric", "generator",
        "threshold", "strategy", "decision", "label", "score", "agreement", "band",
        "escalate_for_review", "escalation_reasons", "same_family", "bias_warning", "jurors",
        "regime", "checks", "kind", "model", "vendor", "role", "raw_score", "scale", "pass",
        "confidence", "reason", "weight", "trimmed", "latency_ms", "tokens_in", "tokens_out",
        "cost_usd", "raw", "temperature", "prompt_sha256", "round", "not_applied",
    }
)  # fmt: skip
"""Keys of verdicts and jurors that neither free data nor a rule beyond the models is about."""
_LONG = re.compile(rb"\d{19}")


Decode: TypeAlias = Callable[[bytes], list[dict[str, Any]]]


class CleanVerdict(NamedTuple):
    """A verdict that fits the models, and whether no further rule is about it."""

    value: dict[str, Any]
    plain: bool


def clean_verdict(data: bytes) -> CleanVerdict | None:
    """Return the verdict that a JSON text holds, or None if it is not clean."""
    found = _decoded(b"[%b]" % data, _decoder())
    if found is None or len(found) != 1:
        return None
    (verdict,) = found
    jurors = verdict["jurors"]
    seen = set(verdict).union(*jurors)
    if seen <= _PLAIN:
        return CleanVerdict(verdict, has_unique_jurors(verdict))
    # The models refuse an answer beside an error; free data may nest deep and hold any number.
    free = not _FREE.isdisjoint(seen)
    deep = free and data.count(b"{") + data.count(b"[") > MAX_DEPTH
    unclean = deep or "error" in seen or (free and _LONG.search(data))
    return None if unclean else CleanVerdict(verdict, plain=False)


def _decoded(data: bytes, decoder: Decode) -> list[dict[str, Any]] | None:
    """Return the verdicts of a list, or None if one does not fit the models.

    The types forget unknown and doubled keys, so that a text with any has more quotes around its
    keys and texts than the verdicts have when they are written again.
    """
    try:
        found = decoder(data)
        written = msgspec.json.encode(found)
    except UNCLEAN:
        return None
    return found if _quotes(data) == _quotes(written) else None


def _quotes(data: bytes) -> int:
    """Count the quotes around the keys and texts of a JSON text."""
    found = count_of('"', data)
    return found - data.replace(b"\\\\", b"").count(b'\\"') if b"\\" in data else found


def has_unique_jurors(verdict: dict[str, Any]) -> bool:
    """Return True if no two jurors of a verdict have the same id."""
    jurors = verdict["jurors"]
    return len({one["id"] for one in jurors}) == len(jurors)


class VerdictList(Window):
    """A position in a canonical report, whose list of verdicts is decoded many at a time."""

    def verdicts(self) -> Iterator[ReportVerdict | PlainVerdicts]:
        """Yield the elements of the list here, those that are clean with their JSON."""
        index = 0
        for _ in self.elements():
            origin = f"$.verdicts[{index}]"
            yield ReportVerdict("", self.value(origin), origin)
            index += 1
            for found in self._run(index):
                yield found
                index += len(found.values) if isinstance(found, PlainVerdicts) else 1

    def _run(self, index: int) -> Iterator[ReportVerdict | PlainVerdicts]:
        """Step over the elements that follow, up to one that is not standard JSON."""
        while (following := self._following())[0]:
            every, end = [bytes(one) for one in following[0]], following[1]
            if found := plain_verdicts(every, index):
                self._at = end
                yield found
            else:
                for place, data in enumerate(every):
                    one = self._one(data, f"$.verdicts[{index + place}]")
                    if one is None:
                        for before in every[:place]:
                            self._step_over(before.decode())
                        return  # met again, and worded, where it stands
                    yield one
                self._at = end
            index += len(every)

    def _one(self, data: bytes, origin: str) -> ReportVerdict | None:
        """Return the verdict that a JSON text holds, or None if it is not standard JSON."""
        if clean := clean_verdict(data):
            return ReportVerdict("", clean.value, origin, None, data, clean.plain)
        try:
            return ReportVerdict("", decode(data.decode(), 0, self._tally)[0], origin)
        except (json.JSONDecodeError, NonStandardJsonError):
            return None


def plain_lines(lines: list[TextLine]) -> PlainVerdicts | None:
    """Return the verdicts that lines hold, or None unless all of them are plain, one on a line."""
    every = [line.data.strip(b" \t\r\n") for line in lines]
    try:
        values = _VALUES.decode(b"[%b]" % b",".join(every))
    except UNCLEAN:
        return None
    if [bytes(one) for one in values] != every:
        return None
    found = plain_verdicts(every, 0)
    return None if found is None else found._replace(lines=[line.number for line in lines])


_VALUES = msgspec.json.Decoder(list[msgspec.Raw])


def plain_verdicts(every: list[bytes], index: int) -> PlainVerdicts | None:
    """Return the verdicts of a file from ``index``, or None unless all of them are plain."""
    found = _decoded(b"[%b]" % b",".join(every), _plain_decoder())
    if found is None or not all(map(has_unique_jurors, found)):
        return None
    return PlainVerdicts(found, every, index)


@lru_cache(maxsize=1)
def _decoder() -> Decode:
    return _decoder_of(VerdictModel.model_json_schema())


@lru_cache(maxsize=1)
def _plain_decoder() -> Decode:
    """Return a decoder that knows no null, and of verdicts and jurors the plain keys alone."""
    schema = _without_nulls(VerdictModel.model_json_schema())
    for model in (VerdictModel, JurorModel):
        named = schema["$defs"][model.__name__]
        named["properties"] = {
            key: one for key, one in named["properties"].items() if key in _PLAIN
        }
    return _decoder_of(schema)


def _decoder_of(schema: dict[str, Any]) -> Decode:
    verdict = _type(schema, schema["$defs"])
    return msgspec.json.Decoder(list.__class_getitem__(verdict)).decode


def _without_nulls(schema: Any) -> Any:
    if isinstance(schema, dict):
        return {key: _without_nulls(one) for key, one in schema.items()}
    if isinstance(schema, list):
        return [_without_nulls(one) for one in schema if one not in ("null", {"type": "null"})]
    return schema


def _type(schema: dict[str, Any], named: dict[str, Any]) -> Any:
    """Return the type of the values that fit a JSON schema; ``named`` are those it refers to."""
    if reference := schema.get("$ref"):
        return _type(named[reference.rpartition("/")[2]], named)
    if options := schema.get("anyOf"):
        return Union[tuple(_type(one, named) for one in options)]  # noqa: UP007 - at run time
    kinds = schema.get("type", "object")
    every = kinds if isinstance(kinds, list) else [kinds]
    return Union[tuple(_plain(kind, schema, named) for kind in every)]  # noqa: UP007


def _plain(kind: str, schema: dict[str, Any], named: dict[str, Any]) -> Any:
    if "enum" in schema:
        return Literal[tuple(schema["enum"])]
    if kind == "array":
        items = _type(schema["items"], named)
        lengths = msgspec.Meta(min_length=schema.get("minItems"), max_length=schema.get("maxItems"))
        return Annotated[list.__class_getitem__(items), lengths]
    if kind == "object":
        return _object(schema, named)
    if kind == "string":
        limits = msgspec.Meta(
            min_length=schema.get("minLength"),
            max_length=schema.get("maxLength"),
            pattern=schema.get("pattern", "").replace("$", r"\Z") or None,
        )
        return Annotated[str, limits]
    if kind in {"integer", "number"}:
        return _number(kind, schema)
    return {"boolean": bool, "null": None}[kind]


def _object(schema: dict[str, Any], named: dict[str, Any]) -> Any:
    if "properties" not in schema:
        free = schema["additionalProperties"]
        kept: Any = Any if free is True else _type(free, named)
        return dict.__class_getitem__((str, kept))
    required = schema.get("required", ())
    fields = {}
    for name, one in schema["properties"].items():
        # A verdict within a verdict, as a re-run is, is left to the models.
        if f"/{schema['title']}'" not in str(one):
            found = _type(one, named)
            fields[name] = found if name in required else NotRequired[found]
    return TypedDict(schema["title"], fields)  # type: ignore[operator]


def _number(kind: str, schema: dict[str, Any]) -> Any:
    least, above = schema.get("minimum", -_MOST), schema.get("exclusiveMinimum")
    most, below = schema.get("maximum", _MOST), schema.get("exclusiveMaximum")
    low = math.ceil(least) if above is None else math.floor(above) + 1
    high = math.floor(most) if below is None else math.ceil(below) - 1
    whole = Annotated[int, msgspec.Meta(ge=low, le=high)]
    if kind == "integer":
        return whole
    lower = msgspec.Meta(ge=least) if above is None else msgspec.Meta(gt=above)
    upper = msgspec.Meta(le=most) if below is None else msgspec.Meta(lt=below)
    return whole | Annotated[float, lower, upper]
