"""Press random keys, click, resize and paste in the real app, then hold the label log against it.

Run it as ``python benchmarks/monkey.py --minutes 45 --seed 1``. It starts the app on a
pseudo-terminal with a desk of its own. At the end every label in the log must be one that a label
key gave, in the order of the keys, the desk must verify, and no run may have ended by a fault.
"""

from __future__ import annotations

import argparse
import os
import random
import sqlite3
import sys
import tempfile
import time
from contextlib import closing
from dataclasses import dataclass, field
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from trusting.console import Console, start
from trusting.rows import is_whole, report

from reviewdesk.desk.core import Desk
from reviewdesk.domain.records import Truth
from tests.app.terminal.test_input import MALFORMED

ROOT = Path(__file__).resolve().parent.parent
REVIEWER = "monkey"
SAMPLES = (
    "support-bot.jsonl",
    "support-bot-second-panel.jsonl",
    "release-notes.json",
    "code-review.json",
    "hostile.json",
)
MANY = 3000
"""The verdicts of a run that no session labels to its end."""
LABELS = {
    "p": "pass", "1": "pass",
    "f": "fail", "2": "fail",
    "i": "unsure", "3": "unsure",
}  # fmt: skip
Pressed = list[str | None]
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
TYPED = ["refund", "esc", "label:none", "score<.6", "go 3", "theme desk-light", "42"]
SIZES = [(80, 24), (160, 48), (140, 40), (100, 30), (40, 10), (30, 8), (1, 1), (220, 60)]


@dataclass
class Session:
    """The desk of one run of keys: its dice, and the label keys that were pressed."""

    folder: Path
    dice: random.Random
    pressed: Pressed = field(default_factory=list)
    meant: int = 0
    labelled: int = 0

    def start(self) -> Console:
        """Open the samples on a new pseudo-terminal."""
        files = [ROOT / "sample_runs" / name for name in SAMPLES]
        report(self.folder, MANY)
        return start(self.folder, *files, reviewer=REVIEWER)

    def press(self, app: Console) -> bool:  # noqa: C901 - a branch for each thing
        """Do one random thing; label keys are written down in their order. False at the end."""
        dice, kind = self.dice, self.dice.random()
        if kind < 0.02:
            app.resize(*dice.choice(SIZES))
            return app.drain()
        if kind < 0.03:
            return app.send(f"\x1b[200~{dice.choice(PASTES)}\x1b[201~".encode())
        if kind < 0.05:
            text = dice.choice(TYPED)
            self.pressed += [LABELS[letter] for letter in text if letter in LABELS]
            return app.send(text.encode())
        if kind < 0.22:
            return self.label(app)
        if kind < 0.24:
            return self.click(app)
        if kind < 0.25:
            # What is left of a sequence that was dropped may be read as a digit, a label key.
            self.pressed += [None, None]
            return app.send(dice.choice(MALFORMED)) and app.drain(0.05)
        if kind < 0.26:
            return self.wait_behind_another(app)
        if kind < 0.28:
            key = dice.choice(list(LABELS))
            self.pressed.append(LABELS[key])
            return app.send(key.encode())
        if kind < 0.33:
            return app.send(dice.choice(FUNCTION).encode())
        if kind < 0.45:
            return app.send(dice.choice(ARROWS).encode())
        if kind < 0.452:
            return app.send(dice.choice([b"q", b"\x11", b"\x18"]))
        other = dice.choice(OTHERS)
        # It may be the answer to whether a label that was chosen by name is given.
        self.pressed += [None] if other == "y" else []
        return app.send(other.encode())

    def label(self, app: Console) -> bool:
        """Label as a person does: read to the end of the response, and press until it counts."""
        before, key = len(given(self.folder)), self.dice.choice(list(LABELS))
        self.meant += 1
        app.resize(*self.dice.choice([(80, 24), (160, 48)]))
        for _ in range(3):
            # Two at once would be one key with alt; dialogs may lie upon each other.
            if not (app.send(b"\x1b") and app.drain(0.15)):
                return False
        if not any(word in app.shown() for word in ("tell  ", "RESPONSE")):
            # The queue is done, or shows nothing: there is a run with more than can be labelled.
            app.send(b":")
            app.drain(0.3)
            app.send(b"open report.json\r")
            app.drain(0.7)
        for _ in range(14):
            self.pressed.append(LABELS[key])
            if not (app.send(key.encode()) and app.drain(0.25)):
                return False
            if len(given(self.folder)) > before:
                self.labelled += 1
                break
            app.send(self.dice.choice([b" ", b"\x1b[6~"]))
            app.drain(0.2)
        return app.drain()

    def click(self, app: Console) -> bool:
        """Press and release a button of the mouse, or turn its wheel, somewhere."""
        at = f"{self.dice.randrange(1, 100)};{self.dice.randrange(1, 40)}"
        button = self.dice.choice([0, 0, 0, 2, 64, 65])
        # A hint in the footer that is clicked does what its key does.
        self.pressed += [None] if button == 0 else []
        return app.send(f"\x1b[<{button};{at}M\x1b[<{button};{at}m".encode())

    def wait_behind_another(self, app: Console) -> bool:
        """Press label keys while another process holds the lock, or has just written."""
        if self.dice.random() < 0.5:
            with closing(Desk.open(self.folder / "desk.db", reviewer="another")) as desk:
                run = desk.run()
                desk.label(self.dice.choice(list(desk.queue(run))), Truth.PASS)
            return app.drain()
        with closing(sqlite3.connect(self.folder / "desk.db", isolation_level=None)) as other:
            other.execute("BEGIN IMMEDIATE")
            for key in self.dice.choices(list(LABELS), k=3):
                self.pressed.append(LABELS[key])
                app.send(key.encode())
                app.drain(0.2)
            other.execute("ROLLBACK")
        return app.drain()


