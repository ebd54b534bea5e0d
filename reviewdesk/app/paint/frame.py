"""Painters for the lines around the panes, and for pages in the place of an item."""

from collections.abc import Callable, Mapping, Sequence

from rich.cells import cell_len
from textual.content import Content

from reviewdesk.app.controllers.state import Criterion, ReasonsLine, Session
from reviewdesk.app.keys.actions import Keymap
from reviewdesk.app.paint.document import document_lines, section_lines
from reviewdesk.app.paint.styled import (
    Lines,
    Piece,
    clickable,
    clip,
    clip_middle,
    cut,
    cut_below,
    cut_words,
    flow,
    inline,
    line,
    paragraph,
)
from reviewdesk.app.widgets.queue_list import label_mark
from reviewdesk.desk.figures.strip import Strip
from reviewdesk.domain.panel.asking import LiveProgress
from reviewdesk.domain.panel.rerun import OpenRerun
from reviewdesk.domain.records import (
    Blocker,
    Calibration,
    Design,
    Item,
    Metrics,
    Pace,
    labels_missing,
)
from reviewdesk.settings import Feedback
from reviewdesk.views import words
from reviewdesk.views.document import (
    Block,
    Document,
    Flow,
    Gap,
    Paragraph,
    Section,
    Text,
    Tone,
    outside,
)
from reviewdesk.views.panel import live_text
from reviewdesk.views.queue import (
    done_texts,
    figures_wait,
    strata_text,
    strip_line,
    time_texts,
    waits,
)
from reviewdesk.views.verdict import headline
from reviewdesk.views.words import number, plural

_SAVED = "saved ✓"
_LEAST_SAVED = 10
"""The least cells in which the beginning and the end of what was saved are useful."""
_LEAD = 4
_FACTS = 38
"""The least cells of the run's name, and those of the facts that are always in view."""
_NAME = 12
_ASKS = 20
"""The least cells in which an id, and the beginning of a rubric, are useful."""
_HEADER_TONES = {"kept": Tone.WARN, "jobs": Tone.NOTE, "both": Tone.MUTED}


