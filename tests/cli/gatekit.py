"""Suites and the reports beside them, for the tests of ``gate``."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeAlias
from xml.etree import ElementTree as ET

from tests.helpers import verdict

if TYPE_CHECKING:
    from tests.cli.conftest import Done

Write: TypeAlias = Callable[[str, bytes], Path]
Gate: TypeAlias = "Callable[..., Done]"

THREE = """
      - { target: jury.agreement, matcher: { schema: { minimum: 0.7 } } }
      - { target: jury.confidence, matcher: { not: { exact: low } } }
      - { target: jury.escalate, matcher: { exact: false } }
"""
CALM = verdict("calm", 0.9, 0.9, 0.8)
"""s² = 0.02/6 = 1/300, r_WG = 1 - 12/300 = 0.96."""
SPLIT = verdict("split", 0.9, 0.8, 0.1, flagged=True)
"""Mean 0.6, s² = (0.09 + 0.04 + 0.25) / 2 = 0.19, r_WG = 1 - 12 * 0.19 = -1.28."""
LONE = verdict("lone", 0.9)
AGREE = "{ target: jury.agreement, matcher: { schema: { minimum: 0.7 } } }"


def entry(name: str = "n", source: str = "report: report.json", *expect: str, **more: str) -> str:
    lines = [f"  - name: {name}", f"    {source}"]
    lines += [f"    {key}: {value}" for key, value in more.items()]
    return "\n".join([*lines, "    expect:", *(f"      - {one}" for one in expect or (AGREE,))])


def suite(*entries: str) -> bytes:
    return "\n".join(["jury:", *entries, ""]).encode()


def xml_of(path: Path) -> ET.Element:
    return ET.fromstring(path.read_bytes())  # noqa: S314 - the program's own


def rows(done: Done) -> list[str]:
    return [line.split()[0] for line in done.out.splitlines()[:-1] if not line.startswith(" ")]


def facts(done: Done) -> Any:
    return json.loads(done.out)
