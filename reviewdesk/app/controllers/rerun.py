"""Re-runs: who is asked with which panel, the consent to send, and the result.

The dialog sends nothing: it closes with the re-run that a person agreed to, or with ``None``.
"""

import asyncio
import json
from collections.abc import Callable, Coroutine, Iterator, Mapping
from contextlib import suppress
from functools import partial
from pathlib import Path
from threading import Event
from typing import Any, cast

from msgspec.structs import replace

from reviewdesk.app.controllers.core import REVIEW, Core
from reviewdesk.app.controllers.jobs import PREPARING, RERUN
from reviewdesk.app.controllers.state import Choice, DialogPage, PageForm, PromptForm
from reviewdesk.app.keys.commands import panel_files
from reviewdesk.desk.core import Desk
from reviewdesk.desk.live import rerun
from reviewdesk.desk.live.rerun import JURORS, ReadyRerun, RerunOrder, carry_out
from reviewdesk.desk.review.items import UnfinishedRerun
from reviewdesk.domain.jury.injection import passages
from reviewdesk.domain.panel.asking import Listener, LiveProgress
from reviewdesk.domain.panel.case import outside_texts
from reviewdesk.domain.panel.rerun import OpenRerun, RerunRequest, RerunScope, RerunSummary
from reviewdesk.domain.panel.spec import PanelSpec
from reviewdesk.domain.records import Item
from reviewdesk.domain.safetext import show_line
from reviewdesk.domain.verdict import CanonicalBallot
from reviewdesk.errors import ReviewDeskError, UsageError
from reviewdesk.views.document import (
    Block,
    Document,
    Fact,
    Facts,
    Paragraph,
    Quote,
    Section,
    Text,
    Tone,
    Words,
    outside,
)
from reviewdesk.views.panel import consent
from reviewdesk.views.verdict import asked, unfinished_text
from reviewdesk.views.words import money, plural


def open_dialog(core: Core) -> None:
    item = core.item_with_answer("ask about")
    if item is None:
        return
    core.calm()
    form = RerunForm(core, item)
    core.ask(PageForm(lambda _at: form.page(), drawn=form.drawn), partial(_take_consent, core))


_INTERVAL = 0.2
"""Seconds between two reports of the progress of a re-run or a try."""
_LOOK = 0.05
"""Seconds between two looks whether a re-run or a try is to stop."""


def seldom(tell: Callable[[LiveProgress], object]) -> Callable[..., None]:
    """Return a function that passes on the progress of asking, at most once in the interval."""
    due = 0.0

    def told(progress: LiveProgress) -> None:
        nonlocal due
        if progress.seconds >= due:
            due = progress.seconds + _INTERVAL
            tell(progress)

    return told


def run_until(asking: Coroutine[Any, Any, Any], stop: Event) -> Any:
    async def until_stopped() -> Any:
        task = asyncio.ensure_future(asking)
        while not task.done() and not stop.is_set():
            await asyncio.wait({task}, timeout=_LOOK)
        # Once: a second cancel would interrupt the saving of the ballots that came back.
        task.cancel()
        with suppress(asyncio.CancelledError):
            return await task
        return None

    return asyncio.run(until_stopped())


def _take_consent(core: Core, ready: ReadyRerun | None) -> None:
    jobs = core.jobs
    jobs.cancel(PREPARING)
    if ready is None:
        core.say("nothing was sent", Tone.MUTED)
        return
    jobs.check_rerun()
    asked = tuple(call.juror.name for call in ready.first.calls)
    running = jobs.rerun = OpenRerun(frozenset(ready.keys), ready.name, asked)
    stop = Event()

    def work(desk: Desk, report: Callable[[object], bool]) -> RerunSummary:
        summary = RerunSummary()
        listener = Listener(told=seldom(report))
        if running.alone:
            listener = replace(listener, came=report)
        run_until(carry_out(desk, ready, summary, listener), stop)
        return summary

    def heard(news: object) -> None:
        nonlocal running
        if isinstance(news, dict):
            running = replace(running, came=(*running.came, cast(CanonicalBallot, news)))
        elif isinstance(news, LiveProgress):
            running = replace(running, progress=news)
        jobs.rerun = running = replace(running, stopping=stop.is_set())
        item = core.session.item
        if item is not None and item.row.key in running.keys:
            core.safely(core.read_reruns)

    def ended(found: object, error: ReviewDeskError | None) -> None:
        jobs.rerun = None
        _ended(core, found, error, stopping=stop.is_set())

    jobs.start(RERUN, work, ended, heard=heard, stop=stop, secret=True)
    key = core.keys.first("stop") or ":stop"
    about = "" if running.alone else f" about {ready.name}"
    jurors = plural(len(ready.first.seats.asked), "juror")
    core.say(f"asking {jurors} again{about}; {key} stops", Tone.NOTE)
    core.read_reruns()


