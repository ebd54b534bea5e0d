"""Actions on one item: its history, other runs, copies, panes and folded texts."""

import json
from functools import cache, partial
from pathlib import Path

from msgspec.structs import replace

from reviewdesk.app.controllers.core import Core, Verb
from reviewdesk.app.controllers.queue import use
from reviewdesk.app.controllers.state import (
    FOLDS,
    LEAST,
    MOVES_AND_CLOSES,
    SCROLLS_AND_CLOSES,
    WIDE,
    Choice,
    DialogPage,
    Do,
    PageForm,
    one_page,
)
from reviewdesk.desk.review import edits, items
from reviewdesk.domain.panel.rerun import RerunResult, outcome
from reviewdesk.domain.query.filter import condition
from reviewdesk.errors import ReviewDeskError
from reviewdesk.views import queue
from reviewdesk.views.document import Document, Paragraph, Section, Text, Tone, outside
from reviewdesk.views.verdict import FIGURES, REASONS, WHAT_IF


def _history(core: Core) -> None:
    session = core.session
    item = core.item("look back at")
    if item is None:
        return
    past = item.history
    if session.hidden:
        # What others wrote, and a re-run's answers, may tell of the panel's.
        mine = [one for one in past if one.author == core.desk.reviewer]
        past = tuple(one for one in mine if one.kind not in queue.RERUNS)
    desk = core.desk

    @cache
    def results(run: str, verdict: str) -> dict[int, RerunResult]:
        """Return the results of a verdict's re-runs by their plan."""
        try:
            item = desk.item(desk.find(desk.run(run), verdict))
            records = items.of_item(desk, item)
        except ReviewDeskError:
            # The event can be shown without the verdict.
            return {}
        return {one.plan: outcome(item, one) for one in records if one.plan}

    choices = []
    for one in past[::-1]:
        found = None
        if one.run is not None and one.verdict is not None and "answered" in one.detail:
            found = results(one.run, one.verdict).get(one.detail.get("plan", 0))
        when, who = queue.given(one)
        choices.append(Choice((when, "  ", *queue.event(one, found), "  ", who), one))
    closes = frozenset({"q", "at"})
    page = DialogPage(
        "History of", MOVES_AND_CLOSES, item.verdict.id, "newest first", choices=choices,
        closes=closes, width=96,
    )  # fmt: skip
    core.ask(one_page(page), lambda _: None)


def _diff(core: Core) -> None:
    """Compare the item with its re-runs and with other runs of the same content."""
    from reviewdesk.views.comparison import comparison

    item = core.item_with_answer("compare")
    if item is None:
        return
    records = items.of_item(core.desk, item)[::-1]
    found = items.other_runs(core.desk, item.row.key)
    if not records and not found:
        core.say_here("no other loaded run judged this content")
        return
    count = len(records) + len(found)

    def read(place: int) -> DialogPage:
        halt = ""
        answers = {}
        if place < len(records):
            other = items.beside(item, records[place])
            if records[place].stopped:
                halt = f"{outcome(item, records[place]).halt} · "
        else:
            other = core.desk.item(found[place - len(records)])
            answers["f"] = condition("flip", other.run.name) or f"flip:{other.run.hash}"
        lead = (Text(halt, Tone.WARN), "with ", outside(other.run.name, 60))
        compared = comparison(item, other)
        keys = [("f", "lists what flipped")] * bool(answers) + [("n", "next")] * (count > 1)
        return DialogPage(
            "Compare",
            (*keys, *SCROLLS_AND_CLOSES),
            item.verdict.id,
            f"{place + 1} of {count}{'' if records else ' other runs'}",
            Document((Section("", (Paragraph(lead),)), *compared.sections)),
            answers=answers,
            closes=frozenset("qd"),
            width=112,
        )

    turns = {"n": 1, "tab": 1, "N": -1, "shift+tab": -1}
    form = PageForm(read, count, turns=turns)
    core.ask(form, lambda wanted: use(core, wanted) if wanted else None)


def _copy(core: Core) -> None:
    from reviewdesk.views.json import review as shapes

    item = core.item("copy")
    if item is None:
        return
    if core.session.hidden:
        shape = shapes.content(item)
    else:
        reruns = items.of_item(core.desk, item)
        shape = shapes.verdict(item, reruns)
    text = json.dumps(shape, ensure_ascii=False, indent=2)
    core.requests.append(Do("copy", text))
    path = edits.keep_copy(text, "copied.json")
    also = "" if path is None else f"; also in {path}".replace(str(Path.home()), "~", 1)
    core.say(f"copied, {len(text):,} characters of JSON{also}", Tone.NOTE)


