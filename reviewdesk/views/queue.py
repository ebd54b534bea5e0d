"""Describe the queue: rows, records, progress, waiting labels, the question, and events."""

from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from reviewdesk.domain.assessment.result import in_words
from reviewdesk.domain.labels.question import Reply, RunAnswer
from reviewdesk.domain.records import (
    SUGGESTION,
    Blocker,
    Event,
    Loaded,
    Pace,
    Progress,
    ProposedMap,
    QueueRow,
    Truth,
    labels_missing,
)
from reviewdesk.domain.run.archived import Archived
from reviewdesk.domain.safetext import show_line
from reviewdesk.domain.verdict import Decision, people
from reviewdesk.views.document import (
    Column,
    Document,
    Facts,
    Paragraph,
    Section,
    Text,
    Tone,
    Words,
    joined,
    outside,
    table,
)
from reviewdesk.views.words import NONE, TRUTHS, agreement, decided, held, moment, number, plural

if TYPE_CHECKING:
    from reviewdesk.domain.gates.expect import GateQuestion

FIRST = 10
"""The number of records of a list that are shown."""
_LEFT_OUT = {"run", "item_hash", "agreement_source", "stratum", "audit"}
"""Keys of records that are the same in every row, or of no use to people."""


def queue_row(row: QueueRow, *, blind: bool = False) -> Words:
    """Return one verdict as one line; with ``blind``, only its id, test and label."""
    mark = NONE if row.label is None else row.label
    test = ("  ", outside(row.test, 120)) if row.test != row.id else ()
    names = (outside(row.id, 80), *test)
    if blind:
        return (f"{mark:9}  ", *names)
    flags = in_words(row.flags)
    made = NONE if row.decision is None else decided(Decision(row.decision))
    agrees, band = row.agrees
    facts = (
        f"{mark:9} {made:12} {number(row.score, 2):>5} {agreement(agrees):>6} {band or NONE:6}  "
    )
    return (facts, *names, f"  [{flags}]" if flags else "")


def queue_head(*, blind: bool = False) -> str:
    if blind:
        return f"{'label':9}  item  test"
    return f"{'label':9} {'panel':12} {'score':>5} {'agree':>6} {'band':6}  item  test  [flags]"


def loaded(file: str, made: Loaded | Archived) -> Section:
    """Describe a loaded file or an archive, with the notes of its readers."""
    run = made.run
    archive = isinstance(made, Archived)
    unknown = 0 if isinstance(made, Archived) else made.unknown_ballots
    verdicts = " verdict" if run.whole == 1 else " verdicts"
    counts = (
        f" ({'new' if made.new else 'known'}, {run.format}), "
        f"{held(run, verdicts)}, "
        f"{plural(run.ballots, 'ballot')}, {run.flagged:,} flagged, "
        f"{f'{run.audit:,} in the random check, ' if archive else ''}"
        f"{plural(run.failed_ballots, 'failed ballot')}, "
        f"{f'{unknown} not understood, ' if unknown else ''}{run.skipped:,} skipped"
    )
    labels: list[Words] = [file_labels(run.human_labels)] if run.human_labels else []
    notes: list[Words] = [("note: ", outside(note, 5000)) for note in (*run.notes, *made.notes)]
    more = (Paragraph(text, indent=2) for text in (*labels, *notes))
    return Section("", (Paragraph((outside(file), ": ", outside(run.name), counts)), *more))


def proposed(made: ProposedMap) -> Section:
    """Return the first verdicts of a table as a proposed map reads them."""
    blocks = []
    for body in made.verdicts:
        said = []
        for one in body["jurors"]:
            values: list[object] = [one.get(key) for key in ("score", "raw_score", "label")]
            if (vote := one.get("pass")) is not None:
                values = ["pass" if vote else "fail"]
            if one.get("status") not in {None, "ok"}:
                values = [one["status"]]
            known = next((value for value in values if value is not None), NONE)
            said.append((outside(one["id"], 60), " ", outside(known, 60)))
        labels = [one.label for one in people(body)]
        person = f"   by people: {', '.join(labels)}" if labels else ""
        blocks.append(Paragraph((outside(body["id"], 80), ":  ", *joined(said, "   "), person)))
    notes = [Paragraph(("note: ", outside(note, 500))) for note in made.notes]
    return Section("", (*blocks, *notes))


def file_labels(found: int) -> str:
    """Return the number of labels in a file, and the option that imports them."""
    what, them = ("label", "it") if found == 1 else ("labels", "them")
    return f"{found} human {what} in the file; --import-labels takes {them}"


def records(rows: Sequence[Mapping[str, Any]], total: int, what: str) -> Document:
    """Return the first records of ``total``, without the columns that are empty in all of them."""
    found = rows[:FIRST]
    count = f"{what}: {total:,}" + f", of which the first {len(found)}" * (total > len(found))
    keys = [key for key in (found[0] if found else ()) if key not in _LEFT_OUT]
    columns = {key: [row[key] for row in found] for key in keys}
    names = [
        key
        for key, column in columns.items()
        if any(one not in (None, "", [], ()) and not isinstance(one, Mapping) for one in column)
    ]
    heads = [
        # True and False are words and not numbers.
        Column(name, right=any(type(one) in {int, float} for one in columns[name]))
        for name in names
    ]
    cells = [[_cell(row[name]) for name in names] for row in found]
    blocks = (table(heads, cells),) if names else ()
    return Document((Section("", (Paragraph(count, Tone.MUTED), *blocks)),))