def _ended(core: Core, found: object, error: ReviewDeskError | None, *, stopping: bool) -> None:
    core.look_for_unfinished()
    core.safely(core.count_flips)
    try:
        core.review.refresh()
    except ReviewDeskError as problem:
        error = error or problem
    places = {REVIEW, core.where}  # where it began, and what is read now
    if error is not None:
        for where in places:
            core.complain(error, where=where)
    elif isinstance(found, RerunSummary):
        # A blind reviewer must not know the new decision before labelling the item.
        blind = core.session.view.blind
        stopped = "stopped: " if stopping or found.left else ""
        more = "" if blind or not found.flips else r"; \ rerun:flipped shows them"
        for where in places:
            core.say(f"{stopped}{found.text(blind=blind)}{more}", Tone.NOTE, where=where)
    core.show(keep=True, rows=True)


class RerunForm:
    """The choice of who is asked about an item or the filtered verdicts, and what is sent."""

    def __init__(self, core: Core, item: Item) -> None:
        """Ask about ``item``, with the panel used last, else with that of the report."""
        session = core.session
        self.item = item
        self.lost = rerun.with_losses(core.desk, item).verdict.missing
        self.shown = session.keys
        """The verdicts in the queue, which may be asked about instead."""
        self.filter = session.view.filter
        self.blind = session.view.blind
        self.unfinished = tuple(core.unfinished)
        self.about_shown = self.preparing = False
        self.max_cost: float | None = None
        self.passages = sum(len(passages(text)) for _, text in outside_texts(item.verdict.body))
        self.ready: ReadyRerun | None = None
        self._notice = ""
        self._consent = Document(())
        self._core = core
        self._guard = core.new_guard()
        self._read(core.settings.panel)

    def _read(self, path: str) -> None:
        """Read a panel; where the report names none, take its jurors if their keys are set."""
        self.path = path
        self.panel: PanelSpec | None = None
        self.problem = ""
        try:
            self.panel = rerun.panel_for(path, self.item)
        except ReviewDeskError as error:
            # The error of the report's own panel has a hint that is meant for the shell.
            reason = show_line(str(error) if path else error.message, 400).removesuffix(".")
            self.problem = f"{reason}; p names a panel file"
        if self.problem and not path:
            try:
                self.panel = rerun.panel_for(JURORS, self.item)
                self.path = JURORS
                self.problem = ""
            except ReviewDeskError as error:
                # Which keys would help is its hint.
                self.problem += f". {error.hint}"

    def offers(self) -> list[tuple[str, RerunRequest | UnfinishedRerun]]:
        """Return the lines to choose from, likeliest first, and the re-runs that were cut off."""
        names = list(dict.fromkeys(cast.id for cast in self.item.verdict.ballots))
        if self.panel is not None:
            known = {juror.name for juror in self.panel.jurors}
            names = [name for name in names if name in known]
        lost = () if self.about_shown else self.lost
        gone = RerunRequest(RerunScope.MISSING)
        found: list[tuple[str, RerunRequest | UnfinishedRerun]] = []
        # A re-run of the missing jurors is refused unless the panel has all of them.
        if lost and set(lost) <= set(names):
            found.append((f"the missing jurors: {show_line(', '.join(lost), 200)}", gone))
        found.append(("the whole panel", RerunRequest(RerunScope.PANEL)))
        # The verdicts with a missing juror would reveal something of the panel's answers.
        if self.about_shown and not self.blind:
            found.append(("their missing jurors", gone))
        for name in names:
            no_answer = ", who gave no answer" if name in lost else ""
            asked = RerunRequest(RerunScope.JUROR, name)
            found.append((f"{show_line(name, 120)} alone{no_answer}", asked))
        return found + [(f"finish: {unfinished_text(one.extent)}", one) for one in self.unfinished]

    @property
    def about(self) -> str:
        if self.ready is not None:
            return self.ready.name
        if not self.about_shown:
            return self.item.verdict.id
        kept = f"the filter {self.filter}" if self.filter else "the whole run"
        return f"{plural(len(self.shown), 'verdict')} of {kept}"

    # what is chosen

    def choose(self, index: int) -> None:
        if self.ready is not None or self.preparing:
            return
        _, wish = self.offers()[index]
        if not isinstance(wish, RerunRequest):
            agreed = wish.newest.detail["max_cost_usd"]
            again = RerunOrder(max_cost=agreed if self.max_cost is None else self.max_cost)
            self._survey(lambda desk, told: rerun.survey(desk, again, told=told, resumes=wish))
            return
        if self.panel is None:
            self.name_panel()
            return
        key = self.item.row.key
        order = RerunOrder(keys=[key], wish=wish, source=self.path, max_cost=self.max_cost)
        if self.about_shown:
            order = replace(order, keys=self.shown, shown=self.filter)
        try:
            self._core.jobs.check_rerun()
            if order.shown is None:
                self._took(rerun.survey(self._core.desk, order), None)
            else:
                self._survey(lambda desk, told: rerun.survey(desk, order, told=told))
        except ReviewDeskError as error:
            self._took(None, error)

    def _survey(self, work: Callable[[Desk, Callable[[float], bool]], ReadyRerun]) -> None:
        self.preparing = True
        self.problem = ""
        self._core.jobs.start(PREPARING, work, self._took)

    def _took(self, ready: object, error: ReviewDeskError | None) -> None:
        self.preparing = False
        if error is not None:
            self.problem = show_line(str(error), 400)
        elif isinstance(ready, ReadyRerun):
            self.ready = ready
            told = consent(ready.plan, asked(ready.asked), ready.contracts, ready.order.max_cost)
            # Indented, so that no payload can forge the title above another.
            self._consent = Document((told, Section("Payload", tuple(_payloads(ready)))))
            self._guard.hide()

    def turn(self) -> None:
        if not self.preparing:
            self.about_shown = not self.about_shown

    def name_panel(self) -> None:
        prompt = PromptForm(
            "Panel file",
            "" if self.path.startswith("@") else self.path,
            check=rerun.panel_from,
            complete=panel_files,
            hint="YAML or TOML: the jurors that are asked, and the rule that decides",
            replaces=True,
        )
        self._core.ask_text(prompt, lambda path: self.use_panel(path) if path else None)

    def use_panel(self, path: str) -> None:
        self._read(path)
        if self.panel is not None:
            whole = path and str(Path(path).expanduser().absolute())
            self._core.settings = self._core.settings.choosing({"panel": whole})

    # the pages: who may be asked and, once that is prepared, what is sent

    def page(self) -> DialogPage:
        if self.ready is not None:
            sends = ("y", "sends"), ("j k", "scroll"), ("n esc enter", "send nothing")
            return DialogPage(
                "Ask again about", sends, self.about, self._notice, document=self._consent,
                acts={"y": self.agree}, strict=True, width=112,
            )  # fmt: skip
        core = self._core
        offers = self.offers()
        about = [("f", "the item" if self.about_shown else "all shown")] if self.shown else []
        own = [("o", "the report's")] if self.path not in {"", JURORS} else []
        first = ("enter", "what would be sent"), *about, ("p", "panel file"), *own
        return DialogPage(
            "Ask again about",
            (*first, ("c", "ceiling"), ("esc", "closes")),
            self.about,
            choices=[Choice(show_line(text)) for text, _ in offers],
            # The re-run that was cut off last, if any.
            chosen=len(offers) - 1 if self.unfinished else 0,
            acts={
                "enter": self.choose,
                "p": lambda _: self.name_panel(),
                "o": lambda _: self.use_panel(""),
                "f": lambda _: self.turn(),
                "c": lambda _: ask_ceiling(core, self.max_cost, partial(setattr, self, "max_cost")),
            },
            foot=self.foot(),
            closes=frozenset(),
            width=100,
        )

    def foot(self) -> Document:
        panel = self.panel
        where = {"": "as the report tells it", JURORS: "those whose keys are set"}
        problem = outside(self.problem)
        told: Words = Text(problem.text, Tone.WARN)
        if panel is not None:
            place = outside(where.get(self.path) or self.path)
            told = (outside(panel.name, 80), f": {plural(len(panel.jurors), 'juror')}, ", place)
        rows = [Fact("panel", told)]
        own = self.item.verdict.text("rubric")
        if own and panel and panel.rubric not in {None, own}:
            rows.append(Fact("rubric", "the item's own, which is not the panel's", Tone.WARN))
        if self.passages:
            found = plural(self.passages, "passage speaks", "passages speak")
            rows.append(Fact("suspicious", f"{found} to the judge, sent as written", Tone.WARN))
        cost = self.max_cost
        limit = "none" if cost is None else f"stops before {money(cost)} is spent"
        rows.append(Fact("ceiling", f"{limit}; c sets one"))
        blocks: list[Block] = [Facts(tuple(rows), 12)]
        if self.preparing:
            blocks.append(Paragraph("reading what would be sent …", Tone.NOTE))
        if panel is not None and self.problem:
            blocks.append(Paragraph(Text(problem.text, Tone.FAIL)))
        return Document((Section("", tuple(blocks)),))

    # consent

    def drawn(self) -> None:
        if self.ready is not None:
            self._guard.shown()

    def agree(self, _index: int = 0) -> ReadyRerun | None:
        if self._guard.press("y", self._core.late):
            return self.ready
        self._notice = "y ignored: too soon to have read this; n sends nothing"
        return None


