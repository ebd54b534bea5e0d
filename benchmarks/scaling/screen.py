"""Rows about the screen: the app at rest, and the keys that move."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from pathlib import Path
from statistics import median

from scaling import inputs, peers
from scaling.measure import Row, in_mb, in_ms, interleaved, quantile
from scaling.terminal import READY, on_terminal

_BARE = [sys.executable, Path(__file__).resolve().parent / "bare.py"]
PEERS: dict[str, tuple[tuple[str, ...], bytes, bytes]] = {
    "toolong": (("{lines}",), b"case-", READY),
    "visidata": (("{lines}",), b"case-", b""),
    "harlequin": (("-a", "sqlite", "{desk}"), b"Connected", READY),
}
"""Other terminal programs: their arguments, and what shows a file or desk, after what."""


def _open(desk: Path) -> list[str | Path]:
    return [sys.executable, "-m", "reviewdesk", "--desk", desk, "open"]


def _ready(
    command: Sequence[str | Path], words: bytes, folder: Path, after: bytes = READY
) -> float:
    with on_terminal(command, folder) as started:
        return started.rested(words, after)


def rows(folder: Path, small: int, most: int, rounds: int, *, fetch: bool) -> Iterator[Row]:
    """Start on desks of two sizes, and move on the larger one."""
    desks = {size: inputs.desk(folder, size) for size in (small, most)}
    others = {name: peers.program(folder, name, fetch=fetch) for name in PEERS}
    places = {"lines": inputs.lines(folder, small), "desk": desks[small]}
    works: dict[str, Callable[[], float]] = {
        "bare": lambda: _ready(_BARE, b"here it is", folder),
        **{
            str(size): lambda desk=desk: _ready(_open(desk), b"case-", folder)
            for size, desk in desks.items()
        },
    }
    for name, program in others.items():
        arguments, words, after = PEERS[name]
        command = [program, *(word.format(**places) for word in arguments)]
        if isinstance(program, Path):
            try:
                _ready(command, words, folder, after)
            except (RuntimeError, OSError) as error:
                others[name] = str(error)
            else:
                works[name] = partial(_ready, command, words, folder, after)
    ready = interleaved(works, rounds)
    told = [
        f"{name} {ready[name] / ready['bare']:.1f}x" if name in ready else f"{name} {program}"
        for name, program in others.items()
    ]
    beside = f"a bare Textual app: {in_ms(ready['bare'])}; {', '.join(told)}"
    yield Row("app at rest after the start", "<= 2x", _ratios(ready, desks), beside)
    yield _keys(folder, desks[most], most, rounds)


def _ratios(found: dict[str, float], desks: dict[int, Path]) -> str:
    return ", ".join(f"{found[str(n)] / found['bare']:.2f}x at {n:,}" for n in desks)


def _keys(folder: Path, desk: Path, count: int, rounds: int) -> Row:
    with on_terminal(["cat"], folder) as echo:
        echoed = median(echo.answer(b"j", 0.01) for _ in range(50))
    middles, ends = [], []
    with on_terminal(_open(desk), folder) as app:
        app.rested(b"case-", READY)
        app.press(b"\x1bOQ")
        for _ in range(rounds):
            taken = [app.answer(key) for key in [b"J"] * 15 + [b"K"] * 10 + [b"J"] * 15]
            middles.append(median(taken))
            ends.append(quantile(taken, 0.99))
        memory = app.memory()
    return Row(
        f"`j`/`k` on {count:,} rows, to the first output", "p50 <= 5 ms, p99 <= 16 ms, <= 60 MB",
        f"{in_ms(median(middles))}, {in_ms(median(ends))}, {in_mb(memory)}",
        f"the terminal's echo: {in_ms(echoed)}",
    )  # fmt: skip
