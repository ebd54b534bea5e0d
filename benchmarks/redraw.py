"""Print how many bytes each key sends to the terminal, as ssh would carry them.

Run it as ``python benchmarks/redraw.py [REPORT ...]``. It starts the app on a pseudo-terminal of
each size with a desk of its own, presses one key after the other, waits until the terminal is
quiet, and counts. Without a report it takes two of the sample runs.
"""

from __future__ import annotations

import argparse
import fcntl
import os
import pty
import select
import struct
import subprocess
import sys
import tempfile
import termios
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
SAMPLES = [ROOT / "sample_runs" / name for name in ("support-bot.jsonl", "code-review.json")]
SIZES = ((80, 24), (160, 48), (220, 60))
QUIET = 0.4
"""Seconds without output after which a key counts as drawn."""
KEYS = (
    ("J, next item", "J"),
    ("space, next undecided", " "),
    ("K, item before", "K"),
    ("enter, deeper", "\r"),
    ("j, a line down", "j"),
    ("ctrl+d, half a page", "\x04"),
    ("ctrl+u, half a page", "\x15"),
    ("m, mark", "m"),
    ("m, unmark", "m"),
    ("c, note", "c"),
    ("esc, close the note", "\x1b"),
    ("p, label pass", "p"),
    ("u, undo", "u"),
    ("f4, calibration", "\x1bOS"),
    ("f2, queue", "\x1bOQ"),
    ("b, blind", "b"),
    ("j, a line down, blind", "j"),
    ("J, next item, blind", "J"),
    ("p, label pass, blind", "p"),
)


@dataclass
class Terminal:
    """A started app and the pseudo-terminal that it draws on."""

    process: subprocess.Popen[bytes]
    end: int

    def heard(self, patience: float = 5.0) -> int:
        """Return how many bytes come until nothing comes for a moment."""
        count, wait = 0, patience
        while select.select([self.end], [], [], wait)[0]:
            try:
                count += len(os.read(self.end, 1 << 16))
            except OSError:
                break
            wait = QUIET
        return count

    def press(self, key: str) -> int:
        """Type a key and return the bytes that it sends."""
        os.write(self.end, key.encode())
        return self.heard(1.0)


def start(report: Path, size: tuple[int, int], folder: Path) -> Terminal:
    """Open a report on a new pseudo-terminal."""
    ours, theirs = pty.openpty()
    columns, rows = size
    fcntl.ioctl(ours, termios.TIOCSWINSZ, struct.pack("HHHH", rows, columns, 0, 0))
    environment = os.environ | {
        "REVIEWDESK_DESK": str(folder / "desk.db"), "REVIEWDESK_REVIEWER": "redraw",
        "TERM": "xterm-256color", "COLORTERM": "truecolor", "HOME": str(folder),
        "REVIEWDESK_CONFIG": os.devnull,
    }  # fmt: skip
    process = subprocess.Popen(
        [sys.executable, "-m", "reviewdesk", "open", report.resolve()],
        stdin=theirs, stdout=theirs, stderr=theirs, env=environment, cwd=folder,
        start_new_session=True,
    )  # fmt: skip
    os.close(theirs)
    return Terminal(process, ours)


def measure(report: Path, size: tuple[int, int]) -> dict[str, int]:
    """Return the bytes of the opening and of each key."""
    with tempfile.TemporaryDirectory() as name:
        terminal = start(report, size, Path(name))
        try:
            found = {"opening": terminal.heard(20.0) + terminal.heard(2.0)}
            for words, key in KEYS:
                found[words] = terminal.press(key)
        finally:
            terminal.process.kill()
            terminal.process.wait()
            os.close(terminal.end)
    return found


def main() -> None:
    """Print one table for each report."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("reports", nargs="*", type=Path, default=SAMPLES)
    for report in parser.parse_args().reports:
        columns = [measure(report, size) for size in SIZES]
        heads = "".join(f"{f'{width}x{height}':>10}" for width, height in SIZES)
        print(f"{report.name:<28}{heads}")
        for words in columns[0]:
            print(f"{words:<28}" + "".join(f"{column[words]:>10,}" for column in columns))
        print()


if __name__ == "__main__":
    main()
