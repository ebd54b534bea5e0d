"""Turn a record into JSON: its fields by name, or the keys that are declared for it."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from typing import Any

from msgspec.structs import fields

from reviewdesk.domain.assessment.flag_words import Flag, names


def shape(record: Any, keys: str = "*", /, **more: Any) -> dict[str, Any]:
    """Return a record as JSON, with the keys in this order and then ``more``.

    A key is the name of a field or property; ``key=one.two`` reads another one, through other
    records and dicts, and is ``None`` where the path meets ``None`` or a dict without the key;
    ``*`` is all fields.
    """
    made: dict[str, Any] = {}
    for key, path in _paths(keys):
        if key == "*":
            made |= {one.name: plain(getattr(record, one.name)) for one in fields(record)}
        else:
            made[key] = _read(record, path)
    return made | {key: plain(value) for key, value in more.items()}


def plain(value: Any) -> Any:
    """Return a value as JSON: flags by name, records by field, and whatever they hold likewise."""
    if isinstance(value, Flag):
        return names(value)
    if isinstance(value, _AS_IS):
        return value
    if isinstance(value, Mapping):
        return {key: plain(one) for key, one in value.items()}
    if isinstance(value, tuple | list):
        return [plain(one) for one in value]
    return shape(value)


_AS_IS = (str, int, float, type(None))


@cache
def _paths(keys: str) -> tuple[tuple[str, tuple[str, ...]], ...]:
    parts = (word.partition("=") for word in keys.split())
    return tuple((key, tuple((path or key).split("."))) for key, _, path in parts)


def _read(record: Any, path: tuple[str, ...]) -> Any:
    for name in path:
        if record is None:
            return None
        record = record.get(name) if isinstance(record, dict) else getattr(record, name)
    return record if type(record) in _AS_IS else plain(record)