def _rerun(core: Core) -> None:
    # It imports what asks the jurors, which is slow.
    from reviewdesk.app.controllers import rerun

    rerun.open_dialog(core)


# panes

_STEP = 4
"""The columns by which one key press widens or narrows a pane."""
JURY = FIGURES | {REASONS}


def _shift(core: Core, by: int, *, around: bool = False) -> None:
    if by < 0 and not around and core.session.chosen:
        core.review.choose(frozenset())
    elif name := core.panes.beside(by, around=around):
        core.choose_pane(name)
    elif by > 0:
        _unfold_jury(core)


def _zoom(core: Core) -> None:
    panes = core.panes
    if not panes.wide and not panes.zoomed:
        core.say("the pane fills the screen already", Tone.MUTED)
    else:
        core.arrange(replace(panes, zoomed=not panes.zoomed))


def enter_pane(core: Core, name: str) -> None:
    panes = core.panes
    if name in panes.names and not panes.alone and name != panes.current:
        core.choose_pane(name)


def _resize(core: Core, by: int) -> None:
    """Widen or narrow the pane with the keys; the item takes from the jury, then the queue."""
    panes = core.panes
    if panes.alone:
        why = "it is zoomed" if panes.wide else f"from {WIDE} columns on panes stand side by side"
        core.say_here(f"the pane has the whole screen: {why}")
        return
    name = taken = panes.current
    columns = panes.columns
    if name == "item":
        can_give = "jury" in columns and (by < 0 or columns["jury"] > LEAST["jury"])
        by = -by
        taken = "jury" if can_give else "queue"
    core.arrange(panes.sized(taken, columns[taken] + by))


def drag(core: Core, name: str, column: int) -> None:
    """Move the rule at the left of the pane ``name`` to a column of the screen."""
    panes = core.panes
    if panes.alone:
        return
    if name == "item":
        core.arrange(panes.sized("queue", column))
    elif panes.answer:
        core.arrange(panes.sized("jury", panes.width - 1 - column))


# texts


def _unfold_jury(core: Core) -> None:
    """Show every reason and figure of the jury, or fold them again where they are in view."""
    if core.session.hidden:
        reveal = core.keys.first("reveal")
        core.say_here(f"the panel's answer is hidden until you label; {reveal} reveals it")
        return
    opened = core.reading.open_sections
    beside = not core.panes.alone or core.panes.current == "jury"
    folds = beside and opened >= JURY
    if not beside:
        core.choose_pane("jury")
    core.reading = replace(core.reading, open_sections=opened - JURY if folds else opened | JURY)
    core.say("the jury in short" if folds else "the jury in full", Tone.MUTED)


def what_if(core: Core) -> None:
    """Show what other rules decide of the item, or fold it again."""
    if core.item_with_answer("apply other rules to") is None:
        return
    opened = core.reading.open_sections
    folds = WHAT_IF in opened and core.panes.current == "jury"
    opened = opened - {WHAT_IF} if folds else opened | {WHAT_IF}
    core.reading = replace(core.reading, open_sections=opened)
    if not folds:
        core.choose_pane("jury")
        core.requests.append(Do("jump", WHAT_IF.upper()))


def _unfold_texts(core: Core) -> None:
    """Show folded kinds of text whole, on this and other items; if none is folded, fold all."""
    item = core.session.item
    opened = core.reading.open_sections
    found = frozenset() if item is None else core.seen.folded(item)
    if not found and not opened & FOLDS:
        core.say_here("no text folds here")
        return
    core.reading = replace(core.reading, open_sections=opened | found if found else opened - FOLDS)
    core.say("long texts are shown whole" if found else "long texts fold", Tone.MUTED)


VERBS: dict[str, Verb] = {
    "history": _history,
    "diff": _diff,
    "copy.json": _copy,
    "rerun": _rerun,
    "deeper": partial(_shift, by=1),
    "shallower": partial(_shift, by=-1),
    "pane.next": partial(_shift, by=-1, around=True),
    "pane.previous": partial(_shift, by=1, around=True),
    "pane.wider": partial(_resize, by=_STEP),
    "pane.narrower": partial(_resize, by=-_STEP),
    "pane.default": lambda core: core.arrange(replace(core.panes, queue=None, jury=None)),
    "zoom": _zoom,
    "jury.whole": _unfold_jury,
    "unfold": _unfold_texts,
    "part.next": lambda core: core.requests.append(Do("jump", 1)),
    "part.previous": lambda core: core.requests.append(Do("jump", -1)),
}
