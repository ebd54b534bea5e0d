"""Suites and the reports beside them, for the tests of ``gate``."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeAlias
from xml.etree import ElementTree as ET

from reviewdesk.desk.files import write_suite
from reviewdesk.domain.records import Truth
from tests.helpers import load, open_desk, report, verdict

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
FAILS = (0.2, 0.3, 0.1)
FOUR = (verdict("a"), verdict("b"), verdict("c", *FAILS), verdict("d", *FAILS))
"""The panel passes a and b, and fails c and d."""
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
    lines = [line for line in done.out.splitlines()[:-1] if not line.startswith(" ")]
    return [re.split(" {2,}", line)[0] for line in lines]


def facts(done: Done) -> Any:
    return json.loads(done.out)


def only_entry(done: Done) -> Any:
    (only,) = facts(done)["entries"]
    return only


def values(done: Done) -> dict[str, Any]:
    """The values of the checks of the only entry, by their targets."""
    return {check["target"]: check["value"] for check in only_entry(done)["checks"]}


def asking(*targets: str) -> str:
    """Lines that ask for targets, of which any number is fine."""
    line = "      - {{ target: {}, matcher: {{ schema: {{ not: {{ const: 0.123456789 }} }} }} }}\n"
    return "".join(map(line.format, targets))


def write_judge(folder: Path) -> list[dict[str, Any]]:
    """Write a suite over the labels of ten passes and ten fails, all as the panel decided."""
    bodies = [verdict(f"v{at}", *[0.05 if at % 2 else 0.95] * 3) for at in range(20)]
    with closing(open_desk(folder / "desk.db")) as desk:
        loaded = load(desk, report(*bodies))
        for row in desk.rows(desk.queue(loaded)):
            desk.label(row.key, Truth(str(row.decision)))
        write_suite(desk, loaded, folder / "judge")
    path = folder / "judge" / "suite.yml"
    path.write_text(path.read_text(encoding="utf-8").replace("0.8 }", "0.5 }"), encoding="utf-8")
    return bodies
