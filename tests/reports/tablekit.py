"""What the tests of tables share: a table as bytes, its verdicts, and its refusal."""

import csv
import io
import json
import random
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import pytest

from reviewdesk.errors import ReportError, UsageError
from reviewdesk.reports import ReadOptions, Source, read
from reviewdesk.reports.report import Report
from tests.helpers import SHARED, verdict_problem

TABLES = SHARED / "formats" / "tables"
BROKEN = SHARED / "formats" / "broken"
needs_files = pytest.mark.skipif(
    not TABLES.is_dir(), reason="the files are not beside the checkout"
)


def table(text: str | bytes, **options: Any) -> tuple[Report, list[Any]]:
    """The report and all its verdicts, each of which must be canonical."""
    data = text.encode() if isinstance(text, str) else text
    report = read(Source.from_bytes("t.csv", data), ReadOptions(**options))
    bodies = list(report.verdicts())
    assert [verdict_problem(body) for body in bodies] == [None] * len(bodies)
    return report, bodies


def verdicts(text: str | bytes, **options: Any) -> list[Any]:
    """The verdicts alone."""
    return table(text, **options)[1]


def refusal(text: str | bytes, **options: Any) -> str:
    """The one line that a table is refused with."""
    with pytest.raises((ReportError, UsageError)) as caught:
        table(text, **options)
    line = str(caught.value)
    assert line.isprintable()
    return line


def long(*rows: Sequence[Any], columns: str = "item,judge,score") -> str:
    """A long table of rows."""
    out = io.StringIO()
    csv.writer(out).writerows([columns.split(","), *rows])
    return out.getvalue()


def lines(*rows: Mapping[str, Any]) -> str:
    """JSON Lines."""
    return "".join(json.dumps(row) + "\n" for row in rows)


def scores(body: Mapping[str, Any]) -> Any:
    """Who gave what."""
    return {juror["id"]: juror.get("score") for juror in body["jurors"]}


def damaged(data: bytes, count: int, seed: int = 7) -> Iterator[bytes]:
    """The same damage at every run: cuts, other bytes, and pieces moved or doubled."""
    chance = random.Random(seed)  # noqa: S311 - a fixed sequence, not a secret
    pieces = [b'"', b"\n", b",", b"\r", b"\0", b"\xff", b"{", b"]", b"nan", b"1e999", b"null", b";"]
    for _ in range(count):
        broken = bytearray(data)
        for _ in range(chance.randint(1, 4)):
            at = chance.randrange(len(broken) + 1)
            match chance.randrange(4):
                case 0:
                    del broken[at:]
                case 1:
                    broken[at : at + chance.randint(1, 30)] = b""
                case 2:
                    broken[at:at] = chance.choice(pieces)
                case _:
                    start = chance.randrange(len(broken) + 1)
                    broken[at:at] = broken[start : start + chance.randint(1, 40)]
        yield bytes(broken)


def check_damage(data: bytes, count: int, options: ReadOptions) -> None:
    """Whatever is damaged is a report that can be read through, or one line."""
    for broken in damaged(data, count):
        line, bodies = "", []
        try:
            bodies = list(read(Source.from_bytes("t.csv", broken), options).verdicts())
        except (ReportError, UsageError) as error:
            line = str(error)
        assert line.isprintable()
        assert [verdict_problem(body) for body in bodies] == [None] * len(bodies)
