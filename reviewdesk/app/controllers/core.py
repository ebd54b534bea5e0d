"""What the parts of the review controller share: the session, the panes, notices and requests."""

from collections.abc import Callable, Sequence
from contextlib import nullcontext
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeAlias

from msgspec.structs import replace

from reviewdesk.app.controllers.exposure import LabelGuard, SeenItems
from reviewdesk.app.controllers.jobs import (
    BACKUP,
    FIGURES,
    INDEX,
    Jobs,
    Outbox,
    Report,
    Runner,
    Work,
)
from reviewdesk.app.controllers.session import ItemClaims, ReviewSession
from reviewdesk.app.controllers.state import (
    Criterion,
    FieldInput,
    Form,
    Notice,
    Panes,
    PromptForm,
    ReadingOptions,
    ReasonsLine,
    ScreenRequest,
    Session,
    question_form,
)
from reviewdesk.app.keys.actions import Keymap
from reviewdesk.desk import backups
from reviewdesk.desk.core import Desk
from reviewdesk.desk.figures import calibration
from reviewdesk.desk.figures.strip import LiveStrip, Strip
from reviewdesk.desk.labels.split import known_halves
from reviewdesk.desk.review import filters, items
from reviewdesk.desk.team.claims import double_share, opinions_wanted
from reviewdesk.domain.labels.improve import SplitLabels, group_of
from reviewdesk.domain.panel.rerun import FlipRate, RerunHistory, flip_rates
from reviewdesk.domain.records import Applied, Item, Run, View
from reviewdesk.errors import ReviewDeskError
from reviewdesk.settings import Settings
from reviewdesk.views.document import Tone

if TYPE_CHECKING:
    from reviewdesk.desk.review.items import UnfinishedRerun

READ_ONLY = "the desk is read-only: labels and notes cannot be saved"
REVIEW = "review"
CALIBRATION = "calibration"
RUNS = "runs"

Verb: TypeAlias = "Callable[[Core], object]"
"""Carries out an action; a table has it by the action's id."""