def _cell(value: object) -> Words:
    if value is None:
        return NONE
    if isinstance(value, float):
        return f"{value:.4g}"
    return outside(", ".join(map(str, value)) if isinstance(value, list) else value, 120)


_HOURS_FROM = 120
"""The number of minutes from which the time left is given in hours."""


def done_texts(progress: Progress) -> tuple[str, str]:
    """Return how many verdicts of the run have a label, in words and in short."""
    labelled = f"{progress.labelled:,}"
    total = f"{progress.verdicts:,}"
    return f"{labelled} of {total} done", f"{labelled}/{total}"


def time_texts(progress: Progress, pace: Pace | None) -> tuple[str, str]:
    """Return the time for the rest of the queue, also in short; empty until the pace is steady."""
    left = progress.left
    if pace is None or not pace.steady or pace.mean_dwell is None or not left:
        return "", ""
    minutes = max(1, round(left * pace.mean_dwell / 60))
    text = f"{minutes} min" if minutes < _HOURS_FROM else f"{round(minutes / 60):,} h"
    return f"{text} left", text


def strata_text(progress: Progress) -> str:
    """Return the progress on flagged verdicts and on the random check, if a run has any."""
    parts = {
        "flagged": (progress.flagged_done, progress.flagged),
        "random check": (progress.audit_done, progress.audit),
    }
    return " · ".join(f"{name} {done:,}/{all_:,}" for name, (done, all_) in parts.items() if all_)


def kept_back(count: int) -> str:
    """Return how many items of the holdout a filter leaves out; empty if none."""
    items = plural(count, "item")
    return f"{items} of the holdout {'is' if count == 1 else 'are'} left out" if count else ""


def waits(found: Sequence[Blocker]) -> list[tuple[str, str, str]]:
    """Return the items to decide so that labels count, each as words, its id, and more words."""
    return [
        (
            "decide ",
            one.id,
            f": until then, up to {plural(one.waiting, 'label')} may not count"
            if one.before
            else f": until then, {plural(one.waiting, 'label does', 'labels do')} not count",
        )
        for one in found
    ]


def figures_wait(progress: Progress, n: int) -> str:
    """Return how many labels are missing for figures; ``n`` pass and fail labels count."""
    missing = labels_missing(n, progress.verdicts - progress.labelled)
    have = plural(n, "label") if n else "no pass or fail labels yet"
    if n < progress.labelled:
        counts = {
            "can't tell": progress.unsure,
            "disputed": progress.disputed,
            "without a decision": progress.labelled - n - progress.unsure - progress.disputed,
        }
        why = ", ".join(f"{count:,} {word}" for word, count in counts.items() if count > 0)
        have = f"{n:,} of {progress.labelled:,} labels count ({why})"
    more = f" · figures after {plural(missing, 'more label')}"
    return have + (more if missing else "")


def strip_line(found: RunAnswer, *, blind: bool = False) -> str:
    """Return the answer so far in one line.

    A blind session shows only whether labelling may stop, as the interval depends on the panel's
    decisions on items without a label.
    """
    if blind:
        stop = "you may stop" if found.safe else "not yet"
        return f"{found.question.text}? {plural(found.look.labels, 'label')} counted · {stop}"
    look = found.look
    low, high = f"{look.low:.3f}", f"{look.high:.3f}"
    between = f"exactly {low}" if low == high else f"between {low} and {high}"
    parts = [f"{found.question.text}? {found.reply}", between]
    if found.safe:
        parts.append("you may stop")
    elif found.more is not None:
        parts.append(f"about {plural(found.more, 'more label')}")
    return " · ".join(parts)


def said(found: "GateQuestion") -> str:
    """Return an entry's question, its time, and its answer, in the form of a note of gates."""
    at = f" {_minute(found.asked_at)}" if found.asked_at else ""
    known = f", after {plural(found.labels_before, 'label')}" if found.labels_before else ""
    note = f"asked{at}{known}: {show_line(found.text, 200)}?"
    if found.low is None or found.high is None:
        return note
    return f"{note} {found.reply}, {found.low:.3f} to {found.high:.3f} at every look"


def _minute(at: str) -> str:
    return show_line(at[:16].replace("T", " "), 60)


def interval(found: RunAnswer) -> str:
    """Return the interval that is valid at every look."""
    return f"{found.look.low:.3f} to {found.look.high:.3f}"


