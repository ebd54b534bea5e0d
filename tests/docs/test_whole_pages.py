"""Pages run whole, as they say it: the tutorial, the way to gates, and that from cross-judge."""

import json
import os
import re
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from reviewdesk.app.controllers.state import PageForm
from reviewdesk.desk.core import Desk
from reviewdesk.domain.assessment.result import Flag
from reviewdesk.domain.records import Truth
from reviewdesk.live.records import Request, Response
from reviewdesk.live.wires import transport
from reviewdesk.reports.bytes.source import Source
from reviewdesk.reports.panels.panel_file import read_panel
from tests.app.reviewkit import Review
from tests.docs.pages import DOCS, blocks, run_page
from tests.helpers import ROOT, SAMPLES, Clock, environment

RUN, SECOND = "support-bot.jsonl", "support-bot-second-panel.jsonl"


@pytest.fixture
def review(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Review]:
    """The sample, opened as step 1 opens it, from a folder that looks like a clone."""
    shutil.copytree(SAMPLES, tmp_path / "sample_runs")
    monkeypatch.chdir(tmp_path)
    desk = Desk.open(tmp_path / "desk.db", reviewer="ada", clock=Clock())
    yield Review(desk, desk.load(Source.from_path(Path("sample_runs", RUN))).run)
    desk.close()


def label(review: Review, action: str) -> str:
    """Press a label key until it labels: it scrolls to a response that was not on screen."""
    item = review.item
    for _ in range(20):
        review.press(action, wait=1)
        if review.desk.item(item.row.key).row.label is not None:
            return item.verdict.id
    raise AssertionError(f"{item.verdict.id} takes no label: {review.notice}")


def test_labels_are_given_taken_back_and_brought_back(review: Review) -> None:
    assert review.current == "insurance-excess"
    first = label(review, "label.pass")
    assert review.current != first
    review.press("undo")
    assert (review.current, any(review.labels)) == (first, False)
    review.press("redo")
    assert review.labels.count(Truth.PASS) == 1
    review.press("next", "back")
    assert review.labels.count(Truth.PASS) == 1


def test_trimmed_dissents_and_words_are_found(review: Review) -> None:
    every = len(review.session.keys)
    review.typed("filter", "trim")
    assert 0 < len(review.session.keys) < every
    assert all(Flag.TRIMMED_DISSENT in row.flags for row in review.desk.rows(review.session.keys))
    review.command("filter")
    assert len(review.session.keys) == every
    review.typed("search", "sorry")
    before = review.current
    review.press("search.next")
    assert review.current != before


def test_what_went_wrong_is_tagged_and_found_again(review: Review) -> None:
    label(review, "label.fail")
    review.typed("tags", "wrong-policy, tone")
    tagged = review.current
    review.press("mark")
    # The report has a tag of that name, too.
    for wanted, most in (("tag:tone", 10), ("tag:wrong-policy", 1), ("mark", 1)):
        review.command(f"filter {wanted}")
        assert review.current == tagged
        assert len(review.session.keys) <= most


def test_second_panel_is_compared_and_labels_are_taken_away(review: Review, tmp_path: Path) -> None:
    label(review, "label.fail")
    review.command(f"open sample_runs/{SECOND}")
    assert review.session.run.name == SECOND.removesuffix(".jsonl")
    review.command("compare")
    assert isinstance(review.dialog, PageForm)
    review.answer(None)
    review.command(f"run {RUN.removesuffix('.jsonl')}")
    review.command("export labels.jsonl")
    (row,) = (tmp_path / "labels.jsonl").read_text(encoding="utf-8").splitlines()
    assert json.loads(row).keys() == {"confidence", "correct"}


def test_the_page_says_what_is_done_here() -> None:
    text = " ".join((DOCS / "tutorial.md").read_text(encoding="utf-8").split())
    for said in (
        f"`:open sample_runs/{SECOND}`", "`:compare`", "`:export labels.jsonl`", "`:filter`",
        "type `trim`", "`/` then `sorry`", "`wrong-policy, tone`", "`tag:tone` or `mark`",
    ):  # fmt: skip
        assert said in text


