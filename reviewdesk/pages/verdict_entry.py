"""The verdicts of a page: key facts in view, texts and jury in a block that opens."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from reviewdesk.domain.assessment.assess import Seat
from reviewdesk.domain.assessment.notes import remarks
from reviewdesk.domain.assessment.seats import silent_words
from reviewdesk.domain.canonical import CanonicalCheck, CanonicalHuman
from reviewdesk.domain.panel.rerun import Rerun, flipped
from reviewdesk.domain.records import Event, Item
from reviewdesk.domain.verdict import Decision
from reviewdesk.pages import words
from reviewdesk.pages.blocks import facts, items, paragraph
from reviewdesk.pages.htmltext import Child, Html, el, joined, line
from reviewdesk.pages.records import ListedVerdict

_TEXTS = (
    ("rubric", "Rubric"), ("input", "Input"), ("output", "Response"),
    ("alternative", "Response B"), ("reference", "Reference"),
)  # fmt: skip
_BLIND: dict[Any, str] = {True: ", given blind", False: ", given open"}
_WORD_CLASSES = {"pass": "pass", "fail": "fail"}


def verdict(found: ListedVerdict, place: int) -> Html:
    """Return one verdict; ``place`` numbers it and makes the id of its heading unique."""
    item = found.item
    name = f"verdict-{place}"
    return el(
        "article",
        el("h3", line(item.verdict.id), id=name),
        paragraph(line(item.verdict.test), class_="test") if _has_own_test(item) else None,
        el("p", *_status_line(item), class_="standing"),
        _flags(item),
        el(
            "details",
            el("summary", _details_title(found)),
            *_texts(item),
            *_checks(item),
            _jury(item),
            *_remarks(item),
            *_reruns(found),
        ),
        class_="verdict",
        aria_labelledby=name,
    )


def _has_own_test(item: Item) -> bool:
    return item.verdict.test != item.verdict.id


def word(text: str, of: str | None) -> Html:
    """Return a decision or a label; its style repeats the meaning of the word and adds none."""
    return el("span", text, class_=f"word {_WORD_CLASSES.get(of or '', 'open')}")


def _status_line(item: Item) -> Iterator[Child]:
    """Yield the facts of the status line: the panel's decision, its score and votes, the label."""
    found, row, policy = item.assessment, item.row, item.verdict.policy
    yield word(words.decision(found.decision), found.decision)
    threshold = "" if policy.threshold is None else f" (threshold {policy.threshold:g})"
    yield _fact("score", words.number(found.score, 2) + threshold)
    silent = silent_words(found.seats)
    votes = f"{found.votes.passes} of {found.votes.answered} pass"
    yield _fact("votes", f"{votes}, {silent}" if silent else votes)
    pair, ours = found.pair, found.agreement.spread
    metric = f"{pair.metric} " if pair.reported and pair.metric else ""
    yield _fact("agreement", metric + words.agreement(pair.value, pair.band))
    if pair.reported:
        yield _fact("our r_WG", words.agreement(ours.raw, ours.band))
    if row.label is None:
        yield _fact("label", "none")
    else:
        sure = " (tentative)" if row.tentative else ""
        yield joined([_fact("label", ""), word(row.label.value + sure, row.label)])


def _fact(name: str, value: str) -> Html:
    return el("span", el("span", f"{name} ", class_="muted"), value, class_="fact")


def _flags(item: Item) -> Html | None:
    notes = item.assessment.notes
    if not notes:
        return None
    return el(
        "ul",
        *(
            el("li", el("strong", note.flag.label.replace("_", " ")), f": {note.reason}")
            for note in notes
        ),
        class_="flags",
    )


def _details_title(found: ListedVerdict) -> str:
    jurors = words.plural(len(found.item.assessment.seats), "juror")
    reruns = f", {words.plural(len(found.reruns), 're-run')}" if found.reruns else ""
    return f"Texts and {jurors}{reruns}"


def _texts(item: Item) -> Iterator[Html]:
    for key, title in _TEXTS:
        stated = item.verdict.body.get(key)
        for text in stated if isinstance(stated, list) else [stated]:
            if isinstance(text, str) and text:
                yield el("h4", title)
                yield el("pre", text)


def _checks(item: Item) -> Iterator[Html]:
    checks = item.verdict.body.get("checks") or ()
    if checks:
        yield el("h4", "Checks")
        yield items(_check(check) for check in checks)


