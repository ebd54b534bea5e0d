"""The selection: verdicts that are labelled together, which one undo takes back."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

from msgspec.structs import replace

from reviewdesk.app.controllers.core import READ_ONLY, Core
from reviewdesk.app.controllers.labels import TRUTHS, LabelController, label_name
from reviewdesk.app.controllers.requests import QuestionForm
from reviewdesk.app.controllers.work.outbox import Write
from reviewdesk.app.keys.actions import GIVES_LABEL
from reviewdesk.desk.review import exposure
from reviewdesk.desk.review.edits import Edit
from reviewdesk.domain.query.places import place_of
from reviewdesk.domain.records import Item, Truth
from reviewdesk.settings import Feedback
from reviewdesk.views.document import Tone

MOST = 1000
"""The most verdicts that are labelled together, so that the desk is locked for a moment only."""


class SelectionController:
    """Selects verdicts. While any are selected, a label is given to them instead of the item."""

    def __init__(
        self, core: Core, labelled: Callable[[], None], failed: Callable[[Item], None]
    ) -> None:
        """Act on ``core``; the rest is what a label of a single item calls."""
        self._core, self._labels = core, LabelController(core, labelled, failed)
        self._read: set[int] = set()
        """Those of the selected whose response had been on screen."""
        self._last = 0

    @property
    def verbs(self) -> dict[str, Callable[[], None]]:
        """The methods that carry out this controller's actions, and the labels, by action id."""
        one = self._labels.verbs
        return one | {
            "select": self._turn,
            "select.range": self._range,
            "select.all": self._all,
            **{name: partial(self._label, name, one[name]) for name in GIVES_LABEL},
        }

    def confirm(self, name: str) -> None:
        """Ask before giving a label that was chosen by name instead of by its key."""
        self._label(name, partial(self._labels.confirm, name))

    # which are selected

    def _turn(self) -> None:
        """Select the current item, or take it out, and go to the next one."""
        core, chosen = self._core, self._core.session.chosen
        item = core.item("select")
        if item is None:
            return
        key = self._last = item.row.key
        if key not in chosen and core.panes.readable and core.seen.unseen(item) is None:
            self._read.add(key)
        self._choose(chosen ^ {key})
        if core.review.step(1):
            core.show()

    def _range(self) -> None:
        """Select from the item that ``v`` was pressed on last to the current one."""
        session = self._core.session
        if not self._core.review.when_whole(self._range):
            return
        last = place_of(session.keys, self._last)
        if last is None or session.index is None or not session.chosen:
            key = self._core.keys.first("select")
            self._core.say_here(f"select the first item with {key}, and then go to the last one")
            return
        first, end = sorted((last, session.index))
        self._choose(session.chosen.union(session.keys[first : end + 1]))

    def _all(self) -> None:
        """Select all of the queue, or none if all are selected."""
        session = self._core.session
        if self._core.review.when_whole(self._all):
            whole = len(session.chosen) == len(session.keys)
            # A selection that is too large is refused by its size.
            self._choose(frozenset() if whole else frozenset(session.keys[: MOST + 1]))

    def _choose(self, keys: frozenset[int]) -> None:
        core = self._core
        if len(keys) > MOST:
            text = f"at most {MOST:,} can be labelled together: filter the queue first"
            core.say(text, Tone.WARN)
            return
        core.review.choose(keys)
        self._read &= keys
        to, every, none = map(core.keys.first, ("select.range", "select.all", "shallower"))
        more = f"{to} to here, {every} all shown, {none} none"
        core.say(f"{len(keys):,} selected: {more}" if keys else "nothing is selected")

    # their label

    def _label(self, name: str, single: Callable[[], None]) -> None:
        """Ask before labelling what is selected; if nothing is, label the item."""
        core, chosen = self._core, self._core.session.chosen
        if not chosen:
            single()
        elif core.desk.read_only:
            core.say(READ_ONLY, Tone.FAIL)
        else:
            # An item that came back is labelled again by itself.
            keys = [key for key in core.session.keys if key in chosen]
            keys = [key for key in keys if core.review.repeats.of(key) is None]
            if keys:
                core.ask(self._question(name, keys), partial(self._answered, name, keys))
            else:
                core.say("the selected items came back: label each by itself", Tone.WARN)

    def _question(self, name: str, keys: list[int]) -> QuestionForm:
        """Return what to ask before a label is given to many."""
        core = self._core
        had = sum(row.decided for row in core.review.rows(keys))
        unread = len(keys) - len(self._read.intersection(keys))
        reasons = (
            f"{had:,} of them have a label already." * bool(had),
            f"{unread:,} have not been read, which their labels say." * bool(unread),
            f"{core.keys.first('undo')} takes all back at once.",
        )
        what = f"{len(keys):,} verdict{'s' * (len(keys) != 1)}"
        return QuestionForm(f"Label {what} {label_name(name)}?", " ".join(filter(None, reasons)))

    def _answered(self, name: str, keys: list[int], answer: bool | None) -> None:
        """Save the labels as one action of the desk, and go on behind them."""
        core = self._core
        if not answer:
            return
        kind, _, word = name.partition(".")
        edits = [self._edit(key, TRUTHS[word], kind == "tentative", len(keys)) for key in keys]
        act = replace(edits[0], view=core.review.view(), others=tuple(edits[1:]))
        text = f"{label_name(name)}, {len(keys):,} verdicts"
        first = core.review.item(keys[0])
        write = Write(
            act, partial(self._saved, text), name=text, item=first, labels=True, decides=True,
            skips=frozenset(keys),
        )  # fmt: skip
        core.review.choose(frozenset())
        self._read.clear()
        core.outbox.put(write)
        core.review.refresh()
        here = core.session.item
        if here is None or here.row.key in keys or here.row.decided:
            core.review.next_undecided()
        core.recalibrate()
        core.show(rows=True)
        core.say(f"{text}; {core.keys.first('undo')} takes them back")

    def _edit(self, key: int, truth: Truth, tentative: bool, together: int) -> Edit:
        """Return the label of one verdict. One that was not read by itself is not given blind."""
        core, session = self._core, self._core.session
        facts: dict[str, object] = {"blind": False, "seen": key in self._read, "together": together}
        if session.view.blind:
            facts["told"] = session.feedback is Feedback.AFTER
            if key in self._read and not exposure.was_seen(core.desk, key):
                facts["blind"] = core.review.exposure.is_blind(session, core.review.item(key))
        return Edit("label", key, facts, truth, tentative)

    def _saved(self, text: str, _event: object) -> None:
        core = self._core
        core.review.session = replace(core.session, progress=core.review.progress())
        core.mark(f"saved ✓ {text}")
