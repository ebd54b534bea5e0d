"""Files that are damaged or built to exhaust: each must end as a sentence, soon and in bounds."""

from __future__ import annotations

import json
import os
import random
import subprocess
import sys
import time
import zipfile
from collections import deque
from collections.abc import Callable, Iterator
from pathlib import Path

from scaling.measure import ROOT

from reviewdesk.errors import ReviewDeskError
from reviewdesk.reports import Source, read
from reviewdesk.reports.labels.reader import read_labels, read_scores
from reviewdesk.reports.panels.cases_file import read_cases
from reviewdesk.reports.panels.panel_file import read_panel
from reviewdesk.reports.suites.suite import read_suite
from tests.helpers import SAMPLES
from trusting.rows import FaultRow, environment

FORMATS = ROOT.parent / "shared" / "formats"
LARGEST = 150_000
"""Bytes of the largest file that is mutated; more of it would only take longer."""

SECONDS, MEMORY = 2.0, 300_000_000
_KILO = 1024 if sys.platform != "darwin" else 1


def rows(folder: Path, mutants: int, seed: int = 1) -> Iterator[FaultRow]:
    """Open mutated files of every kind, then bombs."""
    yield _mutated(folder, mutants, random.Random(seed))
    found = {name: _opened(folder, name, make) for name, make in BOMBS.items()}
    slow = {name: one for name, one in found.items() if one[0] > SECONDS or one[1] > MEMORY}
    unclear = [name for name, one in found.items() if not one[2]]
    most = max(one[0] for one in found.values()), max(one[1] for one in found.values())
    yield FaultRow(
        f"{len(found)} bombs ({', '.join(found)})",
        f"each an error in {SECONDS:g} s of CPU and {MEMORY / 1e6:.0f} MB",
        f"at most {most[0]:.1f} s and {most[1] / 1e6:.0f} MB"
        + (f"; over: {', '.join(slow)}" if slow else "")
        + (f"; no error: {', '.join(unclear)}" if unclear else ""),
        not slow and not unclear,
        ("shell", "import"),
    )


def samples() -> list[Path]:
    """Return the sample files of every kind that can be mutated."""
    found = [*SAMPLES.iterdir(), *(FORMATS.rglob("*") if FORMATS.exists() else ())]
    return sorted(one for one in found if one.is_file() and one.stat().st_size <= LARGEST)


def mutated(data: bytes, dice: random.Random) -> bytes:
    """Return a file with a few of its bytes changed, cut, doubled or made special."""
    changed = bytearray(data)
    special = (
        b"\x00", b"\xff\xfe", b"NaN", b"1e999", b"-1", b'"', b"{", b"]", b"\x1b[2J", b"null",
        b"9" * 30, b"[" * 200, b"\\ud800", b"\r", b",", b"\xed\xa0\x80", b"&a ", b"*a", b"<<: ",
    )  # fmt: skip
    for _ in range(dice.choice([1, 1, 2, 5, 20])):
        at = dice.randrange(len(changed) + 1)
        size = dice.choice([1, 1, 4, 100])
        kind = dice.randrange(5)
        if kind == 0:
            changed[at : at + size] = dice.randbytes(size)
        elif kind == 1:
            del changed[at : at + size]
        elif kind == 2:
            changed[at:at] = dice.choice(special)
        elif kind == 3:
            changed[at:at] = changed[at : at + size]
        elif dice.random() < 0.3:
            del changed[at:]
    return bytes(changed)


def opened(path: Path, dice: random.Random) -> None:
    """Read a file as a report and as something else; ReviewDeskError is an answer."""
    given = Source.from_path(path)
    others: list[Callable[[], object]] = [
        lambda: read_labels(given), lambda: read_scores(given),
        lambda: deque(read_cases(given), 0),
    ]  # fmt: skip
    if path.suffix in {".yaml", ".yml", ".toml"}:
        others = [lambda: read_panel(path), lambda: read_suite(str(path))]
    for reader in (lambda: deque(read(given).verdicts(), 0), dice.choice(others)):
        try:
            reader()
        except ReviewDeskError:
            continue


def _mutated(folder: Path, mutants: int, dice: random.Random) -> FaultRow:
    kinds = [(one.suffix or ".json", one.read_bytes()) for one in samples()]
    faults: dict[str, int] = {}
    slowest = 0.0
    for place in range(mutants):
        suffix, data = kinds[place % len(kinds)]
        path = folder / f"mutant{suffix}"
        path.write_bytes(mutated(data, dice))
        began = time.monotonic()
        try:
            opened(path, dice)
        except Exception as fault:  # noqa: BLE001 - any is a finding
            faults[type(fault).__name__] = faults.get(type(fault).__name__, 0) + 1
            (folder / f"fault-{place}{suffix}").write_bytes(path.read_bytes())
        slowest = max(slowest, time.monotonic() - began)
    told = ", ".join(f"{count} {name}" for name, count in faults.items()) or "0 faults"
    return FaultRow(
        f"{mutants:,} mutated reports and labels files, from {len(kinds)} samples",
        "0 tracebacks, none over 5 s",
        f"{told}, the slowest {slowest:.1f} s",
        not faults and slowest < 5,
        ("library", "import"),
    )


def _zip(path: Path) -> None:
    """Write an archive whose member is large, in pieces: a child's memory begins at ours."""
    with (
        zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive,
        archive.open("header.json", "w", force_zip64=True) as member,
    ):
        member.write(b'{"a": "')
        for _ in range(200):
            member.write(b"x" * 1_000_000)


def _sparse(path: Path) -> None:
    with path.open("wb") as file:
        file.truncate(2 << 30)


def _writes(data: Callable[[], bytes]) -> Callable[[Path], None]:
    return lambda path: path.write_bytes(data()) and None


BOMBS: dict[str, Callable[[Path], None]] = {
    "depth.json": _writes(lambda: b"[" * 1_000_000),
    "keys.json": _writes(lambda: b"{" + b",".join(b'"k%d":0' % n for n in range(400_000)) + b"}"),
    "width.json": _writes(
        lambda: b'{"schema":"reviewdesk.report/1","verdicts":[' + b"{}," * 200_000
    ),
    "archive.eval": _zip,
    "aliases.yaml": _writes(
        lambda: b"a: &a [x]\n" + b"".join(
            b"%c: &%c [%s]\n" % (n, n, b",".join([b"*%c" % (n - 1)] * 9)) for n in range(98, 120)
        )
    ),
    "line.jsonl": _writes(lambda: json.dumps({"id": "x", "output": "y" * 10_000_000}).encode()),
    "large.json": _sparse,
}  # fmt: skip


def _opened(folder: Path, name: str, make: Callable[[Path], None]) -> tuple[float, int, bool]:
    """Return the seconds and bytes that a bomb took, and whether it ended as an error."""
    path = folder / name
    make(path)
    with (folder / "said.txt").open("w+") as said:
        process = subprocess.Popen(
            [sys.executable, "-m", "reviewdesk", "ingest", str(path)], env=environment(folder),
            cwd=folder, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=said,
        )  # fmt: skip
        _, status, used = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)
        said.seek(0)
        clean = process.returncode == 2 and "a fault in" not in said.read()
    path.unlink()
    return used.ru_utime + used.ru_stime, used.ru_maxrss * _KILO, clean
