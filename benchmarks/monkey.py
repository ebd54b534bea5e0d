"""Press random keys, resize and paste against the real app, then hold the label log against them.

Run it as ``python benchmarks/monkey.py --minutes 45 --seed 1``. It starts the app on a
pseudo-terminal with a desk of its own. At the end every label in the log must be one that a label
key gave, in the order of the keys, the desk must verify, and no run may have ended by a fault.
"""

from __future__ import annotations

import argparse
import fcntl
import os
import pty
import random
import select
import signal
import sqlite3
import struct
import subprocess
import sys
import tempfile
import termios
import time
from dataclasses import dataclass, field
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
SAMPLES = (
    "support-bot.jsonl",
    "support-bot-second-panel.jsonl",
    "release-notes.json",
    "code-review.json",
    "hostile.json",
)
LABELS = {
    "p": ("pass", 0), "1": ("pass", 0), "P": ("pass", 1),
    "f": ("fail", 0), "2": ("fail", 0), "F": ("fail", 1),
    "i": ("unsure", 0), "3": ("unsure", 0), "I": ("unsure", 1),
}  # fmt: skip
Pressed = list[tuple[str, int] | None]
"""The label keys in their order; ``None`` is a key that may have given any label."""
FUNCTION = ["\x1bOQ", "\x1bOR", "\x1bOS", "\x1b[15~", "\x1b1", "\x1b2", "\x1b3", "\x1b4"]
ARROWS = ["\x1b[A", "\x1b[B", "\x1b[C", "\x1b[D", "\x1b[5~", "\x1b[6~", "\x1b[H", "\x1b[F"]
OTHERS = [*" \t\r\x1b\x7f", *"jkJKgGhlszwxubrdcmtnN@y|[]o\\/?:U", "\x10", "\x04", "\x15", "\x12"]
PASTES = [
    "pfi",
    "esc label:none\npppp",
    "q" * 40,
    "\x1b[31m[red]",
    "p" * 3000,
    "日本語 f",
    ":quit\r",
]
TYPED = ["refund", "esc", "label:none", "score<.6", "go 3", "tag tone", "theme desk-light", "42"]
SIZES = [(80, 24), (160, 48), (140, 40), (100, 30), (40, 10), (30, 8), (1, 1), (220, 60)]


@dataclass
class Session:
    """One start of the app: its process, its terminal, and the label keys that were pressed."""

    process: subprocess.Popen[bytes]
    terminal: int
    output: bytearray = field(default_factory=bytearray)

    def drain(self, seconds: float = 0.0) -> bool:
        """Read what was drawn; false once the app has gone."""
        until = time.monotonic() + seconds
        while select.select([self.terminal], [], [], max(0.0, until - time.monotonic()))[0]:
            try:
                self.output += os.read(self.terminal, 65536)
            except OSError:
                return False
            del self.output[:-200_000]
        return self.process.poll() is None

    def send(self, text: str) -> bool:
        """Type; false once the app has gone. A full terminal is drained, never waited for."""
        data = text.encode()
        while data:
            if not self.drain():
                return False
            if select.select([], [self.terminal], [], 0.5)[1]:
                try:
                    data = data[os.write(self.terminal, data[:512]) :]
                except OSError:
                    return False
        return True

    def resize(self, columns: int, rows: int) -> None:
        """Change the terminal's size."""
        fcntl.ioctl(self.terminal, termios.TIOCSWINSZ, struct.pack("HHHH", rows, columns, 0, 0))
        self.process.send_signal(signal.SIGWINCH)


def start(folder: Path) -> Session:
    """Open the desk on a new pseudo-terminal."""
    ours, theirs = pty.openpty()
    os.set_blocking(ours, False)
    fcntl.ioctl(ours, termios.TIOCSWINSZ, struct.pack("HHHH", 24, 80, 0, 0))
    environment = os.environ | {
        "REVIEWDESK_DESK": str(folder / "desk.db"), "REVIEWDESK_REVIEWER": "monkey",
        "TERM": "xterm-256color", "HOME": str(folder), "XDG_CACHE_HOME": str(folder / "cache"),
        "REVIEWDESK_CONFIG": os.devnull, "COLORTERM": "truecolor",
    }  # fmt: skip
    files = [str(ROOT / "sample_runs" / name) for name in SAMPLES]
    process = subprocess.Popen(
        [sys.executable, "-m", "reviewdesk", "--debug", "open", *files],
        stdin=theirs, stdout=theirs, stderr=theirs, env=environment, cwd=folder,
        start_new_session=True, pass_fds=(),
    )  # fmt: skip
    os.close(theirs)
    session = Session(process, ours)
    deadline = time.monotonic() + 30
    while b"RESPONSE" not in session.output and time.monotonic() < deadline:
        if not session.drain(0.2):
            break
    return session


