"""Re-runs: who is asked, what needs consent, ballots as they come, and the result in words."""

import asyncio
import json
from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from reviewdesk.app.controllers.jobs import Job
from reviewdesk.app.paint.frame import asking_lines
from reviewdesk.domain.panel.rerun import RerunSummary
from reviewdesk.errors import ReviewDeskError
from tests.app.panelkit import broken, form_of, opened, panel_file
from tests.app.reviewkit import Review
from tests.live.server import Reply, Server
from tests.live.server import verdict as said


def agree(review: Review, index: int | None = None) -> None:
    """Choose a line, by default that of the whole panel, and consent once it has been read."""
    form = form_of(review)
    whole = [text for text, _ in form.offers()].index("the whole panel")
    form.choose(whole if index is None else index)
    consent(review)


def consent(review: Review) -> None:
    """Agree to what is prepared, once it has been read."""
    form = form_of(review)
    assert form.ready is not None
    form.drawn()
    review.clock.wait(1)
    assert form.agree()
    review.answer_quietly(form.ready)


async def ask(review: Review, job: Job | None = None) -> None:
    """Run the job of a re-run in a thread, as the app does, while the test's server answers."""
    job = job or review.runner.waiting.pop("asking")
    ballots: list[object] = []

    def report(ballot: object) -> bool:
        ballots.append(ballot)
        return True

    def work() -> tuple[object, ReviewDeskError | None]:
        reader = review.desk.reader()
        try:
            return job.work(reader, report), None
        except ReviewDeskError as error:
            return None, error
        finally:
            reader.close()

    found, error = await asyncio.to_thread(work)
    for ballot in ballots:
        review.controller.safely(partial(job.heard, ballot))
    review.controller.safely(partial(job.ended, found, error))
    review.after()


async def asked(review: Review, reply: Reply = said, index: int | None = None) -> list[str]:
    async with Server(reply=reply) as server:
        panel_file(Path(review.controller.settings.panel), server.url)
        review.press("rerun")
        agree(review, index)
        await ask(review)
        return [call.payload["model"] for call in server.calls]


def test_ballots_come_one_by_one_while_the_review_goes_on(tmp_path: Path) -> None:
    review = opened(tmp_path)
    review.press("rerun")
    agree(review)
    assert review.notice.startswith("asking 3 jurors again; ctrl+x stops")
    job = review.runner.waiting.pop("asking")
    running = review.state.reruns.running
    assert running is not None
    assert running.asked == ("judge-0", "judge-1", "judge-2")
    review.controller.safely(lambda: job.heard({"id": "judge-1", "pass": True, "score": 0.8}))
    running = review.state.reruns.running
    assert running is not None
    assert [one["id"] for one in running.came] == ["judge-1"]
    # It is asked about once at a time.
    review.press("rerun")
    form_of(review).choose(0)
    assert "a re-run is under way already" in form_of(review).problem
    review.answer_quietly(None)
    # Another item is no place for these ballots.
    review.press("label.pass")
    assert review.state.reruns.running is None
    review.press("stop")
    assert review.notice == "stopped: asking"
    assert " · stopping" in asking_lines(review.state.jobs.rerun, 80)[0].plain
    review.press("screen.calibration")
    review.controller.safely(lambda: job.ended(RerunSummary(), None))
    ended = "stopped: 0 verdicts asked again: 0 answered; 0 turned over"
    assert review.notice == ended
    review.press("leave")
    assert (review.state.where, review.notice) == ("review", ended)
    assert review.state.jobs.rerun is None


async def test_the_whole_panel_the_missing_or_one_juror_is_asked(tmp_path: Path) -> None:
    review = opened(tmp_path, broken())
    assert await asked(review, index=0) == ["model-judge-2"]
    # Two passes of three, and before two of two.
    assert review.notice == "1 verdict asked again: 1 answered; 0 turned over"
    assert await asked(review, index=3) == ["model-judge-1"]
    assert len(await asked(review)) == 3
    assert len(review.state.reruns.reruns) == 3


@pytest.mark.parametrize(
    ("index", "told"), [(None, "1 answered, 2 failed"), (1, "0 answered, 1 failed")]
)
async def test_answers_and_failures_are_told_apart(tmp_path: Path, index: Any, told: str) -> None:
    def some(seen: Any) -> str:
        return said(seen) if seen.payload["model"].endswith("1") else "no JSON here"

    review = opened(tmp_path)
    await asked(review, some, index)
    assert review.notice.startswith(f"1 verdict asked again: {told}; ")


def reruns(review: Review) -> Sequence[object]:
    return review.state.reruns.reruns


def failing(seen: Any) -> str:
    return said(seen, **{"pass": False}, score=0.2, reason="it is wrong")


async def test_a_flipped_decision_is_told_and_copied(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    review = opened(tmp_path)
    await asked(review)
    await asked(review, failing)
    assert "3 answered; 1 turned over (1 pass → fail); \\ rerun:flipped" in review.notice
    review.press("copy.json")
    assert [one["flipped"] for one in json.loads(review.copied)["reruns"]] == [False, True]


async def test_a_blind_session_tells_no_decision_and_shows_labelled_reruns(tmp_path: Path) -> None:
    review = opened(tmp_path)
    await asked(review, failing)
    review.press("blind")
    review.command("go item/001")
    assert review.session.hidden
    assert not reruns(review)
    review.press("label.pass", "back")
    assert len(reruns(review)) == 1
    await asked(review)
    assert review.notice == "1 verdict asked again: 3 answered"