@pytest.mark.slow
def test_every_command_of_the_way_does_what_it_says(tmp_path: Path) -> None:
    finished, stderr = run_page(DOCS / "how-to" / "gates-in-ci.md", tmp_path)
    assert [one.code for one in finished] == [0, 0, 0, 1, 0, 0, 1, 3, 3, 1, 0, 0], stderr
    assert [one.code for one in finished] == [one.block.code for one in finished]
    (
        opened, imported, figures, failed, passed, joined, worse, changed, unsure, against, job,
        made,
    ) = (one.stdout for one in finished)  # fmt: skip
    assert len(opened.splitlines()) >= 40
    assert imported.startswith("40 rows, 40 labelled, 40 of them new, 0 unknown, 0 conflicts")
    assert "every decided verdict is labelled" in imported
    assert figures.startswith(
        "May this judge decide alone? Not alone: it passes 5 of 13 bad answers (new items, 95%: "
        "up to 65%; the limit is 20%)."
    )
    assert "ECE 0.057" in " ".join(figures.split())
    assert failed.startswith("FAIL")
    # Wilson's interval of 8 of 13 begins at 0.355.
    assert "specificity_low is 0.35" in failed
    assert "must be at least 0.8, margin -0.4" in failed
    assert passed.startswith("PASS")
    # A better judge leaves the job green, and one that passes everything catches none of 13.
    assert joined.startswith("PASS")
    assert "of report.jsonl: 40 of 40 labels joined" in joined
    assert worse.startswith("FAIL")
    assert "specificity_low is 0, must be at least 0.3" in worse
    assert "answer changed" in changed
    assert "not shown: the judge of library-desk (only " in stderr
    # Wilson's interval of 33 of 40 begins at 0.68.
    assert unsure.startswith("NOT SHOWN")
    assert "accuracy is 0.825, 0.6805 to 0.9125, must be at least 0.75" in unsure
    assert "(accuracy is 0.6805 to 0.9125, which reaches past 0.75)" in stderr
    same, change = against.split("FAIL")
    # Tango's interval of 0 and 0 of 40 ends at 0.0876; 5 of 40 are gained and 25 lost.
    assert "change_from_parent is 0, -0.08762 to 0.08762, must be at least -0.1" in same
    assert "change_from_baseline is -0.5, -0.6831 to -0.2477" in change
    assert job.endswith("every gate passed\n")
    assert made.startswith("written  panel.yml\n")
    assert "specificity_low is 0.355229, must be at least 0.35" in made
    # The job itself, on the day when the panel is worse.
    (tmp_path / "worse.jsonl").replace(tmp_path / "report.jsonl")
    path = f"{tmp_path}/.venv/bin:{os.environ['PATH']}"
    again = subprocess.run(
        ["sh", "-c", finished[-2].block.text], cwd=tmp_path, stdin=subprocess.DEVNULL,
        env=environment(tmp_path / "desk.db") | {"PATH": path}, capture_output=True, text=True,
        check=False,
    )  # fmt: skip
    assert again.returncode == 1, again.stdout + again.stderr
    assert again.stdout.endswith("a gate failed: the judge is not what the suite expects\n")
    assert (tmp_path / "judge-gates.xml").read_bytes().startswith(b"<?xml")
    labels = (tmp_path / "judge" / "labels.jsonl").read_text(encoding="utf-8").splitlines()
    assert {json.loads(line)["weight"] for line in labels} == {1.0}
    assert not {"input", "output", "rubric"} & json.loads(labels[0]).keys()


CROSS_JUDGE = DOCS / "how-to" / "from-cross-judge.md"


SENT: list[str] = []


class Vendors:
    """Anthropic says "keep." and OpenAI "SPLIT"; each request is kept."""

    async def send(self, request: Request) -> Response:
        SENT.append(json.dumps(json.loads(request.body)))
        nonce = re.findall(r'nonce\\": \\"(\w+)', SENT[-1])[-1]
        word = "keep." if "anthropic" in request.url else "SPLIT"
        text = json.dumps({"reason": "r", "label": word, "confidence": 0.8, "nonce": nonce})
        answer = (
            {"content": [{"type": "text", "text": text}], "stop_reason": "end_turn"}
            if "anthropic" in request.url
            else {"choices": [{"message": {"content": text}, "finish_reason": "stop"}]}
        )
        return Response(200, {"content-type": "application/json"}, json.dumps(answer).encode())

    async def close(self) -> None:
        """Hold nothing open."""


def test_the_whole_page_runs_and_its_panel_asks_for_labels(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    monkeypatch.chdir(ROOT)
    monkeypatch.setattr(transport, "HttpTransport", Vendors)
    SENT.clear()
    for name in ("ANTHROPIC_API_KEY", "OPENAI_API_KEY"):
        monkeypatch.setenv(name, "test-key")
    names: dict[str, Any] = {}
    for block in blocks(CROSS_JUDGE):
        if block.language == "python":
            exec(compile(block.text, str(CROSS_JUDGE), "exec"), names)  # noqa: S102 - our own page
    # One KEEP against one REJECT: the priority decides for REJECT. One KEEP is all of one.
    # Live, KEEP and SPLIT tie; of the two only KEEP has a priority, and half of the jurors say it.
    assert capsys.readouterr().out.splitlines() == ["REJECT True", "KEEP", "KEEP 0.5 pass"]
    schemas = "".join(SENT)
    assert schemas.count('"enum": ["KEEP", "REJECT", "SPLIT", null]') == 2
    assert '\\"KEEP\\" or \\"REJECT\\" or \\"SPLIT\\"' in schemas
    # The panel file of the page describes the same rule.
    (yaml,) = [one.text for one in blocks(CROSS_JUDGE) if one.language == "yaml"]
    file = tmp_path / "labels.yaml"
    file.write_text(yaml.replace("sample_runs", str(ROOT / "sample_runs")), encoding="utf-8")
    read, made = read_panel(file).rule, names["panel"].rule
    assert (read.strategy, read.labels, read.passing, read.failing) == (
        made.strategy, made.labels, made.passing, made.failing,
    )  # fmt: skip