class Core:
    """The whole state behind the view, and the steps that every part uses."""

    page: Any = None
    """The controller of the screen that covers the review, if any; see ``pages``."""
    reasons: ReasonsLine | None = None
    figures = Strip()
    reading = ReadingOptions()
    reruns = RerunHistory()
    criteria: tuple[Criterion, ...] = ()
    unfinished: "Sequence[UnfinishedRerun]" = ()
    halves: SplitLabels | None = None
    """The labels of the run by half of their split, once a split is made and read."""
    _panes = Panes()
    last_saved = ""
    start = fetches = seek = 0
    """They grow with every demand to show other texts, fetch the queue's rows, scroll to a hit."""
    late = 0.0
    """The seconds from the newest key press until it was handled."""
    asking = False
    """Whether a dialog is open."""
    own_tags: dict[str, None] | None = None
    """The reviewer's tags, read once: the counts of a large desk take long to read."""
    _looked: tuple[int | None, int] = None, 0
    """The verdict that the last looks found in view, and how many did after the first."""
    last_selected = 0
    without_response = ""
    """The item whose missing response was reported last: the next press labels it."""
    follows_hidden = False
    """Whether the reviewer agreed to a blind queue that follows a hidden fact."""
    kept_file: Path | None = None
    """The file that keeps what cannot be saved when the app ends."""
    colourless = False
    """Whether the terminal has no themes to choose."""

    def __init__(
        self, desk: Desk, run: Run, view: View, *, settings: Settings, keys: Keymap, runner: Runner,
        clock: Callable[[], float], notice: str = "",
    ) -> None:  # fmt: skip
        """Open ``run`` where ``view`` left it; ``clock`` returns monotonic seconds."""
        self.desk = desk
        self.settings = settings
        self.keys = keys
        self.clock = clock
        desk.double = double_share(desk, settings.chosen("double"))
        desk.opinions = opinions_wanted(desk, settings.chosen("opinions"))
        self.jobs = Jobs(runner)
        self.guard = self.new_guard()
        self.strip = LiveStrip()
        self._counted = frozenset[int]()
        """The re-runs whose flip rates are known."""
        self._flips: tuple[FlipRate, ...] = ()
        self.seen = SeenItems(clock)
        self.requests: list[ScreenRequest] = []
        self.drafts: dict[tuple[int, int], str] = {}
        """The drafts of notes that the desk lacks, by verdict and ``Repeats.since`` of the item."""
        self.unsaved_tags: dict[tuple[int, int], str] = {}
        self.tagged: dict[str, float] = {}
        """When the digit of each tag was pressed last."""
        self.read_selected: set[int] = set()
        """The selected verdicts whose response had been on screen."""
        self.past: dict[str, list[str]] = {"filter": [], "find": [], "command": []}
        """What was typed into each field, oldest first."""
        self.stored: dict[str, Any] = {}
        """The choices that the desk keeps."""
        self.outbox = Outbox(desk, runner, self.follow, self.complain)
        self.review = ReviewSession(
            desk, run, view, outbox=self.outbox, settings=settings,
            claims=ItemClaims(desk, runner, clock),
        )  # fmt: skip
        first = self.review.dropped or (notice if self.session.item else "")
        self.notices = {REVIEW: Notice(first)}
        if desk.read_only:
            self.last_saved = "read-only"
            self.say(READ_ONLY, Tone.WARN)

    def do(self, name: str) -> object:
        """Carry out an action that was chosen by name; ask for confirmation if it gives a label."""
        raise NotImplementedError

    def new_guard(self) -> LabelGuard:
        return LabelGuard(self.clock, self.settings.repeat_guard / 1000)

    @property
    def session(self) -> Session:
        return self.review.session

    @property
    def where(self) -> str:
        return REVIEW if self.page is None else str(self.page.where)

    @property
    def panes(self) -> Panes:
        """The panes; a page of figures or runs has the whole place of the item."""
        panes = replace(self._panes, answer=self.session.answered)
        return panes if self.page is None else replace(panes, chosen="item", zoomed=True)

    @property
    def shown(self) -> object:
        """A value that identifies what is in view: an item that can be read, a run or a page."""
        if self.page is not None:
            return self.page.shown
        item = self.session.item
        return self.session.run.key, item and item.row.key, self.panes.readable

    @property
    def notice(self) -> Notice:
        """The notice of the screen in view, without one about what is no longer in view."""
        # A notice about one item would seem to be about the next one that is shown.
        if self.notices[self.where].about not in {None, self.shown}:
            self.notices[self.where] = Notice()
        return self.notices[self.where]

    @property
    def saved(self) -> str:
        return self.outbox.text or self.last_saved

    def say(self, text: str, tone: Tone = Tone.TEXT, *, where: str = "") -> None:
        self.notices[where or self.where] = Notice(text, tone)

    def say_here(self, text: str, tone: Tone = Tone.MUTED) -> None:
        self.notices[self.where] = Notice(text, tone, about=self.shown)

    def complain(self, error: ReviewDeskError, *, where: str = "") -> None:
        self.say(str(error), Tone.FAIL, where=where)

    def calm(self, where: str = "") -> None:
        if self.notices[where or self.where].tone is Tone.FAIL:
            self.say("", where=where)

    def request(self, what: str, *given: object) -> None:
        self.requests.append(ScreenRequest(what, given))

    def ask(self, form: Form, then: Callable[[Any], object]) -> None:
        """Open a dialog; ``then`` gets its answer, and may raise ReviewDeskError."""
        self.request("ask", form, partial(self.safely, then))

    def ask_text(self, form: PromptForm, then: Callable[[str], object], past: str = "") -> None:
        """Ask for a text; ``then`` gets what is submitted. ``past`` names where it is recalled."""

        def answered(answer: FieldInput | None) -> None:
            if answer is None:
                return
            if past and answer.text.strip():
                self.past[past].append(answer.text)
            if answer.given:
                then(answer.text)

        self.ask(replace(form, past=self.past[past][-50:]) if past else form, answered)

    def ask_yes(
        self, question: str, reason: str, then: Callable[[], object], otherwise: str = ""
    ) -> None:
        """Ask a question; do ``then`` after a yes, or say something after a no."""

        def answered(yes: bool | None) -> None:
            if yes:
                then()
            elif otherwise:
                self.say(otherwise, Tone.MUTED)

        self.ask(question_form(question, reason), answered)

    def safely(self, step: Callable[..., object], *given: object) -> None:
        """Take one step; an error of the desk becomes one line on the screen in view."""
        try:
            step(*given)
        except ReviewDeskError as error:
            self.complain(error)

    def background(
        self, name: str, work: Work, then: Callable[[Any], object] = lambda _: None, *,
        where: str = "", quiet: bool = False, **how: Any,
    ) -> None:  # fmt: skip
        """Start a job, see ``Jobs.start``, whose result ``then`` takes.

        An error is shown on the screen ``where``, unless ``quiet``.
        """

        def ended(found: object, error: ReviewDeskError | None) -> None:
            if error is None:
                then(found)
            elif not quiet:
                self.complain(error, where=where)

        self.jobs.start(name, work, ended, **how)

    # what is drawn

    def item(self, what: str) -> Item | None:
        """Return the current item; without one, say that ``what`` needs an item."""
        if self.session.item is None:
            self.say_here(f"No item to {what} here.")
        return self.session.item

    def item_to_change(self, what: str) -> Item | None:
        item = self.item(what)
        if item is None or not self.desk.read_only:
            return item
        self.say(READ_ONLY, Tone.FAIL)
        return None

    def item_with_answer(self, what: str) -> Item | None:
        item = self.item(what)
        if item is None or not self.session.hidden:
            return item
        self.say_here("hidden until the item is labelled: it shows the panel's answers")
        return None

    def show(
        self, *, keep: bool = False, rows: bool = False, changed: bool = False, seek: bool = False
    ) -> None:
        """Show the session's item; ``keep`` leaves texts scrolled, ``rows`` reads the list again.

        If the list ``changed``, only the rows that the session has forgotten are read again.
        ``seek`` scrolls to the first hit of the search. Unless ``keep``, no label key counts until
        the item has been drawn, from where it was left on.
        """
        found = self.session.found
        self.reading = replace(self.reading, find=found.words if found and found.keys else ())
        if rows:
            self.review.known.clear()
        self.fetches += rows or changed
        self.seek += seek
        if not keep:
            self._reopen(None if seek else self.session.item)
            self.guard.hide()
        self.criteria = self.review.criteria()
        self.read_reruns()

    def _reopen(self, item: Item | None) -> None:
        """Draw an item anew, from where it was left."""
        self.seen.opened(item, self.review.repeats.since(item))
        self.start = self.start + 1

    def read_reruns(self) -> None:
        """Read the re-runs of the item; none are shown while the panel's answer is hidden."""
        item = self.session.item
        self.reruns = RerunHistory()
        if item is not None and not self.session.hidden:
            made = items.of_item(self.desk, item)
            here = flip_rates([(item.verdict, made)]) if made else ()
            rerun = self.jobs.rerun
            running = rerun if rerun and item.row.key in rerun.keys else None
            # Until the rates of the run are counted, those of the item stand for them.
            self.reruns = RerunHistory(made, here, self._flips or here, running)

    def count_flips(self) -> None:
        """Count in the background how often jurors changed their votes, after new re-runs."""
        run = self.session.run
        plans = items.plans(self.desk, run)
        if plans == self._counted:
            return
        self._counted = plans

        def took(found: tuple[FlipRate, ...]) -> None:
            self._flips = found
            self.read_reruns()

        read = lambda desk, _: items.flips_of_run(desk, run)  # noqa: E731
        self.background("flip rates", read, took, quiet=True)

    def look_for_unfinished(self, *, tell: bool = False) -> None:
        """Read in the background which re-runs were cut off, and ``tell`` of them."""

        def took(found: "list[UnfinishedRerun]") -> None:
            self.unfinished = found
            if found and tell and "rerun" not in self.keys.withheld:
                key = self.keys.first("rerun") or "re-run in the palette"
                more = f", and {len(found) - 1} more" if len(found) > 1 else ""
                last = found[-1].extent
                left = f"{last.left:,} of {last.verdicts:,} left"
                self.say(f"a re-run was cut off, {left}; {key} finishes it{more}", Tone.NOTE)

        read = lambda desk, _: items.unfinished(desk)  # noqa: E731
        self.background("unfinished re-runs", read, took, quiet=True)

    def arrange(self, panes: Panes) -> None:
        if panes.shows_item and not self.panes.shows_item:
            self.guard.hide()
        self._panes = panes

    def choose_pane(self, name: str) -> None:
        self.arrange(replace(self.panes, chosen=name))

    def leave_jury(self) -> None:
        if not self.panes.wide and self.panes.current == "jury":
            self.choose_pane("item")

    def refresh(self) -> None:
        """Read the item and its row again, and leave its texts scrolled."""
        self.review.refresh()
        self.show(keep=True, rows=True)

    def follow(self) -> None:
        self.review.refresh()
        self.read_halves()
        self.recalibrate()
        self.count_flips()
        self.show(keep=True, rows=True)

    def count(self, name: str) -> None:
        self.review.session = replace(self.session, progress=self.review.progress())
        self.last_saved = f"saved ✓ {name}"

    def recalibrate(self, done: Sequence[Applied] = ()) -> None:
        """Read the strip's figures in the background, after the reviewer's actions ``done``."""
        session = self.session

        def read(desk: Desk, _report: Report) -> Strip:
            found = self.strip.read(desk, session.run, done)
            if session.view.blind:
                with desk.one_moment(done) if done else nullcontext():
                    return replace(found, blockers=calibration.skipped(desk, session.run))
            return found

        def took(found: Strip) -> None:
            self.figures = found

        self.background(FIGURES, read, took, fault="no figures", where=REVIEW)

    def assess_ahead(self) -> None:
        """Recompute in the background what comes next, once two looks find the same item."""
        item = self.session.item
        here = None if item is None else item.row.key
        before, looks = self._looked
        self._looked = here, looks + 1 if here == before else 0
        if self._looked[1] == 1:
            keys = self.review.undecided_ahead
            work = lambda desk, _: items.assess_ahead(desk, keys)  # noqa: E731
            self.background("ahead", work, quiet=True)

    def read_halves(self) -> None:
        """Read in the background which half of a split each labelled item belongs to."""
        run = self.session.run

        def took(found: SplitLabels | None) -> None:
            if run.hash == self.session.run.hash:
                self.halves = found

        self.background("halves", lambda desk, _: known_halves(desk, run), took, quiet=True)

    @property
    def half(self) -> str:
        """The half of the split that the item in view belongs to; empty without a split."""
        item = self.session.item
        if item is None or self.halves is None:
            return ""
        verdict = item.verdict
        group = group_of(verdict.text("input"), verdict.test, verdict.id)
        return self.halves.split.half(group) or ""

    # sessions and screens

    def go(self, page: Any) -> bool:
        """Bring a screen or the review into view unless a dialog is open; return if it changed."""
        if self.asking or (page and page.where) == (self.page and self.page.where):
            return False
        self.page = page
        if page is None:
            self._reopen(self.session.item)
            self.guard.hide()
        else:
            self.notices[page.where] = Notice()
        return True

    def pane(self, name: str) -> None:
        self.go(None)
        self.choose_pane(name)

    def review_run(self, run: Run, item: str | None = None) -> None:
        """Review ``run`` where its reviewer left it, at the verdict ``item`` if one is given."""
        # Looked up before anything changes: an unknown verdict must leave the review as it is.
        key = None if item is None else self.desk.find(run, item)
        self.go(None)
        if run.hash != self.session.run.hash:
            self.review.save()
            self.reasons = None
            blind = self.session.view.blind
            view = self.desk.view(run) or View(blind=blind)
            self.outbox.keep("opened", lambda desk: desk.opened(run))
            self.review = ReviewSession(
                self.desk, run, view, outbox=self.outbox, settings=self.settings,
                claims=self.review.claims, earlier=self.review,
            )  # fmt: skip
            notice = self.review.dropped
            if view.blind is not blind:
                notice = f"{'blind' if view.blind else 'open'}, as this run was left"
            self.index()
            self.figures = Strip()
            self._counted = frozenset()
            self._flips = ()
            self.halves = None
            self.read_halves()
            self.last_saved = "read-only" if self.desk.read_only else ""
            self.say(notice if self.session.item else "", where=REVIEW)
            self.recalibrate()
            self.count_flips()
            self.leave_jury()
        if key is not None:
            self.review.goto(key)
        self.show(rows=True)

    def index(self) -> None:
        """Measure the run and make its texts searchable, in the background."""
        run = self.session.run

        def work(desk: Desk, report: Report) -> object:
            return filters.index(desk, run, lambda share, _count: report(share))

        arrived = lambda _: self.page.arrived() if self.where == RUNS else None  # noqa: E731
        self.background(INDEX, work, arrived)

    def back_up(self) -> None:
        """Copy the desk in the background, if labels of an earlier day are in no backup."""
        kept = self.settings.backups
        work = lambda desk, report: backups.after_labels(desk, report, kept)  # noqa: E731
        self.background(BACKUP, work, fault="no backup was made")
