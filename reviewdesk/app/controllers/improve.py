"""From labels to a better panel: its errors, candidates, tries on the holdout, adoption."""

from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from threading import Event

from msgspec.structs import replace

from reviewdesk.app.controllers.core import CALIBRATION, Core
from reviewdesk.app.controllers.jobs import PREPARING, TRYING, Report
from reviewdesk.app.controllers.rerun import ask_ceiling, run_until, seldom
from reviewdesk.app.controllers.state import (
    MOVES_AND_CLOSES,
    SCROLLS_AND_CLOSES,
    Act,
    Choice,
    DialogPage,
    PageForm,
    PromptForm,
    one_page,
)
from reviewdesk.app.keys.commands import panel_files
from reviewdesk.desk import improve as candidates
from reviewdesk.desk.core import Desk
from reviewdesk.desk.improve import PreparedTry
from reviewdesk.desk.labels.split import make_split, split_labels
from reviewdesk.domain.labels.improve import PanelAdopted, SplitLabels, TryVerdict, WrittenCandidate
from reviewdesk.domain.panel.asking import Listener, Turnouts
from reviewdesk.domain.safetext import show_line
from reviewdesk.errors import ReviewDeskError
from reviewdesk.views import improve as views
from reviewdesk.views.document import Document, Tone
from reviewdesk.views.panel import consent
from reviewdesk.views.words import money


def open_page(core: Core, argument: str = "") -> None:
    """Open the page of a panel file, and ask for the file unless a chosen one exists."""
    if core.session.withheld:
        core.say("the panel's answers are kept back, as your settings say", Tone.MUTED)
        return
    panel = Path(argument or core.settings.panel).expanduser()
    if argument or panel.is_file():
        ImprovePage(core, panel).open()
        return
    there = [one.text for one in panel_files("", 0).options if not one.text.endswith("/")]
    form = PromptForm(
        "Panel to improve",
        there[0] if len(there) == 1 else "",
        complete=panel_files,
        hint="the panel of this run: what it gets wrong, and changes to try",
    )
    core.ask_text(form, lambda name: open_page(core, name) if name else None)


_Found = tuple[SplitLabels, dict[str, int | None]]
_STEPS = {"s": "splits the labels", "e": "edits the panel"}