def question(found: RunAnswer) -> Document:
    """Return a question with its answer."""
    asked = found.question
    look = found.look
    level = f"{100 * asked.level:.4g}%"
    rows: list[tuple[str, Words]] = [
        ("asked", f"{_minute(asked.at)}, {plural(asked.planned, 'label')} planned"),
        ("interval", f"{interval(found)}, valid at every look ({level})"),
        ("this look alone", f"{look.now_low:.3f} to {look.now_high:.3f}"),
        ("labels counted", f"{look.labels:,} since the question"),
    ]
    if look.estimate is not None:
        rows.insert(1, (asked.subject, f"{look.estimate:.3f}"))
    if len(asked.of) == 2:
        rows.insert(0, ("asked of", f"{plural(found.size, 'item')} on which the two differ"))
    if found.known:
        rows.append(("asked after", f"{plural(found.known, 'label')}, which count as known"))
    if found.waiting:
        rows.append(("waiting", f"{plural(found.waiting, 'label')} given out of turn"))
    if found.safe:
        said = {Reply.YES: "Yes", Reply.NO: "No"}.get(found.reply, "The labels cannot tell")
        text = f"{said}. You may stop; this interval stays valid."
    elif found.more is None:
        text = "Not yet: a group of items has no label."
    else:
        text = f"Not yet. About {plural(found.more, 'label')} more would decide it, if the "
        text += f"{asked.subject} stays as it is."
    tone = Tone.STRONG if found.safe else Tone.TEXT
    title = "question (closed)" if asked.closed else "question"
    conclusion = Paragraph((outside(f"{asked.text}?"), f" {text}"), tone)
    return Document((Section(title, (conclusion, Facts.of(*rows, column=17))),))


RERUNS = {"rerun_planned": "re-run agreed to", "rerun_ended": "re-run ended"}
"""The kinds of events that belong to re-runs, in words."""
_KINDS = {**RERUNS, SUGGESTION: "an agent suggests", "improve": "step to a better panel"}
_SIGHT: dict[Any, str] = {True: ", blind", False: ", not blind"}
_SEEN: dict[Any, str] = {True: ", response seen", False: ", response not seen"}


def given(event: Event) -> tuple[Text, Text]:
    """Return the time and author of an event, for imported labels those of the original."""
    if event.kind == SUGGESTION:
        return moment(event.at), outside(event.detail.get("agent") or event.author, 80)
    if not event.detail.get("imported"):
        return moment(event.at), outside(event.reviewer, 80)
    at = event.detail.get("at")
    return moment(at if isinstance(at, str) else event.at), outside(event.author, 80)


def event(one: Event) -> tuple[str | Text, ...]:
    detail = one.detail
    words: list[str | Text] = [_KINDS.get(one.kind) or outside(one.kind, 20)]
    if one.kind == "mark" and not detail.get("on"):
        words = ["unmark"]
    if one.label is not None:
        sight = _SIGHT.get(detail.get("blind"), "") + _SEEN.get(detail.get("seen"), "")
        imported = ", imported" if detail.get("imported") else ""
        many = detail.get("together")
        imported += f", with {many - 1:,} more" if isinstance(many, int) and many > 1 else ""
        closed = ", closed without an answer" if detail.get("closed") else ""
        words.append(f" {TRUTHS[one.label]}{closed}{imported}{sight}")
    if one.kind in {"undo", "redo"}:
        words += [": ", outside(turned(one), 60)]
    if one.kind == "tags":
        words += [" ", *(tag_list(detail.get("tags") or ()) or ("cleared",))]
    if detail.get("note"):
        words += [": ", outside(detail["note"], 60)]
    if one.kind in RERUNS:
        words += [": ", outside(_rerun_text(detail), 160)]
    return (*words, *([" (undone)"] if one.undone else []))


def turned(event: Event) -> str:
    """Return what an undo or a redo turned."""
    was = str(event.detail.get("was") or "")
    kind, _, label = was.partition(" ")
    if kind in {"label", "repeat", "adjudicate"} and label in {*Truth}:
        return f"{kind} {TRUTHS[Truth(label)]}"
    return was


def tag_list(tags: Iterable[object]) -> tuple[str | Text, ...]:
    return joined([outside(tag, 80) for tag in tags])


def _rerun_text(detail: Mapping[str, Any]) -> str:
    """Describe an event of a re-run: what was agreed to, or what came of it."""
    many = (
        f"{detail['of']:,} verdicts, " if detail.get("of", 1) > 1 and "plan" not in detail else ""
    )
    if "scope" in detail:
        who = {"panel": "the whole panel", "missing": "the missing jurors"}.get(detail["scope"])
        hosts = ", ".join(map(str, detail.get("hosts") or ()))
        target = f"{who or detail.get('juror')} of {detail.get('panel')}"
        calls = f", {detail['calls']} calls to {hosts}" if "calls" in detail else ""
        return f"{many if calls else ''}{target}{calls}"
    if "given_up" in detail:
        return f"{many}given up with {detail['given_up']:,} left"
    if "left" in detail:
        flips = sum(detail["flips"].values())
        left = f", {detail['left']:,} left" if detail["left"] else ""
        return f"{many}{detail['done']:,} asked again, {flips:,} turned over{left}"
    if "answered" not in detail:
        return f"{'stopped, ' if detail.get('stopped') else ''}nobody answered"
    halt = "stopped: " if detail.get("stopped") else ""
    return f"{halt}{detail.get('decision') or 'no decision'}, {detail['answered']} came back"
