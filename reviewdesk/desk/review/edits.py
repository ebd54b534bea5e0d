"""What a reviewer stores on a desk: events, drafts, choices and what was seen."""

import os
import re
from collections.abc import Callable, Collection, Mapping, Sequence
from datetime import datetime
from pathlib import Path
from typing import Any

from msgspec import Struct, field
from msgspec.structs import replace

from reviewdesk.desk.protocol import OpenFile
from reviewdesk.desk.review import items
from reviewdesk.domain.labels.chain import AGENT
from reviewdesk.domain.records import SUGGESTION, Event, Item, Truth, View
from reviewdesk.domain.tags import normal_tags
from reviewdesk.errors import Cancelled, DeskError, UsageError, reason
from reviewdesk.file_output import may_write, whole_file
from reviewdesk.store import events, reviewers, verdicts
from reviewdesk.store.connect import writing
from reviewdesk.store.events import NewEvent
from reviewdesk.store.load.hidden_runs import LockPace

ONCE = "once"
"""The fact of an event that names the edit it was made by, so that no edit is saved twice."""


class Edit(Struct, frozen=True):
    """One edit of the item of the verdict ``key``; calling it saves it in one transaction.

    ``more_tags`` are added to the item's, ``view`` is on screen after it, ``others`` are saved and
    taken back with it, and the item of the verdict ``claim``, if any, is then the only claimed one.
    """

    kind: str
    key: int
    facts: Mapping[str, object] = field(default_factory=dict)
    label: Truth | None = None
    more_tags: Sequence[str] = ()
    view: View | None = None
    others: Sequence["Edit"] = ()
    claim: int | None = None

    def __call__(self, desk: OpenFile) -> Event | None:
        """Save the edit and return its event; ``None`` if the item has these tags already."""
        with writing(desk.conn, hashed=self.view is not None):
            run, placed = self.placed(desk)
            if (before := saved(desk, placed)) is not None:
                return before
            replaces = self.kind == "tags" and "added" not in self.facts
            if replaces and set(placed.detail["tags"]) == set(items.own_tags(desk, placed)):
                return None
            if self.view is not None:
                reviewers.save_view(desk.conn, run, desk.reviewer, self.view)
            entries = {placed.item: placed}
            once = {name: value for name, value in self.facts.items() if name == ONCE}
            for other in self.others:
                _, entry = replace(other, facts={**other.facts, **once}).placed(desk)
                # Verdicts of the same content share their label.
                entries.setdefault(entry.item, entry)
            done = events.append(desk.conn, desk.reviewer, [*entries.values()])
            if self.claim is not None:
                now = desk.clock()
                held = reviewers.claim(desk.conn, desk.reviewer, self.claim, now)
                done = replace(done, held=held)
        desk.heard(done)
        return done.events[0]

    def placed(self, desk: OpenFile) -> tuple[int, NewEvent]:
        entry = NewEvent(self.kind, desk.at(), label=self.label, detail=self.facts)
        return items.about(desk, self.key, entry, self.more_tags)


def with_key(facts: Mapping[str, object]) -> dict[str, object]:
    return {ONCE: os.urandom(12).hex(), **facts}


def saved(desk: OpenFile, entry: NewEvent) -> Event | None:
    once = entry.detail.get(ONCE)
    if once is None or entry.item is None:
        return None
    past = events.history(desk.conn, entry.item)
    mine = (event for event in past if event.reviewer == desk.reviewer)
    return next((event for event in mine if event.detail.get(ONCE) == once), None)


def tags(key: int, wanted: Sequence[str], added: Sequence[str] | None = None) -> Edit:
    """Return the edit that replaces the reviewer's tags; ``added`` are recorded in any case."""
    facts = {"tags": list(normal_tags(wanted))}
    if added is not None:
        facts["added"] = list(normal_tags(added))
    return Edit("tags", key, facts)


DEFERRED = 2
"""How often a reviewer defers an item before closing it without an answer."""


def may_close(desk: OpenFile, item: Item) -> bool:
    mine = (event for event in item.history if event.reviewer == desk.reviewer)
    return sum(event.kind == "defer" and not event.undone for event in mine) >= DEFERRED


