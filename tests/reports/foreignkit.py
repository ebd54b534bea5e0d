"""How the tests of foreign readers open a document, and damage one."""

import copy
import json
import random
from collections.abc import Iterator
from typing import Any

import pytest

from reviewdesk.errors import ReportError
from reviewdesk.reports import ReadOptions, Source, read
from reviewdesk.reports.report import Report
from tests.helpers import verdict_problem

_ODD: tuple[Any, ...] = (
    *(None, True, False, 0, -1, 2**63, 0.5, 1e308, -1e308, "", " ", "x", "ERROR", "pass", "\u2028"),
    *([], {}, [[]], [None], [1, "a"], {"a": 1}, [{}], {"name": [1]}, "9" * 600),
)


def packed(document: Any, *, lines: bool = False) -> bytes:
    if isinstance(document, bytes):
        return document
    if lines:
        return b"".join(json.dumps(one, ensure_ascii=False).encode() + b"\n" for one in document)
    return json.dumps(document, ensure_ascii=False).encode()


def opened(document: Any, *, lines: bool = False, **options: Any) -> tuple[Report, list[Any]]:
    source = Source.from_bytes("run.json", packed(document, lines=lines))
    report = read(source, ReadOptions(**options))
    bodies = list(report.verdicts())
    assert all(verdict_problem(body) is None for body in bodies)
    return report, bodies


def only(document: Any, **options: Any) -> Any:
    _, (body,) = opened(document, **options)
    return body


def refusal(document: Any, *, lines: bool = False, **options: Any) -> str:
    with pytest.raises(ReportError) as caught:
        opened(document, lines=lines, **options)
    text = str(caught.value)
    assert text.isprintable()
    return text


def mutations(document: Any, count: int) -> Iterator[Any]:
    """The document with some of its values replaced by odd ones, or taken away."""
    chance = random.Random(11)  # noqa: S311 - a fixed sequence, not a secret
    for _ in range(count):
        broken = copy.deepcopy(document)
        for _ in range(chance.randint(1, 3)):
            places = list(_places(broken))
            if not places:
                break
            holder, key = chance.choice(places)
            if chance.random() < 0.2:
                del holder[key]
            else:
                holder[key] = copy.deepcopy(chance.choice(_ODD))
        yield broken


def _places(node: Any) -> Iterator[tuple[Any, Any]]:
    keys = node.keys() if isinstance(node, dict) else range(len(node))
    for key in list(keys):
        yield node, key
        if isinstance(node[key], dict | list):
            yield from _places(node[key])