class ImprovePage:
    """What a run and a panel file give to improve: what is wrong and adopted, the candidates."""

    def __init__(self, core: Core, panel: Path) -> None:
        self._core = core
        self._panel = panel
        self._run = core.session.run
        self._most: float | None = None
        """What a try may cost, in US dollars."""

    def open(self, at: int = 0, said: str = "") -> None:
        """Read what is wrong and what may be changed, and show it; ``said`` is a step's result."""
        core = self._core
        core.say(said or f"reading what {show_line(self._panel.name, 80)} gets wrong …", Tone.NOTE)

        def read(desk: Desk, _report: Report) -> _Found:
            labels = split_labels(desk, self._run)
            return labels, candidates.offers(labels, self._panel)

        def there(found: _Found) -> None:
            if core.asking or self._run.hash != core.session.run.hash:
                return
            self._labels, self._offers = found
            core.settings = core.settings.choosing({"panel": str(self._panel.absolute())})
            core.halves = self._labels
            core.say(said, Tone.NOTE)
            turns = {"tab": 1, "shift+tab": -1}
            form = PageForm(self._pages().__getitem__, 2, at, turns)
            core.ask(form, lambda act: act and act())

        if not core.asking:
            core.background("improve", read, there, fault="nothing to improve")

    def _pages(self) -> tuple[DialogPage, ...]:
        split = self._labels.split
        answers: dict[str, Callable[[], None]] = {}
        if self._labels.later or not split.holdout:
            answers["s"] = self._split
        if split.tuning:
            answers["e"] = self._edit
        steps = [(key, _STEPS[key]) for key in answers]
        page = partial(
            DialogPage, name=show_line(self._panel.name, 80), answers=answers, width=112,
            note=f"labels of {show_line(self._run.name, 60)}",
        )  # fmt: skip
        wrong = (*steps, ("tab", "candidates"), *SCROLLS_AND_CLOSES)
        chosen = (("enter", "does it"), *steps, ("tab", "what is wrong"), *MOVES_AND_CLOSES)
        return (
            page("Improve", wrong, document=views.improve(self._labels)),
            page("Candidates for", chosen, choices=[*self._choices()]),
        )

    def _choices(self) -> Iterator[Choice]:
        tried = {begun.file: word for begun, word in self._labels.split.tries.values()}
        for path in candidates.beside(self._panel):
            name = show_line(path.name, 60)
            if tried.get(path.name) is TryVerdict.BETTER:
                yield Choice(f"adopt {name}: it is better", partial(self._adopt, path))
                continue
            word = tried.get(path.name) or "cut off; this continues it"
            told = f": {word}" if path.name in tried else ""
            yield Choice(f"try {name}{told}", partial(self._try, path))
        for change, right in self._offers.items():
            if change:
                told = "  ".join(views.right_text(self._labels, right))
                step = partial(self._write, change)
                yield Choice(f"write {show_line(change, 60):<30}  right: {told}", step)

    def _split(self, *, open_labels: bool = False) -> None:
        core = self._core

        def ended(_made: object, error: ReviewDeskError | None) -> None:
            if error is None:
                self.open()
            elif self._labels.left_out and not open_labels:
                again = partial(self._split, open_labels=True)
                why = f"{error.message}. {views.LEANING}"
                core.ask_yes("Split labels not given blind, too?", why, again)
            else:
                core.complain(error)

        work = lambda desk, _: make_split(desk, self._run, open_labels=open_labels)  # noqa: E731
        core.jobs.start("splitting", work, ended)

    def _edit(self, text: str = "") -> None:
        """Open the panel in an editor; an unusable text may be edited again."""
        core = self._core

        def edited(made: str | None) -> None:
            if made is None:
                core.say(candidates.NOTHING_SAVED, Tone.MUTED)
                return
            try:
                self._written(candidates.written(self._labels, self._panel, made))
            except ReviewDeskError as error:
                again = partial(self._edit, made)
                core.ask_yes("Edit it again?", str(error), again, "there is no candidate")

        draft = text or candidates.draft(self._labels, self._panel)
        core.request("edit", draft, ".yaml", edited)

    def _write(self, change: str) -> None:
        self._written(candidates.made(self._labels, self._panel, change))

    def _written(self, found: WrittenCandidate) -> None:
        said = f"written: {show_line(str(found.path), 120)}"
        self._show("Written", views.candidate(found), 1, said)

    def _show(self, title: str, document: Document, at: int, said: str) -> None:
        """Show what a step made, and then the page again."""
        page = DialogPage(title, SCROLLS_AND_CLOSES, document=document, width=112)
        self._core.ask(one_page(page), lambda _: self.open(at, said))

    def _try(self, candidate: Path) -> None:
        core = self._core
        shown = show_line(candidate.name, 80)
        guard = core.new_guard()

        def page(ready: PreparedTry, _at: int) -> DialogPage:
            most = self._most
            told = [views.before_try(len(ready.rows), ready.k, ready.gain, asks=ready.begun.asks)]
            agreed = replace(ready, limits=replace(ready.limits, max_cost=most))
            # Too soon after the page came, nobody can have read it.
            acts: dict[str, Act] = {
                "y": lambda _: agreed if guard.press("y", core.late) else None,
            }
            keys = [("y", "tries it"), ("j k", "scroll"), ("n esc enter", "send nothing")]
            if (plan := ready.plan) is not None:
                told.append(consent(plan, "both panels", ceiling=most))
                keys.insert(1, ("c", "ceiling"))
                use = partial(setattr, self, "_most")
                acts["c"] = lambda _: ask_ceiling(core, most, use, plan.check_ceiling)
            return DialogPage(
                "Try", tuple(keys), shown, "" if most is None else f"at most {money(most)}",
                document=Document(tuple(told)), acts=acts, strict=True, width=112,
            )  # fmt: skip

        def there(ready: PreparedTry) -> None:
            if not core.asking:
                core.say("")
                then = partial(self._carry_out, shown)
                core.ask(PageForm(partial(page, ready), drawn=guard.shown), then)

        core.say(f"reading what trying {shown} would send …", Tone.MUTED)
        prepare = lambda desk, _: candidates.prepare(desk, self._run, candidate)  # noqa: E731
        core.background(PREPARING, prepare, there, fault="no try")

    def _carry_out(self, shown: str, ready: PreparedTry | None) -> None:
        core = self._core
        if ready is None:
            core.say("nothing was sent", Tone.MUTED)
            return
        stop = Event()

        def work(desk: Desk, report: Report) -> object:
            told = seldom(lambda progress: report(progress.done / max(progress.cases, 1)))
            return run_until(candidates.carry_out(desk, ready, Listener(told=told)), stop)

        def ended(outcome: tuple[TryVerdict | None, Turnouts] | None) -> None:
            text = "stopped; the same try continues later"
            if outcome is not None:
                verdict, turnouts = outcome
                text = verdict or f"no result: {show_line(turnouts.main_loss, 200)}"
            # Over an item, a dialog would take a key that is meant for the review.
            if core.where == CALIBRATION:
                self.open(1, f"{shown}: {text}")
            else:
                core.say(f"{shown}: {text}", Tone.NOTE)

        what = "a candidate is being tried"
        core.background(TRYING, work, ended, what=what, stop=stop, secret=True)
        key = core.keys.first("stop") or ":stop"
        core.say(f"trying {shown} beside its parent; {key} stops", Tone.NOTE)

    def _adopt(self, candidate: Path) -> None:
        core = self._core

        def there(made: tuple[Path, Path, PanelAdopted]) -> None:
            _, kept, adopted = made
            said = f"adopted; the parent is {show_line(kept.name, 80)}"
            self._show("Adopted", Document((views.adoption(adopted),)), 0, said)

        work = lambda desk, _: candidates.adopt(desk, self._run, candidate)  # noqa: E731
        core.ask_yes(
            f"Adopt {show_line(candidate.name, 80)}?",
            f"It takes the place of {show_line(str(self._panel), 200)}, whose file is kept beside "
            "it. The holdout is spent.",
            lambda: core.background("adopting", work, there, fault="nothing was adopted"),
        )
