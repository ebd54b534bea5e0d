"""Records: immutable, compared by value, and what the functions of ``dataclasses`` expect."""

from __future__ import annotations

import ast
import pickle
from dataclasses import asdict, astuple, fields, replace

import pytest

from reviewdesk.frozen import Frozen, field
from tests.helpers import ROOT


class Point(Frozen):
    """A point with a name."""

    x: int
    y: int = 0
    names: list[str] = field(default_factory=list)


class Place(Point):
    """A point with another one."""

    other: Point | None = None


def test_the_functions_of_dataclasses_take_a_record() -> None:
    place = Place(1, names=["a"], other=Point(2))
    assert [one.name for one in fields(place)] == ["x", "y", "names", "other"]
    assert replace(place, y=3) == Place(1, 3, ["a"], Point(2))
    assert asdict(place)["other"] == {"x": 2, "y": 0, "names": []}
    assert astuple(Point(1, 2)) == (1, 2, [])
    with pytest.raises(TypeError):
        replace(place, z=1)  # type: ignore[call-arg]


def test_a_record_is_a_value_that_nobody_changes() -> None:
    point = Point(1, names=["a"])
    with pytest.raises(AttributeError):
        point.x = 2  # type: ignore[misc]
    assert pickle.loads(pickle.dumps(point)) == point  # noqa: S301
    assert point != Place(1, names=["a"])
    assert Point(1).names is not Point(1).names


def test_a_record_with_nothing_special_is_no_dataclass() -> None:
    """What a start loads is made without compiling source."""
    special = ("field(", "cached_property", "__setattr__")
    found = [
        f"{path.name}:{node.lineno} {node.name}"
        for path in (ROOT / "reviewdesk").rglob("*.py")
        for text in [path.read_text(encoding="utf-8")]
        if path.name != "pytest.py"  # it loads nothing beside the standard library
        if "@dataclass(frozen=True, slots=True" in text
        for node in ast.walk(ast.parse(text))
        if isinstance(node, ast.ClassDef)
        and any("frozen=True, slots=True" in ast.unparse(one) for one in node.decorator_list)
        and not any(word in (ast.get_source_segment(text, node) or "") for word in special)
    ]
    assert found == []
