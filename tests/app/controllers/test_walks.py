"""Random work on hostile items: labels are given once the response was on screen, never before."""

import random
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from reviewdesk.app.controllers.exposure import ItemLayout
from reviewdesk.app.controllers.state import Notice
from reviewdesk.app.keys.actions import ACTIONS as KNOWN
from reviewdesk.app.keys.actions import GIVES_LABEL
from reviewdesk.desk.review.items import item as read_item
from reviewdesk.domain.records import Item, View
from reviewdesk.settings import Settings
from tests.app.appkit import seeds
from tests.app.builders import open_run, report, verdict
from tests.app.reviewkit import Review

SIZES = [(80, 24), (160, 48), (40, 10), (30, 8), (100, 30), (60, 12), (220, 60)]


def lines(count: int) -> str:
    return "\n".join(f"line {number}" for number in range(1, count + 1))


TEXTS: list[dict[str, Any]] = [
    {"output": None},
    {"output": ""},
    {"output": " \n \n"},
    {"output": "short", "alternative": lines(40)},
    {"output": lines(60), "alternative": "short"},
    {"output": lines(200)},
    {"output": "word " * 3000},
    {"output": "short", "input": lines(300)},
    {"output": lines(30), "input": lines(300), "reference": lines(200)},
    {"output": '{"k": [' + ",".join(f'{{"id":{n}}}' for n in range(300)) + "]}"},
    {"output": "日本語" * 400},
    {"output": "z" * 70_000},
    {"output": "\u202eabc\x00def"},
    {"output": "same", "input": "same", "case": {"test": "same"}},
    {"output": "same", "input": "same", "case": {"test": "same"}},
]
LABELS = sorted(GIVES_LABEL)
ACTIONS = [
    name
    for name, action in KNOWN.items()
    if name not in GIVES_LABEL and action.keys and not name.startswith(("quit", "theme"))
]
COMMANDS = (
    "filter label:none", "filter !label:none", "filter wrong", "filter", "order file",
    "order -id", "order draw", "go 3", "go 7",
)  # fmt: skip


class Witness:
    """What was on screen, by content and response, kept more simply than the guard does it."""

    def __init__(self) -> None:
        self.some: set[tuple[str, str]] = set()
        self.enough: set[tuple[str, str]] = set()
        self._chars: dict[tuple[object, ...], set[int]] = {}

    def saw(self, layout: ItemLayout, lines: range, height: int) -> None:
        """Take in a frame: all characters of a text are enough, and so is a frame."""
        for part in layout.responses:
            text = (layout.item, part.name)
            chars = self._chars.setdefault(text, set())
            shown = [own for at, own in enumerate(part.chars, part.first) if at in lines]
            for own in shown:
                chars.update(own)
            if shown:
                self.some.add(text)
            if len(shown) >= height or len(chars) >= part.end:
                self.enough.add(text)


@dataclass(frozen=True)
class Label:
    """A label of the log: whose, whether its response had been on screen, and how it was given."""

    verdict: str
    item: str
    seen: bool
    bulk: bool


def texts(item: Item) -> set[tuple[str, str]]:
    names = ["output"] + ["alternative"] * (item.verdict.body.get("alternative") is not None)
    return {(item.item_hash, name) for name in names}


def open_on(review: Review) -> bool:
    return review.state.where == "review" and review.state.panes.readable


class Walk:
    """A review that does something at random, and is held against a witness after each step."""

    def __init__(self, path: Path, seed: int) -> None:
        self.witness = Witness()
        self.dice = random.Random(seed)  # noqa: S311  (dice)
        body = report([verdict(i, **more) for i, more in enumerate(TEXTS, start=1)])
        self.desk, run = open_run(path / "d.db", body)
        settings = Settings(tags_after_fail=seed % 3 == 0)
        view = View(order="file", blind=bool(seed % 2))
        keys = [row[0] for row in self.desk.conn.execute("SELECT key FROM verdicts")]
        self.items = {one.item_hash: one for one in (read_item(self.desk, key) for key in keys)}
        self.review = Review(self.desk, run, view=view, settings=settings, begun=False)
        real = self.review.controller.seen.saw

        def saw(layout: ItemLayout, lines: range, top: int, height: int) -> None:
            self.witness.saw(layout, lines, height)
            real(layout, lines, top, height)

        self.review.controller.seen.saw = saw  # type: ignore[method-assign]
        self.review.controller.begin(*self.dice.choice(SIZES))
        self.review.controller.settle()
        self.review.controller.look_around()
        self.review.after()

    def labels(self) -> list[Label]:
        rows = self.desk.conn.execute(
            """SELECT verdict, lower(hex(item)), json_extract(detail, '$.seen'),
                      json_extract(detail, '$.together') IS NOT NULL
               FROM label_events WHERE kind = 'label' ORDER BY key"""
        )
        return [Label(verdict, item, seen == 1, bool(bulk)) for verdict, item, seen, bulk in rows]

    def step(self) -> None:
        review, core, given = self.review, self.review.controller, self.labels()
        item, open_ = review.session.item, not review.dialogs and review.state.where == "review"
        seen = item is not None and texts(item) <= self.witness.enough
        may = seen and open_ and review.state.panes.readable
        if open_:
            core.notices["review"] = Notice()
        pressed = self._do()
        more = self.labels()[len(given) :]
        for one in more:
            # Only what was read says so. Labels of a selection may be unread; no other is.
            assert one.seen <= (texts(self.items[one.item]) <= self.witness.some)
            assert one.seen or one.bulk
        if more and not more[0].bulk:
            assert item is not None
            assert [one.verdict for one in more] == [item.verdict.id]
        elif pressed in GIVES_LABEL and may:
            # The witness looks at responses; the head of a long input must be seen as well.
            assert "seen enough" not in review.notice or "The input" in review.notice
            assert "went on to the right" not in review.notice

    def _do(self) -> str:
        review, dice = self.review, self.dice
        kind = dice.random()
        if review.dialogs:
            question = "Question" in repr(review.dialog)
            review.answer(dice.choice([True, False, None]) if question else None)
        elif kind < 0.05:
            review.resize(dice.choice(SIZES))
        elif kind < 0.12:
            item = review.session.item
            if item and open_on(review) and review.pane.layout.item == item.item_hash:
                review.scroll(dice.choice([-20, -5, 1, 3, 10, 40]))
        elif kind < 0.2:
            review.command(dice.choice(COMMANDS))
        elif kind < 0.25:
            review.choose(dice.choice(LABELS))
        elif kind < 0.4 and open_on(review):
            self._read_and_label(dice.choice(LABELS))
        else:
            name = dice.choice(LABELS if kind < 0.5 else ACTIONS)
            review.press(name, wait=dice.choice([0.05, 0.2, 0.2, 0.2]))
            return name
        return ""

    def _read_and_label(self, name: str) -> None:
        """Label as a person does: press, and read on until it counts."""
        given, item = len(self.labels()), self.review.session.item
        for _ in range(12):
            self.review.press(name, wait=0.2)
            if len(self.labels()) > given or not open_on(self.review):
                return
            self.review.press("page.down", wait=0.2)
            if self.review.session.item is not item:
                return


@pytest.mark.slow
@pytest.mark.parametrize("seed", [*range(3), *seeds(8)[3:]])
def test_no_label_before_its_response_was_on_screen(tmp_path: Path, seed: int) -> None:
    walk = Walk(tmp_path, seed)
    for _ in range(300):
        walk.step()
    assert walk.labels()
    assert walk.desk.verify().ok
