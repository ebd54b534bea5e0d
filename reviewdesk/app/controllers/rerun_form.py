"""The dialog of re-runs: who is asked, with which panel; then consent to send.

It sends nothing: the dialog closes with the re-run that a person agreed to, or with ``None``.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from msgspec import Struct
from msgspec.structs import replace

from reviewdesk.app.controllers.core import Core
from reviewdesk.app.controllers.jobs import PREPARING
from reviewdesk.app.controllers.state import (
    FULL,
    Act,
    Choice,
    DialogPage,
    FieldInput,
    PageForm,
    PromptForm,
    question_form,
)
from reviewdesk.app.keys.actions import panel_files
from reviewdesk.desk import Desk
from reviewdesk.desk.live import rerun
from reviewdesk.desk.live.rerun import JURORS, ReadyRerun, RerunOrder, payloads
from reviewdesk.domain.jury.injection import passages
from reviewdesk.domain.panel.case import outside_texts
from reviewdesk.domain.panel.rerun import RerunRequest, RerunScope, missing
from reviewdesk.domain.panel.spec import PanelSpec
from reviewdesk.domain.records import Item
from reviewdesk.domain.safetext import show_line
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

Survey = Callable[[Desk, Callable[[float], bool]], ReadyRerun]
"""Prepares a re-run with a connection of its own, and reports the share that is done."""


class ShownVerdicts(Struct, frozen=True):
    """What the queue shows: the verdicts, and the filter that chose them."""

    keys: Sequence[int]
    filter: str


class RerunForm:
    """The choice of who is asked about an item or the filtered verdicts, and what is sent."""

    def __init__(
        self,
        core: Core,
        item: Item,
        *,
        path: str,
        shown: ShownVerdicts | None = None,
        gave_up: Callable[[], None] = lambda: None,
    ) -> None:
        """Ask about ``item``, with the panel at ``path`` or, if empty, the report's panel.

        ``shown`` are the verdicts that may be asked about instead; ``gave_up`` is called when a
        re-run that was cut off is given up.
        """
        self.item = item
        self.path = path
        self.shown = shown
        self.blind = core.session.view.blind
        self.unfinished = tuple(core.unfinished)
        self.panel: PanelSpec | None = None
        self.problem = ""
        self.about_shown = self.preparing = False
        self.max_cost: float | None = None
        self.passages = sum(len(passages(text)) for _, text in outside_texts(item.verdict.body))
        self.ready: ReadyRerun | None = None
        self._notice = ""
        self._consent = Document(())
        self._core = core
        self._guard = core.new_guard()
        self._gave_up = gave_up
        self._read()
        if self.panel is None and not path:
            # Take the report's jurors where it names no panel, if their keys are set.
            try:
                self.panel = rerun.panel_for(JURORS, self.item)
            except ReviewDeskError as error:
                # Which keys would help is its hint.
                self.problem += f". {error.hint}"
            else:
                self.path = JURORS
                self.problem = ""

    def _read(self) -> None:
        """Read the panel, or store the reason why it is missing."""
        self.panel = None
        self.problem = ""
        try:
            self.panel = rerun.panel_for(self.path, self.item)
        except ReviewDeskError as error:
            # The error of the report's own panel has a hint that is meant for the shell.
            reason = show_line(str(error) if self.path else error.message, 400).removesuffix(".")
            self.problem = f"{reason}; p names a panel file, b asks its jurors by your keys"

    @property
    def wishes(self) -> list[RerunRequest]:
        """What the panel can be asked, likeliest first; without a panel, all jurors."""
        names = list(dict.fromkeys(cast.id for cast in self.item.verdict.ballots))
        if self.panel is not None:
            known = {juror.name for juror in self.panel.jurors}
            names = [name for name in names if name in known]
        each = [RerunRequest(RerunScope.JUROR, name) for name in names]
        whole = RerunRequest(RerunScope.PANEL)
        gone = RerunRequest(RerunScope.MISSING)
        if self.about_shown:
            # The verdicts with a missing juror would reveal something of the panel's answers.
            return [whole, *([] if self.blind else [gone]), *each]
        # A re-run of the missing jurors is refused unless the panel has all of them.
        lost = missing(self.item.verdict)
        return [*([gone] if lost and set(lost) <= set(names) else []), whole, *each]

    def offers(self) -> list[str]:
        offered = [self._wish_text(wish) for wish in self.wishes]
        return offered + [f"finish: {unfinished_text(one.facts)}" for one in self.unfinished]

    @property
    def likeliest(self) -> int:
        """The line of ``offers`` to begin with: the re-run cut off last, else the first line."""
        return len(self.wishes) + len(self.unfinished) - 1 if self.unfinished else 0

    def _wish_text(self, wish: RerunRequest) -> str:
        if self.about_shown:
            return "their missing jurors" if wish.scope is RerunScope.MISSING else who(wish)
        lost = missing(self.item.verdict)
        if wish.scope is RerunScope.MISSING:
            return f"{who(wish)}: {show_line(', '.join(lost), 200)}"
        return f"{who(wish)}{', who gave no answer' if wish.juror in lost else ''}"

    @property
    def about(self) -> str:
        """What is asked about."""
        if self.ready is not None:
            return self.ready.name
        if not self.about_shown or self.shown is None:
            return self.item.verdict.id
        kept = f"the filter {self.shown.filter}" if self.shown.filter else "the whole run"
        return f"{plural(len(self.shown.keys), 'verdict')} of {kept}"

    @property
    def suspicious(self) -> str:
        found = plural(self.passages, "passage speaks", "passages speak")
        return f"{found} to the judge, sent as written" if self.passages else ""

    @property
    def ceiling(self) -> str:
        limit = "none" if self.max_cost is None else f"stops before {money(self.max_cost)} is spent"
        return f"{limit}; c sets one"

    # what is chosen

    def choose(self, index: int) -> None:
        """Prepare the re-run of the chosen line."""
        if self.ready is not None or self.preparing:
            return
        if index < len(self.wishes):
            self.prepare(self.wishes[index])
            return
        found = self.unfinished[index - len(self.wishes)]
        order = RerunOrder(max_cost=found.max_cost if self.max_cost is None else self.max_cost)
        self._survey(lambda desk, told: rerun.survey_rest(desk, found, order, told=told))

    def prepare(self, wish: RerunRequest) -> None:
        """Prepare the consent page; the first page shows a problem."""
        if self.panel is None:
            self.name_panel(wish)
            return
        order = RerunOrder(
            keys=[self.item.row.key], wish=wish, source=self.path, max_cost=self.max_cost
        )
        if self.about_shown and self.shown is not None:
            order = replace(order, keys=self.shown.keys, shown=self.shown.filter)
        try:
            self._core.jobs.check_rerun(frozenset(order.keys))
            if order.shown is None:
                self.took(rerun.survey(self._core.desk, order), None)
            else:
                self._survey(lambda desk, told: rerun.survey(desk, order, told=told))
        except ReviewDeskError as error:
            self.took(None, error)

    def _survey(self, work: Survey) -> None:
        self.preparing = True
        self.problem = ""

        def ended(found: object, error: ReviewDeskError | None) -> None:
            self.took(found if isinstance(found, rerun.ReadyRerun) and not error else None, error)

        self._core.jobs.start(PREPARING, work, ended)

    def took(self, ready: ReadyRerun | None, error: ReviewDeskError | None) -> None:
        """Take the prepared re-run, or the reason why it failed."""
        self.preparing = False
        self.ready = ready
        if error is not None:
            self.problem = show_line(str(error), 400)
        elif ready is not None:
            self._consent = consent_of(ready)
            self._guard.hide()

    def turn(self) -> None:
        if self.shown is not None and not self.preparing:
            self.about_shown = not self.about_shown

    def name_panel(self, wish: RerunRequest | None = None) -> None:
        """Ask for the path of a panel file, and go on with a ``wish``."""
        prompt = PromptForm(
            "Panel file",
            "" if self.path.startswith("@") else self.path,
            check=rerun.panel_from,
            complete=panel_files,
            hint="YAML or TOML: the jurors that are asked, and the rule that decides",
            replaces=True,
        )

        def answered(answer: FieldInput | None) -> None:
            if answer is not None and answer.given and answer.text:
                self.use_panel(answer.text, wish)

        self._core.ask(prompt, answered)

    def name_ceiling(self) -> None:
        """Ask for the most that may be spent, in US dollars."""
        prompt = PromptForm(
            "Most to spend",
            "" if self.max_cost is None else f"{self.max_cost:g}",
            check=dollars,
            hint="US dollars, such as 2.50; nothing for no ceiling. Each juror needs a price",
            replaces=True,
        )

        def answered(answer: FieldInput | None) -> None:
            if answer is not None and answer.given:
                self.max_cost = dollars(answer.text)

        self._core.ask(prompt, answered)

    def give_up(self, index: int) -> None:
        """End a re-run that was cut off, if the person confirms it."""
        if index < len(self.wishes):
            return
        found = self.unfinished[index - len(self.wishes)]

        def answered(yes: bool | None) -> None:
            if yes:
                rerun.give_up(self._core.desk, found)
                self.unfinished = tuple(one for one in self.unfinished if one is not found)
                self._gave_up()

        reason = "The ballots that came are kept; the others are not asked for any more."
        question = f"Give up {unfinished_text(found.facts)}?"
        self._core.ask(question_form(question, reason), answered)

    def use_panel(self, path: str, wish: RerunRequest | None = None) -> None:
        """Use the panel of a file, of the report's jurors or of the report; prepare a ``wish``."""
        self.path = path
        self._read()
        if self.panel is not None and path != JURORS:
            self.remember()
        if wish is not None and self.panel is not None:
            self.prepare(wish)

    def remember(self) -> None:
        """Keep the panel file, or the report's own panel, for the next re-run."""
        whole = self.path and str(Path(self.path).expanduser().absolute())
        self._core.settings = self._core.settings.choosing({"panel": whole})

    # the pages: who may be asked and, once that is prepared, what is sent

    @property
    def dialog(self) -> PageForm:
        return PageForm(lambda _at: self.page(), drawn=self.drawn)

    def page(self) -> DialogPage:
        """Return the current page."""
        if self.ready is not None:
            sends = ("y", "sends"), ("j k", "scroll"), ("n esc enter", "send nothing")
            return DialogPage(
                "Ask again about", sends, self.about, self._notice, document=self._consent,
                acts={"y": self.agree}, strict=True, width=112, height=FULL,
            )  # fmt: skip
        acts: dict[str, Act] = {
            "enter": self.choose,
            "p": lambda _: self.name_panel(),
            "o": lambda _: self.use_panel(""),
            "b": lambda _: self.use_panel(JURORS),
            "f": lambda _: self.turn(),
            "c": lambda _: self.name_ceiling(),
            "d": self.give_up,
        }
        about = [("f", "the item" if self.about_shown else "all shown")] if self.shown else []
        own = [("o", "the report's")] if self.path else []
        made = [("b", "its jurors")] if self.path != JURORS else []
        up = [("d", "give up")] if self.unfinished else []
        first = ("enter", "what would be sent"), *about, *up, ("p", "panel file"), *own, *made
        keys = (*first, ("c", "ceiling"), ("esc", "closes"))
        choices = [Choice(show_line(one)) for one in self.offers()]
        return DialogPage(
            "Ask again about", keys, self.about, choices=choices, chosen=self.likeliest, acts=acts,
            foot=self._panel_text(), closes=frozenset(), width=100,
        )  # fmt: skip

    def _panel_text(self) -> Document:
        """Return the panel, or the reason why it is missing, and the other choices."""
        panel = self.panel
        where = {"": "as the report tells it", JURORS: "those whose keys are set"}
        problem = outside(self.problem)
        told: Words = Text(problem.text, Tone.WARN)
        if panel is not None:
            place = outside(where.get(self.path) or self.path)
            told = (outside(panel.name, 80), f": {plural(len(panel.jurors), 'juror')}, ", place)
        rows = [Fact("panel", told)]
        rows += [Fact("suspicious", self.suspicious, Tone.WARN)] if self.suspicious else []
        rows.append(Fact("ceiling", self.ceiling))
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
        """Return the re-run, unless the key came too soon for the page to have been read."""
        if self._guard.press("y", self._core.late):
            return self.ready
        self._notice = "y ignored: too soon to have read this; n sends nothing"
        return None