def ask_ceiling(
    core: Core,
    now: float | None,
    use: Callable[[float | None], object],
    check: Callable[[float | None], object] = lambda _: None,
) -> None:
    """Ask for the most that may be spent, in US dollars; ``check`` may raise to refuse it."""
    prompt = PromptForm(
        "Most to spend",
        "" if now is None else f"{now:g}",
        check=lambda text: check(dollars(text)),
        hint="US dollars, such as 2.50; nothing for no ceiling. Each juror needs a price",
        replaces=True,
    )
    core.ask_text(prompt, lambda text: use(dollars(text)))


def dollars(text: str) -> float | None:
    """Return an amount of US dollars, ``None`` for an empty text; UsageError if it is neither."""
    text = text.strip().removeprefix("$")
    if not text:
        return None
    try:
        found = float(text)
    except ValueError:
        found = -1.0
    if not 0 <= found < float("inf"):
        raise UsageError(f"{text!r} is not an amount", "Write US dollars, such as 2.50.")
    return found


MOST = 200_000
"""The most characters of payloads that the consent page shows."""


def _payloads(ready: ReadyRerun) -> Iterator[Block]:
    if len(ready.held) < len(ready.keys):
        text = f"of the first {len(ready.held):,} verdicts; rerun --dry-run prints all"
        yield Paragraph(text, Tone.NOTE)
    every = list(ready.payloads(ready.held.values()))
    many = len({sent["case"] for sent in every}) > 1
    room = MOST
    for place, sent in enumerate(every, start=1):
        about = f"{show_line(sent['case'], 80)} to " if many else ""
        to = f"{about}{show_line(sent['juror'], 80)} at {show_line(sent['url'])}"
        text = _payload_text(sent["payload"])
        if len(text) > room:
            yield Paragraph("too long to show here; rerun --dry-run prints all", Tone.NOTE)
            return
        room -= len(text)
        yield Paragraph(f"{place} of {len(every)}: {to}", Tone.STRONG)
        yield Quote(text, lead="  ", indent=2, limit=MOST)


def _payload_text(payload: Mapping[str, Any]) -> str:
    def text(content: object) -> str:
        return content if isinstance(content, str) else json.dumps(content, ensure_ascii=False)

    rest = {name: value for name, value in payload.items() if name not in {"messages", "system"}}
    parts = [f"{name}: {json.dumps(value, ensure_ascii=False)}" for name, value in rest.items()]
    if "system" in payload:
        parts.append(f"[system]\n{text(payload['system'])}")
    messages = payload.get("messages") or ()
    parts += [f"[{message['role']}]\n{text(message['content'])}" for message in messages]
    return "\n".join(parts)