def given(folder: Path) -> list[str]:
    """The labels in the log, in their order."""
    conn = sqlite3.connect(folder / "desk.db")
    try:
        rows = conn.execute(
            "SELECT label FROM label_events WHERE kind = 'label' AND reviewer = ? ORDER BY key",
            (REVIEWER,),
        )
        return [row[0] for row in rows]
    finally:
        conn.close()


def strays(labels: list[str], pressed: Pressed) -> int:
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
    with tempfile.TemporaryDirectory() as name:
        return worked(Session(Path(name), random.Random(options.seed)), 60 * options.minutes)


def worked(session: Session, seconds: float) -> int:
    """Press for so long, then hold the log against the keys; 1 if anything is wrong."""
    count = starts = faults = 0
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        app, starts, alive = session.start(), starts + 1, True
        while alive and time.monotonic() < end:
            alive, count = session.press(app), count + 1
            if session.dice.random() < 0.1:
                alive = app.drain(session.dice.choice([0.02, 0.16, 0.3])) and alive
        faults += finish(app)
    labels = given(session.folder)
    wrong, whole = strays(labels, session.pressed), is_whole(session.folder)
    meant = f"{session.labelled} of {session.meant} items labelled that were meant to be"
    log = f"the log is {'' if whole else 'not '}whole"
    print(
        f"{count} presses, {starts} starts, {len(session.pressed)} label keys, {len(labels)} labels"
        f" given, {meant}, {wrong} without a key, {faults} faults, {log}"
    )
    return int(bool(wrong or faults or not whole))


def finish(app: Console) -> int:
    """Close the app as a person does; whether it ended by a fault, whose words are then shown."""
    deadline = time.monotonic() + 30
    while app.process.poll() is None and time.monotonic() < deadline:
        app.send(b"\x1b\x1b\x11")
        app.drain(1.0)
    code = app.process.poll()
    if code == 0:
        os.close(app.terminal)
        return 0
    app.kill()
    print(f"ended with {code}: {bytes(app.output[-6000:])!r}")
    return 1


if __name__ == "__main__":
    sys.exit(main())