def closing(key: int, **more: Any) -> Edit:
    """Return the edit that closes an item without an answer: a label ``unsure`` that says so."""
    view = more.pop("view", None)
    return Edit("label", key, {"closed": True, **more}, Truth.UNSURE, view=view)


def mark(key: int, on: bool) -> Edit:
    return Edit("mark", key, {"on": on})


def note(key: int, text: str, added: str | None = None) -> Edit:
    """Return the edit that writes a note, ``added`` since the item came back; empty removes it."""
    return Edit("note", key, {"note": text} if added is None else {"note": text, "added": added})


class Turn(Struct, frozen=True):
    """An undo or redo of the reviewer's newest action; ``facts`` are kept in its event."""

    kind: str
    facts: Mapping[str, object] = field(default_factory=dict)

    def __call__(self, desk: OpenFile) -> Event | None:
        """Undo or redo it, or its import's first batch; ``None`` if there is nothing."""
        with writing(desk.conn):
            find = events.next_undo if self.kind == "undo" else events.next_redo
            action = find(desk.conn, desk.reviewer)
            return None if action is None else _turn(desk, self.kind, action, self.facts)

    def fits(self, desk: OpenFile, last: str, keys: frozenset[str]) -> bool:
        """Return True if the reviewer made only the edits with these keys since ``last``."""
        since = events.actions_after(desk.conn, desk.reviewer, last)
        return since is not None and keys.issuperset(since) and self.facts[ONCE] not in since


def is_import(desk: OpenFile, done: Event) -> bool:
    return events.import_of(desk.conn, desk.reviewer, done.target or 0) is not None


def rest(
    desk: OpenFile, done: Event, progress: Callable[[float], bool] = lambda _share: True
) -> Event:
    """Undo or redo the other batches of an import, each by itself; return an event of all."""
    batches = events.batches(desk.conn, desk.reviewer, done.target or 0)
    count = done.detail["count"]
    pace = LockPace()
    for place, action in enumerate(reversed(batches) if done.kind == "undo" else batches):
        if not progress(place / len(batches)):
            raise Cancelled(f"the {done.kind} was stopped")
        with pace.timed(), writing(desk.conn):
            if events.is_undone(desk.conn, desk.reviewer, action) is (done.kind == "redo"):
                count += _turn(desk, done.kind, action).detail["count"]
        pace.turn()
    return replace(done, detail={"was": f"import of {count} labels", "count": count})


def whole(desk: OpenFile, kind: str) -> Event | None:
    done = Turn(kind)(desk)
    return rest(desk, done) if done is not None and is_import(desk, done) else done


def _turn(
    desk: OpenFile, kind: str, action: int, facts: Mapping[str, object] | None = None
) -> Event:
    first, count = events.of_action(desk.conn, desk.reviewer, action)
    was = f"{first.kind} {first.label}" if first.label else first.kind
    if count > 1:
        was = f"import of {count} labels" if first.detail.get("imported") else f"{count} labels"
    elif first.kind == "mark":
        was = "mark" if first.detail["on"] else "unmark"
    elif first.kind == "tags":
        was = f"tags {', '.join(first.detail['tags']) or 'cleared'}"
    entry = NewEvent(
        kind,
        desk.at(),
        run=first.run,
        verdict=first.verdict,
        item=bytes.fromhex(first.item_hash) if first.item_hash else None,
        detail={"was": was, "count": count, **(facts or {})},
        target=action,
    )
    return events.append(desk.conn, desk.reviewer, [entry]).events[0]


def hurry(desk: OpenFile, seconds: float) -> None:
    desk.conn.patience = seconds


def write_at(desk: OpenFile, act: Callable[[Any], Any], at: datetime) -> Any:
    """Carry out a write whose events say that they were made ``at`` this time."""
    clock = desk.clock
    desk.clock = lambda: at
    try:
        return act(desk)
    finally:
        desk.clock = clock


def same_items(desk: OpenFile, item: Item) -> frozenset[int]:
    """Return the verdicts of the run with an item's content: they share their label."""
    if item.same_content == 1:
        return frozenset({item.row.key})
    found = verdicts.keys_of_item(desk.conn, item.run.key, bytes.fromhex(item.item_hash))
    return frozenset(found.values())