def who(wish: RerunRequest) -> str:
    """Return who is asked, in words."""
    if wish.scope is RerunScope.JUROR:
        return f"{show_line(str(wish.juror), 120)} alone"
    return {RerunScope.MISSING: "the missing jurors", RerunScope.PANEL: "the whole panel"}[
        wish.scope
    ]


def dollars(text: str) -> float | None:
    """Return an amount of US dollars, ``None`` for an empty text.

    Raises:
        UsageError: the text is not an amount.
    """
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


def consent_of(ready: ReadyRerun) -> Document:
    """Return hosts, models, calls, cost and hash, and then the payloads.

    No payload can forge the title above another, because its text is indented.
    """
    told = consent(ready.plan, asked(ready.asked), ready.contracts, ready.order.max_cost)
    return Document((told, Section("Payload", tuple(_payloads(ready)))))


def _payloads(ready: ReadyRerun) -> Iterator[Block]:
    if len(ready.held) < len(ready.keys):
        text = f"of the first {len(ready.held):,} verdicts; rerun --dry-run prints all"
        yield Paragraph(text, Tone.NOTE)
    every = list(payloads(ready.held.values()))
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
    """Format every key of the payload as text; messages keep their line breaks."""

    def text(content: object) -> str:
        return content if isinstance(content, str) else json.dumps(content, ensure_ascii=False)

    rest = {name: value for name, value in payload.items() if name not in {"messages", "system"}}
    parts = [f"{name}: {json.dumps(value, ensure_ascii=False)}" for name, value in rest.items()]
    if "system" in payload:
        parts.append(f"[system]\n{text(payload['system'])}")
    messages = payload.get("messages") or ()
    parts += [f"[{message['role']}]\n{text(message['content'])}" for message in messages]
    return "\n".join(parts)
