"""Real files with padding between their tokens or in a foreign key: the same is read of them."""

import random
import re
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import pytest

from reviewdesk.reports import Source, read
from reviewdesk.reports.bytes.strict_json import failing
from reviewdesk.reports.bytes.window import CHUNK
from reviewdesk.reports.bytes.zip_archive import ZipArchive
from tests.helpers import SHARED
from tests.reports.inspectkit import STORED, archive
from tests.reports.pieces import PieceSource

FORMATS = SHARED / "formats"
FILES = [
    path
    for path in sorted(FORMATS.glob("*/*"))
    if path.suffix in {".json", ".jsonl", ".eval"} and path.parent.name != "broken"
]
TEXTS = [path for path in FILES if path.suffix != ".eval"]
TEXTS += FORMATS.glob("tables/long.csv")
pytestmark = pytest.mark.skipif(not FILES, reason="the shared files are not here")

TOKEN = re.compile(r'"(?:[^"\\]|\\.)*"|[-+.\w]+|[\[\]{},:]')
OPEN = re.compile(
    r'"(?:meta|metadata|usage|response|stats|config|eval|hyperparameters|summary)"\s*:\s*\{(?=\s*")'
    r'|^\{(?=\s*")',
    re.MULTILINE,
)
"""Behind these a key may stand that no reader knows: in free data and beside known keys."""


@dataclass(frozen=True)
class Text:
    """One JSON text of a file, which is the file itself or a member of an archive."""

    name: str
    text: str
    ends: tuple[int, ...]
    """Where its tokens end."""
    opens: tuple[int, ...]
    """Where a key may be put in."""


def _text(name: str, text: str) -> Text:
    ends = tuple(found.end() for found in TOKEN.finditer(text))
    return Text(name, text, ends[:-1], tuple(found.end() for found in OPEN.finditer(text)))


@cache
def _texts(path: Path) -> tuple[Text, ...]:
    if path.suffix != ".eval":
        return (_text("", path.read_text()),)
    source = Source.from_path(path)
    with source.open_raw() as stream:
        packed = ZipArchive(stream, failing(source), source.max_size)
        return tuple(_text(name, packed.open(name).read().decode()) for name in packed.names)


def _outcome(path: Path, changed: Text, text: str) -> tuple[Any, ...]:
    data = text.encode()
    if path.suffix == ".eval":
        members = {one.name: one.text.encode() for one in _texts(path)}
        data = archive({**members, changed.name: data}, STORED)
    report = read(Source.from_bytes(path.name, data))
    return report.format, report.header, list(report.verdicts()), report.notes


def _blanks(chance: random.Random, lines: bool, size: int) -> str:
    return "".join(chance.choices(" \t" if lines else " \t\r\n", k=64)) * (size // 64) + " " * (
        size % 64
    )


def _early(chance: random.Random, places: tuple[int, ...]) -> int:
    """A place, rather one with much of the text behind it."""
    return min(chance.choice(places), chance.choice(places))


def _padded(path: Path, chance: random.Random) -> tuple[Text, str, str | None]:
    """A text with padding, and the one that must be read the same, if it is not the file's own."""
    text = chance.choice(_texts(path))
    lines = path.suffix == ".jsonl"
    if text.opens and chance.random() < 0.3:
        at = _early(chance, text.opens)
        size = chance.randint(13, CHUNK)
        before, behind = text.text[:at], text.text[at:]
        long = ("".join(chance.choices("ab 1.5e-", k=64)) * (size // 64 + 1))[:size]
        return text, f'{before}"padding":"{long[13:]}",{behind}', f'{before}"padding":"a",{behind}'
    at = _early(chance, text.ends)
    blanks = _blanks(chance, lines, chance.randint(1, CHUNK))
    return text, text.text[:at] + blanks + text.text[at:], None


def _check(path: Path, count: int) -> None:
    chance = random.Random(path.name)  # noqa: S311 - a fixed sequence, not a secret
    first = _texts(path)[0]
    own = _outcome(path, first, first.text)
    for _ in range(count):
        changed, padded, same = _padded(path, chance)
        expected = own if same is None else _outcome(path, changed, same)
        assert _outcome(path, changed, padded) == expected


@pytest.mark.slow
@pytest.mark.parametrize("path", TEXTS, ids=lambda path: path.name)
def test_bytes_that_come_in_pieces_change_nothing(path: Path) -> None:
    chance = random.Random(path.name)  # noqa: S311 - a fixed sequence, not a secret
    data = path.read_bytes()
    whole = read(Source.from_bytes(path.name, data))
    expected = list(whole.verdicts()), whole.notes
    for most in (700, 120_000):
        sizes = [chance.randint(1, most) for _ in range(500)]
        report = read(PieceSource.of(path.name, data, sizes))
        assert (list(report.verdicts()), report.notes) == expected


@pytest.mark.slow
@pytest.mark.parametrize("path", FILES, ids=lambda path: path.name)
def test_padding_changes_nothing(path: Path) -> None:
    _check(path, 6)