def press(session: Session, dice: random.Random, pressed: Pressed) -> bool:
    """One random thing; label keys are written down in their order."""
    kind = dice.random()
    if kind < 0.02:
        session.resize(*dice.choice(SIZES))
        return session.drain()
    if kind < 0.03:
        return session.send(f"\x1b[200~{dice.choice(PASTES)}\x1b[201~")
    if kind < 0.05:
        text = dice.choice(TYPED)
        for letter in text:
            pressed += [LABELS[letter]] if letter in LABELS else []
        return session.send(text)
    if kind < 0.20:
        # Half of them as a person would give them: after a look at the item.
        if dice.random() < 0.5 and not session.drain(0.25):
            return False
        key = dice.choice(list(LABELS))
        pressed.append(LABELS[key])
        if not session.send(key) or dice.random() < 0.5:
            return session.drain()
        # The first press may have brought the response on screen, and asked for another.
        pressed.append(LABELS[key])
        return session.drain(0.25) and session.send(key)
    if kind < 0.25:
        return session.send(dice.choice(FUNCTION))
    if kind < 0.40:
        return session.send(dice.choice(ARROWS))
    if kind < 0.402:
        return session.send(dice.choice(["q", "\x11", "\x18"]))
    other = dice.choice(OTHERS)
    # It may be the answer to whether a label that was chosen by name is given.
    pressed += [None] if other == "y" else []
    return session.send(other)


def given(folder: Path) -> list[tuple[str, int]]:
    """The labels in the log, in their order."""
    conn = sqlite3.connect(folder / "desk.db")
    try:
        rows = conn.execute(
            "SELECT label, tentative FROM label_events WHERE kind = 'label' ORDER BY key"
        )
        return [(row[0], row[1]) for row in rows]
    finally:
        conn.close()


def strays(labels: list[tuple[str, int]], pressed: Pressed) -> int:
    """How many labels no key gave: those that do not follow, in order, from the keys."""
    keys, missing = iter(pressed), 0
    for label in labels:
        missing += not any(key in (None, label) for key in keys)
    return missing


def main() -> int:
    """Press until the time is over, then judge."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--minutes", type=float, default=45)
    parser.add_argument("--seed", type=int, default=1)
    options = parser.parse_args()
    dice = random.Random(options.seed)
    pressed: Pressed = []
    count = starts = faults = 0
    with tempfile.TemporaryDirectory() as name:
        folder, end = Path(name), time.monotonic() + 60 * options.minutes
        while time.monotonic() < end:
            session, starts = start(folder), starts + 1
            alive = True
            while alive and time.monotonic() < end:
                alive, count = press(session, dice, pressed), count + 1
                if dice.random() < 0.1:
                    alive = session.drain(dice.choice([0.02, 0.16, 0.3])) and alive
            if alive:
                session.send("\x1b\x1b")
                session.drain(1.0)
                session.send("\x11")
            faults += finish(session)
            os.close(session.terminal)
        wrong = strays(given(folder), pressed)
        verified = subprocess.run(
            [sys.executable, "-m", "reviewdesk", "--desk", folder / "desk.db", "desk", "verify"],
            check=False, env=os.environ | {"REVIEWDESK_CONFIG": os.devnull},
        ).returncode  # fmt: skip
        print(
            f"seed {options.seed}: {count} presses, {starts} starts, {len(pressed)} label keys, "
            f"{len(given(folder))} labels, {wrong} without a key, {faults} faults, "
            f"verify {verified}"
        )
        return int(bool(wrong or faults or verified))


def finish(session: Session) -> int:
    """Wait for the end; whether it was a fault, whose last words are then shown."""
    deadline = time.monotonic() + 30
    while session.process.poll() is None and time.monotonic() < deadline:
        session.drain(0.1)
    session.drain(0.2)
    code = session.process.poll()
    if code == 0:
        return 0
    session.process.kill()
    session.process.wait()
    print(f"ended with {code}: {bytes(session.output[-6000:])!r}")
    return 1


if __name__ == "__main__":
    sys.exit(main())
