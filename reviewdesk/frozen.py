"""The base of records: what frozen dataclasses are, made in a thirtieth of the time.

A dataclass is compiled from source each time its module is loaded. The first screen knows hundreds
of records, and would wait for them.
"""

from __future__ import annotations

from dataclasses import Field, make_dataclass
from functools import cache
from typing import Any, ClassVar, dataclass_transform

from msgspec import Struct, field

__all__ = ["Frozen", "field"]


class _Fields:
    """The fields of a record, as the functions of ``dataclasses`` ask for them."""

    def __get__(self, _record: Frozen | None, kind: type[Frozen]) -> dict[str, Field[Any]]:
        return _fields_of(kind)


@cache
def _fields_of(kind: type[Frozen]) -> dict[str, Field[Any]]:
    made: Any = make_dataclass(kind.__name__, kind.__struct_fields__)
    fields: dict[str, Field[Any]] = made.__dataclass_fields__
    return fields


@dataclass_transform(frozen_default=True, field_specifiers=(field,))
class Frozen(Struct, frozen=True):
    """An immutable record with the fields that its class names."""

    __dataclass_fields__: ClassVar[_Fields] = _Fields()