def header_line(
    session: Session, saved: str, jobs: str, pace: Pace | None, page: str, width: int
) -> Content:
    """Return the first line: what is done and left of the run and, at the right, what was saved.

    ``page`` names the screen that covers the review, if any. Where room is short, facts are
    shortened or left out, the least needed first. The mark that something was saved is never cut.
    """
    progress = session.progress
    view = session.view
    saved = inline(saved) or (_SAVED if progress.labelled else "")
    name = page or inline(session.run.name)
    least = max(_LEAD, min(cell_len(name), width - _FACTS, cell_len(page) or width // 5))
    done, done_short = done_texts(progress)
    time, minutes = time_texts(progress, pace)
    kept = "" if page or not view.filter else clip(inline(view.filter), max(8, width // 5))
    facts = {
        "name": clip(inline(session.run.name), 24) if page else "",
        "mode": "blind" if view.blind else "open",
        "done": done,
        "kept": kept and f"filter {kept}",
        "time": time,
        "order": "" if page or view.order == "draw" else f"order {inline(view.order)}",
        "jobs": clip(jobs, max(8, width // 4)),
        "both": "" if page or view.blind else strata_text(progress),
    }
    # Each step goes on from the one before.
    for shorter in (
        {}, {"both": ""}, {"name": ""}, {"order": ""}, {"done": done_short, "jobs": ""},
        {"time": minutes}, {"kept": ""}, {"time": ""},
    ):  # fmt: skip
        facts |= shorter
        taken = least + sum(3 + cell_len(text) for text in facts.values() if text)
        room = width - taken - 4
        if room >= min(cell_len(saved), width // 6):
            break
    # What the facts leave free goes to what was saved, and then to the name.
    free = max(0, room - cell_len(saved))
    tones = _HEADER_TONES | ({"mode": Tone.NOTE} if view.blind else {})
    pieces: list[Piece | str] = [(f" {clip(name, least + free, lead=not page)}", Tone.STRONG)]
    for what, text in facts.items():
        pieces += [(" · ", Tone.MUTED), (text, tones.get(what, Tone.TEXT))] if text else []
    # Neither the mark nor the count of waiting writes is cut.
    mark = _SAVED if saved.startswith(_SAVED) else saved
    rest = saved.removeprefix(mark)
    room -= free + cell_len(mark)
    rest = clip_middle(rest, room) if room >= min(cell_len(rest), _LEAST_SAVED) else ""
    tone = Tone.PASS if mark == _SAVED else Tone.WARN
    right = line((f"  {mark}{rest} ", tone)) if saved else Content("")
    left = cut(line(*pieces), max(0, width - right.cell_length))
    return cut(left.pad_right(width - left.cell_length - right.cell_length) + right, width)


def blockers(session: Session, found: Strip) -> Sequence[Blocker]:
    """Return the items that labels wait for; a blind session cannot know, and names none."""
    return () if session.view.blind else found.blockers


def strip_lines(session: Session, found: Strip, key: str, width: int) -> Lines:
    """Return the figures and, if labels wait, what to decide; a blind session uses ``alone``."""
    if found.answer is None or (session.view.blind and session.withheld):
        lines = [figures_line(session, found.calibration, found.alone, width)]
    else:
        lines = [_words_line(strip_line(found.answer, blind=session.view.blind), width)]
    if waiting := blockers(session, found):
        before, name, after = waits(waiting)[0]
        here = session.item is not None and session.item.verdict.id == name
        press = f" {key} " if key and not here else " "
        room = max(_NAME, width - cell_len(press + before + after))
        text = before + ("this item" if here else clip_middle(inline(name), room)) + after
        told = line((press, Tone.KEY), (text, Tone.WARN))
        lines.append(clickable(cut(told, width), "blocker"))
    return lines


def figures_line(
    session: Session, figures: Calibration | None, alone: Metrics | None, width: int
) -> Content:
    """Return the labels, and figures once they mean something; a blind session uses ``alone``."""
    blind = session.view.blind
    if blind and session.withheld:
        when = "when the queue is done" if session.feedback is Feedback.END else "are kept back"
        return _words_line(f"{session.progress.labelled} labels · the figures {when}", width)
    found = given = alone
    if not blind:
        found, given = (figures.headline, figures.labelled) if figures else (None, None)
    if found is None or given is None:
        return _words_line("…", width)
    design = Design.AD_HOC if blind or figures is None else figures.design
    done = session.progress
    missing = design is not Design.CENSUS and labels_missing(given.n, done.verdicts - done.labelled)
    if not given.n or missing:
        text = figures_wait(done, given.n)
        # A number that is cut would be read as a smaller one.
        have, _, more = text.partition(" · ")
        texts = text, f"{have.partition(' (')[0]} · {more}", more
        return _words_line(next((one for one in texts if cell_len(one) < width), more), width)
    facts = [("accuracy", found.accuracy)]
    if found.specificity is not None and (found.tn or found.fp):
        facts.append(("false passes", 1 - found.specificity))
    pieces: list[Piece] = [(f" {plural(found.n, 'label')}", Tone.HEAD)]
    for name, value in facts:
        pieces += [(f" · {name} ", Tone.MUTED), (number(value), Tone.TEXT)]
    # A blind session does not know the groups of the draw.
    whole = line(*pieces, (f" · {'labels alone' if blind else words.DESIGNS[design]}", Tone.NOTE))
    while whole.cell_length > width and pieces:
        whole = line(*pieces)
        del pieces[-2:]
    return cut(whole, width)


def _words_line(text: str, width: int) -> Content:
    return cut(line((f" {text}", Tone.MUTED)), width)


def footer_line(hints: Mapping[str, str], key: Callable[[str], str], width: int) -> Content:
    """Return the most important keys that fit, and help; a click does what a key does."""

    def hint(name: str, shown: str, word: str) -> Content:
        return clickable(line((f" {shown}", Tone.KEY), (word, Tone.MUTED)), name)

    shown = [name for name in hints if name != "help" and key(name)][:_MOST]
    helps = ["help"] if "help" in hints else []
    wide = [hint(name, key(name), f" {hints[name]} ") for name in (*shown, *helps)]
    if sum(one.cell_length for one in wide) <= width:
        return Content("").join(wide)
    rest = [hint(name, key(name), "") for name in helps]
    room = width + 1 - sum(one.cell_length for one in rest)
    for enter in ("enter", "↵"):
        names = {name: key(name).replace("enter", enter) for name in shown}
        kept = [hint(name, text, f" {hints[name]}") for name, text in names.items()]
        if sum(one.cell_length for one in kept) <= room:
            break
    while kept and sum(one.cell_length for one in kept) > room:
        kept.pop()
    return cut(Content("").join([*kept, *rest])[1:], width)


_MOST = 5


def status_lines(text: str, ink: str, width: int) -> Lines:
    """Return the latest event, or what a reviewer should know, in at most three lines.

    What a key says of the item on screen takes one: more would hide the lines that it scrolled to.
    """
    if ink not in {Tone.FAIL, Tone.NOTE}:
        return [cut(line((f" {text}", ink)), width)]
    return cut_below(paragraph(text, width, ink, first=[(" ", "")], indent=1), 3, width)


def reasons_lines(line_: ReasonsLine | None, width: int) -> Lines:
    """Return the line of reasons: the item's name, and each tag behind its digit."""
    if line_ is None:
        return []
    groups = [
        line(("Reasons for ", Tone.HEAD), (clip(inline(line_.name), 30, lead=0), Tone.STRONG))
    ]
    for digit, tag in enumerate(line_.offered, 1):
        mark, ink = ("✓", Tone.PASS) if tag in line_.tags else (" ", Tone.TEXT)
        groups.append(line((str(digit), Tone.KEY), (f"{mark}{inline(tag)}", ink)))
    others = [inline(tag) for tag in line_.tags if tag not in line_.offered]
    groups += [line((f"also {', '.join(others)}", Tone.MUTED))] if others else []
    keys = ("t", Tone.KEY), (" a new one  ", Tone.MUTED), ("esc", Tone.KEY), (" closes", Tone.MUTED)
    groups.append(line(*keys))
    return [line(" ") + row for row in flow(groups, max(1, width - 2), 2)]


def criteria_lines(criteria: Sequence[Criterion], asks: str, width: int) -> Lines:
    """Return the criteria of the response in view with their labels, and the current rubric."""
    if not criteria:
        return []
    groups = [line(("CRITERIA", Tone.HEAD))]
    for one in criteria:
        name = clip(inline(one.name), 30)
        shown = (f"▶{name}", Tone.STRONG) if one.current else (name, Tone.TEXT)
        groups.append(line(shown, " ", label_mark(one.row)))
    lines = flow(groups, max(1, width - 2), 2)
    room = width - 2 - lines[-1].cell_length - 3
    # The rubric of a criterion without one is its name.
    told = any(one.current and one.name == asks for one in criteria)
    if asks and not told and room >= _ASKS:
        lines[-1] += line("   ") + cut_words(line((inline(asks), Tone.MUTED)), room)
    return [line(" ") + row for row in lines]


def verdict_lines(item: Item | None, width: int) -> Lines:
    """Return the line of verdict that stands above an item, however far its texts are scrolled."""
    drawn = [] if item is None else section_lines(Section("", headline(item)), max(1, width - 2))
    return [line(" ") + row for row in drawn]


def asking_lines(asking: OpenRerun | None, width: int) -> Lines:
    if asking is None:
        return []
    far = live_text(asking.progress or LiveProgress(cases=len(asking.keys)))
    text = f" asking again: {far}{' · stopping' if asking.stopping else ''}"
    return [cut(line((text, Tone.NOTE)), width)]


def title_line(name: str, note: str, width: int, *, focused: bool) -> Content:
    """Return a pane's title. The focused pane has a mark, so that colour is not the only sign."""
    mark = "▶" if focused else " "
    ink = Tone.STRONG if focused else Tone.MUTED
    return cut(line((f"{mark}{name}", ink), (f"  {note}" if note else "", Tone.MUTED)), width)


def done_lines(session: Session, found: Strip, keymap: Keymap, width: int) -> Lines:
    """Return the page of a finished queue: what is done, what is open, what to do next.

    What the numbers say is on the line of figures below it.
    """
    what = "in this filter" if session.view.filter else "in this queue"
    progress = session.progress
    done = {"labelled": f"{progress.labelled} of {progress.verdicts}"}
    if not session.view.blind:
        done["flagged"] = f"{progress.flagged_done} of {progress.flagged}"
        done["random check"] = f"{progress.audit_done} of {progress.audit}"
    done["deferred"] = str(progress.deferred)
    done["can't tell"] = str(progress.unsure)
    done["disputed"] = str(progress.disputed)
    facts = Flow(tuple((Text(f"{name} ", Tone.MUTED), text) for name, text in done.items()))
    filter_ = keymap.first("filter")
    command = keymap.first("command") or ":"
    figures = keymap.first("screen.calibration")
    exports = "export" not in keymap.withheld
    looks = progress.labelled and not session.withheld
    steps = (
        *((True, keymap.first("blocker"), "".join(one)) for one in waits(found.blockers)),
        (session.view.filter, f"{command}filter", "without a filter, shows the whole queue again"),
        (progress.unsure, f"{filter_} label:unsure", "looks again at what you could not tell"),
        (progress.disputed, f"{filter_} label:disputed", "shows where reviewers differ"),
        (looks, f"{filter_} wrong", "looks again at what you labelled against the panel"),
        (True, figures, "how far the judge can be trusted, and the gates"),
        (exports, f"{command}export labels.jsonl", "takes the labels out"),
        (True, keymap.first("quit"), "closes; everything is saved"),
    )
    following = tuple(
        Paragraph(outside(text, 400, Tone.MUTED), lead=Text(f"{key}  ", Tone.KEY), indent=4)
        for wanted, key, text in steps
        if wanted
    )
    title = Section("", (Paragraph(f"Everything {what} is decided.", Tone.STRONG),))
    page = Document((title, Section("Done", (facts,)), Section("Next", following)))
    return document_lines(page, width)


def nothing_lines(session: Session, keymap: Keymap, width: int) -> Lines:
    """Return the page of an empty queue: why it is empty, and what to do about it."""
    command = keymap.first("command") or ":"
    title = "No verdict matches the filter"
    steps: list[Block] = [
        Paragraph(outside(session.view.filter, 500, Tone.WARN), lead="  ", indent=2),
        Gap(),
        Paragraph(f"{command}filter and enter clears it.", Tone.MUTED),
    ]
    if not session.view.filter:
        title = "This run has no verdicts."
        shown = Paragraph(f"{keymap.first('screen.runs')} shows the other runs.", Tone.MUTED)
        loads = Paragraph(f"{command}open FILE and enter loads a report.", Tone.MUTED)
        steps = [Gap(), shown, *([loads] if "open" not in keymap.withheld else [])]
    blocks = (Paragraph(title, Tone.STRONG), *steps)
    return document_lines(Document((Section("", blocks),)), width)


def tiny_lines(width: int) -> Lines:
    """Return what a terminal below 40x10 shows. Nothing is lost meanwhile."""
    return paragraph("terminal too small: it needs 40x10; all is kept", width, Tone.STRONG)