def _check(check: CanonicalCheck) -> Html:
    vote, why = check["pass"], check.get("reason")
    reason = f": {line(why, 2000)}" if why else ""
    return joined([word(words.VOTES[vote], words.VOTES[vote]), f" {line(check['name'])}{reason}"])


def _jury(item: Item) -> Html:
    """Return the ballots: trimmed dissenters first, then other dissenters, then by seat."""
    seats = sorted(
        item.assessment.seats,
        key=lambda seat: (not (seat.trimmed and seat.dissent), not seat.dissent, seat.ballot.seat),
    )
    heads = ("juror", "score", "vote", "weight", "state")
    head = el("tr", *(el("th", name, scope="col") for name in heads))
    # One tbody per juror keeps the reason next to its row, also in print.
    bodies = [
        el("tbody", _ballot(seat), el("tr", el("td", _reason(seat), colspan="5"), class_="reason"))
        for seat in seats
    ]
    table = el("table", el("caption", "The jury"), el("thead", head), *bodies, class_="jury")
    name = f"The jury of {line(item.verdict.id)}"
    return el("div", table, class_="wide", tabindex="0", role="region", aria_label=name)


def _ballot(seat: Seat) -> Html:
    ballot = seat.ballot
    model = f" ({line(ballot.model, 200)})" if ballot.model and ballot.model != ballot.id else ""
    vote = words.VOTES[ballot.vote]
    return el(
        "tr",
        el("th", line(ballot.id, 200), el("span", model, class_="muted"), scope="row"),
        el("td", words.number(ballot.score, 2)),
        el("td", word(vote, vote)),
        el("td", words.number(ballot.weight, 2)),
        el("td", seat.words + seat.aside, el("strong", ", dissents") if seat.dissent else None),
    )


def _reason(seat: Seat) -> Html:
    error = seat.ballot.error
    if error:
        return el("span", "failed: " if seat.ballot.status.failed else "", error)
    return el("span", seat.ballot.reason or "gave no reason")


def _remarks(item: Item) -> Iterator[Html]:
    texts = remarks(item.verdict, item.assessment)
    if texts or item.verdict.set_by_you:
        yield el("h4", "Notes")
        mine = item.verdict.set_by_you
        yield items([*texts, *([f"set by you: {', '.join(mine)}"] if mine else [])])
    labels = [_label(event) for event in item.history if event.kind == "label"]
    human = item.verdict.body.get("human")
    if human:
        labels.append(_report_label(human))
    if labels:
        yield el("h4", "Labels")
        yield items(labels)
    if item.tags or item.other_tags:
        yield facts([("tags", ", ".join(map(line, (*item.tags, *item.other_tags))))])
    if item.note:
        yield el("h4", "Reviewer's note")
        yield el("pre", item.note)


def _label(event: Event) -> str:
    blind = _BLIND.get(event.detail.get("blind"), "")
    undone = ", undone" if event.undone else ""
    at = event.detail.get("at") or event.at
    mark = " (tentative)" if event.tentative else ""
    return f"{event.label or ''}{mark} by {line(event.author, 200)}, {line(at, 40)}{blind}{undone}"


def _report_label(human: CanonicalHuman) -> str:
    at = f", {line(when, 40)}" if (when := human.get("at")) else ""
    note = f": {line(said, 2000)}" if (said := human.get("note")) else ""
    by = line(human.get("by") or "somebody unnamed", 200)
    return f"in the file: {human['label']} by {by}{at}{note}"


def _reruns(found: ListedVerdict) -> Iterator[Html]:
    if not found.reruns:
        return
    yield el("h4", "Asked again")
    before = found.item.assessment.decision
    yield items(_rerun(one, before) for one in found.reruns)


def _rerun(one: Rerun, before: Decision | None) -> Html:
    found = one.assessment
    by = f" by {line(one.reviewer, 200)}" if one.reviewer else ""
    where = " in the report" if one.filed else ""
    at = f", {line(one.at, 40)}" if one.at else ""
    turned = el("strong", ", turned over") if flipped(before, found.decision) else None
    stopped = ", stopped early" if one.stopped else ""
    return joined(
        [
            word(words.decision(found.decision), found.decision),
            f" score {words.number(found.score, 2)}{by}{where}{at}{stopped}",
            turned,
        ]
    )
