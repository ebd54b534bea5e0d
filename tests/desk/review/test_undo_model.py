"""Undo and redo against a model: a stack of what stands and a stack of what was taken back."""

import tempfile
from dataclasses import dataclass, field
from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, precondition, rule

from reviewdesk.desk.core import Desk
from reviewdesk.desk.labels import transfer
from reviewdesk.desk.labels.transfer import import_labels
from reviewdesk.desk.review import edits
from reviewdesk.desk.review.filters import known_tags
from reviewdesk.domain.records import Truth
from reviewdesk.store import events
from reviewdesk.store.queue import RunLabels
from tests.helpers import Clock, label_row, load, mark, open_desk, report, tag, verdict

ITEMS = ("a", "b", "c", "twin of c")
CONTENT = {"a": "a", "b": "b", "c": "c", "twin of c": "c"}
REVIEWERS = ("ann", "ben")
AUTHORS = ("ann", "ben", "cara")

reviewers = st.sampled_from(REVIEWERS)
items = st.sampled_from(ITEMS)
truths = st.sampled_from((Truth.PASS, Truth.FAIL, Truth.UNSURE))
tags = st.lists(st.sampled_from(("x", "y", "z")), max_size=2, unique=True).map(tuple)


@dataclass
class Said:
    """One event of an action."""

    kind: str
    content: str
    author: str
    label: Truth | None = None
    note: str | None = None
    tags: tuple[str, ...] | None = None
    on: bool | None = None
    imported: bool = False


@dataclass
class Action:
    """What one undo takes back; ``number`` is its place among all actions of the desk."""

    number: int
    said: list[Said]


@dataclass
class Stacks:
    """One reviewer's own actions."""

    done: list[Action] = field(default_factory=list)
    undone: list[Action] = field(default_factory=list)


