"""The types of headers and verdicts for ``msgspec``, made of the models' own JSON schema.

``schema.json`` keeps the schema, because the models take long to build and are only needed to word
what is wrong. What fits a type fits the model; a few values that fit the model do not fit the type.
"""

from __future__ import annotations

import json
import math
from functools import lru_cache
from pathlib import Path
from typing import Annotated, Any, Literal, NotRequired, TypedDict, Union

import msgspec

_MOST = 10**15
"""The largest number that is taken at sight, where the models set no bound."""
PLAIN = frozenset(
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


def fits_header(header: Any) -> bool:
    """Return True if a header that was read strictly fits the models at first sight."""
    return is_of(header, _type_of("HeaderModel"))


def is_of(value: Any, kind: Any) -> bool:
    """Return True if a value that was read strictly is one of a type, and has no other keys."""
    try:
        # Keys that the type does not know are left out.
        return bool(msgspec.convert(value, kind) == value)
    except (msgspec.MsgspecError, RecursionError):
        return False


def _schema(model: str) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(Path(__file__).with_name("schema.json").read_bytes())[model]
    return found


@lru_cache(maxsize=2)
def _type_of(model: str) -> Any:
    schema = _schema(model)
    return _type(schema, schema["$defs"])


def verdict_type() -> Any:
    """Return the type of verdicts."""
    return _type_of("VerdictModel")


@lru_cache(maxsize=1)
def plain_type() -> Any:
    """Return the type of verdicts without null, and with the plain keys alone."""
    schema = _without_nulls(_schema("VerdictModel"))
    for name in ("VerdictModel", "JurorModel"):
        named = schema["$defs"][name]
        named["properties"] = {key: one for key, one in named["properties"].items() if key in PLAIN}
    return _type(schema, schema["$defs"])


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
    if "enum" in schema or "const" in schema:
        return Literal[tuple(schema.get("enum") or [schema["const"]])]
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