LONGEST_NAME = 80
LONGEST_NOTE = 4000


def check_agent(name: str) -> None:
    if not name.strip() or len(name) > LONGEST_NAME:
        problem = f"the agent's name has {len(name)} characters"
        raise UsageError(problem, f"Give it 1 to {LONGEST_NAME}.")


def suggest(desk: OpenFile, key: int, truth: Truth, note: str | None, agent: str) -> Event:
    """Append an agent's suggestion to the log; nothing counts it, and no undo takes it back."""
    check_agent(agent)
    if note is not None and len(note) > LONGEST_NOTE:
        raise UsageError(
            f"the note has {len(note):,} characters", f"Write at most {LONGEST_NOTE:,}."
        )
    detail = {"agent": agent, "beside": desk.reviewer, **({"note": note} if note else {})}
    entry = NewEvent(SUGGESTION, desk.at(), label=truth, detail=detail)
    with writing(desk.conn):
        _, placed = items.about(desk, key, entry)
        return events.append(desk.conn, AGENT, [placed]).events[0]


def kept(desk: OpenFile) -> dict[str, Any]:
    try:
        return reviewers.kept(desk.conn, desk.reviewer)
    except DeskError:
        return {}


def keep(desk: OpenFile, values: Mapping[str, Any]) -> None:
    """Store values by name, if the desk can be written; ``None`` deletes what was kept."""
    if not desk.read_only:
        with writing(desk.conn):
            reviewers.keep(desk.conn, desk.reviewer, values)


_CAME_BACK = re.compile("\x1e[0-9]+\x1e")
"""Separates, in a stored draft, the text from before an item came back from the later text."""


def draft(desk: OpenFile, key: int, since: int = 0) -> str | None:
    """Return the reviewer's unfinished note on a content, or what was written after ``since``."""
    kept = reviewers.draft(desk.conn, key, desk.reviewer)
    if kept is not None and since:
        kept = kept.partition(_mark(since))[2]
    return _CAME_BACK.sub("\n\n", kept).strip("\n") or None if kept else None


class NoteDraft(Struct, frozen=True):
    """An unfinished note on a verdict; calling it stores it, and an empty text deletes it."""

    key: int
    text: str
    since: int = 0

    def __call__(self, desk: OpenFile) -> None:
        text = self.text
        with writing(desk.conn):
            if self.since:
                kept = reviewers.draft(desk.conn, self.key, desk.reviewer) or ""
                mark = _mark(self.since)
                text = kept.partition(mark)[0] + (mark + text if text else "")
            reviewers.save_draft(desk.conn, self.key, desk.reviewer, text)

    def is_stored(self, desk: OpenFile) -> bool:
        return self.text in (draft(desk, self.key, self.since) or "")

    def add(self, desk: OpenFile) -> None:
        """Append the text to one written in the meantime, or replace one that it continues."""
        stored = draft(desk, self.key, self.since) or ""
        if not self.is_stored(desk):
            new = stored and not self.text.startswith(stored)
            replace(self, text=f"{stored}\n\n{self.text}" if new else self.text)(desk)


def _mark(since: int) -> str:
    return f"\x1e{since}\x1e"


def keep_seen(desk: OpenFile, keys: Collection[int]) -> None:
    """Record that the reviewer saw the panel's answers on these contents, if that can be saved."""
    if keys and not desk.read_only:
        with writing(desk.conn):
            reviewers.save_seen(desk.conn, keys, desk.reviewer)


def was_seen(desk: OpenFile, key: int) -> bool:
    return reviewers.was_seen(desk.conn, key, desk.reviewer)


def keep_copy(text: str) -> Path | None:
    """Write the text to a private file and return its path; ``None`` in a browser's console."""
    from platformdirs import user_cache_path

    if not may_write():
        return None
    path = user_cache_path("reviewdesk", appauthor=False) / "copied.json"
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        with whole_file(path, replace=True, private=True) as file:
            file.write(text.encode("utf-8", "backslashreplace"))
    except OSError as error:
        hint = "The text may still be on the clipboard."
        raise DeskError(f"{path}: {reason(error)}", hint) from error
    return path