class UndoRedo(RuleBasedStateMachine):
    """Two reviewers with a connection each, one desk, and the model beside it."""

    def __init__(self) -> None:
        super().__init__()
        # Files are imported in more than one batch.
        self.rows, transfer.BATCH = transfer.BATCH, 2
        self.folder = tempfile.TemporaryDirectory()
        self.path = Path(self.folder.name) / "desk.db"
        self.clock = Clock()
        self.desks: dict[str, Desk] = {name: self.opened(name) for name in REVIEWERS}
        shared = verdict("c")
        twin = {**verdict("twin of c"), **{key: shared[key] for key in ("input", "output")}}
        self.run = load(self.desks["ann"], report(verdict("a"), verdict("b"), shared, twin))
        self.keys = {name: self.desks["ann"].find(self.run, name) for name in ITEMS}
        self.stacks = {name: Stacks() for name in REVIEWERS}
        self.queue = self.desks["ann"].queue(self.run, "", "file")
        self.number, self.loaded = 0, False

    def opened(self, reviewer: str) -> Desk:
        return open_desk(self.path, reviewer, self.clock)

    def teardown(self) -> None:
        transfer.BATCH = self.rows
        for desk in self.desks.values():
            assert desk.verify().ok
            desk.close()
        self.folder.cleanup()

    def acted(self, reviewer: str, *said: Said) -> None:
        self.number += 1
        stacks = self.stacks[reviewer]
        stacks.done.append(Action(self.number, list(said)))
        stacks.undone.clear()

    def standing(self) -> list[Said]:
        """What was not undone, in order; what a file says of a person gives way to the person."""
        actions = [action for stacks in self.stacks.values() for action in stacks.done]
        actions.sort(key=lambda action: action.number)
        said = [said for action in actions for said in action.said]
        return sorted(said, key=lambda one: not one.imported)

    def labels(self) -> dict[tuple[str, str], Said]:
        return {(s.content, s.author): s for s in self.standing() if s.kind == "label"}

    def tagged(self) -> dict[tuple[str, str], tuple[str, ...]]:
        return {(s.content, s.author): s.tags for s in self.standing() if s.tags is not None}

    @rule(who=reviewers, item=items, truth=truths, note=st.sampled_from([None, "n"]), more=tags)
    def label(
        self, who: str, item: str, truth: Truth, note: str | None, more: tuple[str, ...]
    ) -> None:
        content = CONTENT[item]
        every = (*self.tagged().get((content, who), ()), *more)
        event = self.desks[who].label(self.keys[item], truth, note=note, tags=more)
        assert (event.label, event.reviewer, event.verdict) == (truth, who, item)
        new = tuple(dict.fromkeys(every)) if more else None
        self.acted(who, Said("label", content, who, truth, note, new))

    @rule(who=reviewers, item=items, text=st.sampled_from(["x", "y", ""]))
    def note(self, who: str, item: str, text: str) -> None:
        self.desks[who].note(self.keys[item], text)
        self.acted(who, Said("note", CONTENT[item], who, note=text))

    @rule(who=reviewers, item=items)
    def defer(self, who: str, item: str) -> None:
        self.desks[who].defer(self.keys[item])
        self.acted(who, Said("defer", CONTENT[item], who))

    @rule(who=reviewers, item=items, wanted=tags)
    def tag(self, who: str, item: str, wanted: tuple[str, ...]) -> None:
        held = self.tagged().get((CONTENT[item], who), ())
        event = tag(self.desks[who], self.keys[item], wanted)
        assert (event is None) == (set(wanted) == set(held))
        if event is not None:
            self.acted(who, Said("tags", CONTENT[item], who, tags=wanted))

    @rule(who=reviewers, item=items, on=st.booleans())
    def mark(self, who: str, item: str, on: bool) -> None:
        mark(self.desks[who], self.keys[item], on)
        self.acted(who, Said("mark", CONTENT[item], who, on=on))

    @rule(who=reviewers, item=items)
    def reveal(self, who: str, item: str) -> None:
        """Seeing the panel's answer is nothing to undo, and takes no redo away."""
        edits.Edit("reveal", self.keys[item])(self.desks[who])

    @rule(
        who=reviewers,
        rows=st.lists(
            st.tuples(items, st.sampled_from(AUTHORS), truths, tags), min_size=1, max_size=4
        ),
    )
    def batch(self, who: str, rows: list[tuple[str, str, Truth, tuple[str, ...]]]) -> None:
        held = {place: said.label for place, said in self.labels().items()}
        fresh: dict[tuple[str, str], Said] = {}
        conflicts = 0
        for item, author, truth, given in rows:
            place = (CONTENT[item], author)
            before = held.get(place)
            if before is None and place not in fresh:
                fresh[place] = Said(
                    "label", CONTENT[item], author, truth, tags=given or None, imported=True
                )
            conflicts += (before or fresh[place].label) is not truth
        done = import_labels(self.desks[who], self.run, [label_row(*row) for row in rows])
        assert (done.rows, done.new, done.conflicts) == (len(rows), len(fresh), conflicts)
        assert done.labelled == len(rows) - conflicts
        if fresh:
            self.acted(who, *fresh.values())

    @rule(who=reviewers)
    def undo(self, who: str) -> None:
        event, stacks = self.desks[who].undo(), self.stacks[who]
        assert (event is None) == (not stacks.done)
        if event is not None:
            stacks.undone.append(stacks.done.pop())
            assert event.detail["count"] == len(stacks.undone[-1].said)

    @rule(who=reviewers)
    def redo(self, who: str) -> None:
        event, stacks = self.desks[who].redo(), self.stacks[who]
        assert (event is None) == (not stacks.undone)
        if event is not None:
            stacks.done.append(stacks.undone.pop())

    @rule(who=reviewers)
    def restart(self, who: str) -> None:
        self.desks[who].close()
        self.desks[who] = self.opened(who)

    @invariant()
    def the_views_are_the_models(self) -> None:
        conn = self.desks["ann"].conn
        name = {
            bytes.fromhex(self.desks["ann"].item(self.keys[i]).item_hash): CONTENT[i] for i in ITEMS
        }
        found = {
            (name[row["item"]], row["author"]): row["label"]
            for row in conn.execute("SELECT * FROM labels")
        }
        expected = {place: said.label for place, said in self.labels().items()}
        assert found == expected
        truths_ = {name[row["item"]]: row["truth"] for row in conn.execute("SELECT * FROM truths")}
        assert truths_ == _truths(self.labels())

    @invariant()
    def every_reviewer_sees_the_models_rows(self) -> None:
        truths_ = _truths(self.labels())
        for who, desk in self.desks.items():
            mine = [said for said in self.standing() if said.author == who]
            labelled = {said.content for said in mine if said.kind == "label"}
            own = [s for action in self.stacks[who].done for s in action.said]
            deferred = {said.content for said in own if said.kind == "defer"} - labelled
            for row in desk.rows(list(self.keys.values())):
                content = CONTENT[row.id]
                assert row.label == truths_.get(content)
                assert row.deferred == (content in deferred)
                marks = [s.on for s in own if s.content == content and s.on is not None]
                assert row.marked == bool(marks and marks[-1])
                notes = [s.note for s in own if s.content == content and s.note is not None]
                item = desk.item(row.key)
                assert item.note == ((notes[-1] or None) if notes else None)
                assert item.row.marked == row.marked
                tags_ = {author: t for (c, author), t in self.tagged().items() if c == content}
                assert item.tags == tags_.pop(who, ())
                assert set(item.other_tags) == {t for found in tags_.values() for t in found}

    @invariant()
    def the_tables_are_those_of_a_replay(self) -> None:
        for desk in self.desks.values():
            check_tables(self, desk)

    @precondition(lambda self: not self.loaded)
    @rule()
    def load_another_run(self) -> None:
        """A run with items that have labels already."""
        desk = self.desks["ben"]
        other = load(desk, report(verdict("b"), verdict("new"), verdict("a")))
        labels = _truths(self.labels())
        assert desk.progress(other).labelled == len({"a", "b"} & labels.keys())
        self.loaded = True


def check_tables(model: UndoRedo, desk: Desk) -> None:
    """The tables are those of a replay, and what follows them is what is read anew."""
    assert list(events.state_problems(desk.conn)) == []
    fresh = RunLabels(desk.conn, model.run, desk.reviewer)
    for keys in (model.queue, model.queue[:2]):
        assert desk.progress(model.run, keys) == fresh.progress(keys)
        for after in range(-1, len(keys)):
            place = fresh.next_undecided(keys, after, {})
            assert desk.next_undecided(model.run, keys, after) == place
    progress, truths_ = fresh.progress(), _truths(model.labels())
    # Progress counts contents, however many verdicts are on one.
    assert progress.labelled == len(truths_)
    assert progress.disputed == [*truths_.values()].count("disputed")
    assert set(known_tags(desk)) == {tag for found in model.tagged().values() for tag in found}


def _truths(labels: dict[tuple[str, str], Said]) -> dict[str, str]:
    said: dict[str, set[str]] = {}
    for (content, _), event in labels.items():
        said.setdefault(content, set()).add(str(event.label))
    return {c: found.pop() if len(found) == 1 else "disputed" for c, found in said.items()}


UndoRedo.TestCase.settings = settings(
    stateful_step_count=10, suppress_health_check=list(HealthCheck)
)
TestUndoRedo = pytest.mark.slow(UndoRedo.TestCase)
