"""Logs that Inspect itself wrote, held against a plain walk over their JSON."""

import io
import json
import math
import zipfile
from pathlib import Path
from typing import Any

import pytest
import zstandard

from reviewdesk.reports import Source, read
from tests.helpers import SHARED, verdict_problem

FILES = SHARED / "formats" / "inspect"
pytestmark = pytest.mark.skipif(not FILES.exists(), reason="the real files are not beside this")


def _plain(path: Path) -> list[Any]:
    """The samples of a log, read without any of our code."""
    if path.suffix == ".json":
        samples: list[Any] = json.loads(path.read_text())["samples"]
        return samples
    data = path.read_bytes()
    found = []
    for info in zipfile.ZipFile(io.BytesIO(data)).infolist():
        if info.filename.startswith("samples/"):
            at = info.header_offset
            skip = int.from_bytes(data[at + 26 : at + 28], "little") + int.from_bytes(
                data[at + 28 : at + 30], "little"
            )
            raw = data[at + 30 + skip : at + 30 + skip + info.compress_size]
            if info.compress_type == 93:
                reader = zstandard.ZstdDecompressor().stream_reader(raw, read_across_frames=True)
                found.append(json.loads(reader.read()))
            else:
                found.append(json.loads(zipfile.ZipFile(io.BytesIO(data)).read(info)))
    return found


CHECKED = "deterministic check"
"""What the one scorer of these logs that asks no model says."""

WORTH = {"C": 1.0, "I": 0.0}


def _cast(value: Any) -> tuple[float | None, bool | None]:
    """The score and the vote of a value; a number votes for nothing by itself."""
    if value is None or (isinstance(value, float) and math.isnan(value)):
        return None, None
    if isinstance(value, str):
        return WORTH[value], value == "C"
    return float(value), value if isinstance(value, bool) else None


def _answers(sample: Any) -> list[tuple[float | None, bool | None, str | None]]:
    """Score, vote and reason of each ballot that a sample of these logs holds."""
    models = {
        (event["span_id"], event["model"]): event["output"]["completion"]
        for event in sample["events"]
        if event["event"] == "model"
    }
    found: list[tuple[float | None, bool | None, str | None]] = []
    for score in sample["scores"].values():
        first = score["history"][0] if score["history"] else score
        if first.get("explanation") == CHECKED:
            continue
        votes = (first.get("metadata") or {}).get("panel", {}).get("votes")
        if votes is None:
            found.append((*_cast(first["value"]), first.get("explanation")))
            continue
        # the calls of a panel stand in the order of its seats, one for each
        for vote, said in zip(votes, models.values(), strict=True):
            found.append((*_cast(vote), None if vote is None else said))
    return found


@pytest.mark.parametrize("path", sorted(FILES.glob("*")), ids=lambda path: path.name)
def test_every_ballot_is_what_the_log_says(path: Path) -> None:
    bodies = list(read(Source.from_path(path)).verdicts())
    samples = _plain(path)
    assert [body["case"]["test"] for body in bodies] == [sample["id"] for sample in samples]
    for body, sample in zip(bodies, samples, strict=True):
        assert verdict_problem(body) is None
        assert [
            (juror.get("score"), juror.get("pass"), juror.get("reason")) for juror in body["jurors"]
        ] == _answers(sample)
        assert body["output"] == sample["output"]["completion"]
        assert (body["input"], body["reference"]) == (sample["input"], sample["target"])
        assert body["generator"] == {"model": "mockllm/model"}


@pytest.mark.parametrize("path", sorted(FILES.glob("*")), ids=lambda path: path.name)
def test_one_scorer_decides_and_several_do_not(path: Path) -> None:
    for body, sample in zip(read(Source.from_path(path)).verdicts(), _plain(path), strict=True):
        scores = [one for one in sample["scores"].values() if one.get("explanation") != CHECKED]
        if len(scores) > 1:
            assert "decision" not in body
            continue
        (score,) = scores
        first = score["history"][0] if score["history"] else score
        number, vote = _cast(first["value"])
        decision = {True: "pass", False: "fail", None: "inconclusive"}[vote]
        assert (body["decision"], body.get("score")) == (decision, number)
        assert body.get("escalate_for_review", False) is (vote is None)


def test_the_prose_panel() -> None:
    report = read(Source.from_path(FILES / "jury-panel-prose.json"))
    bodies: list[Any] = list(report.verdicts())
    failed = [
        juror for body in bodies for juror in body["jurors"] if juror.get("status") == "parse_fail"
    ]
    samples = json.loads((FILES / "jury-panel-prose.json").read_text())["samples"]
    panels = [sample["scores"]["model_graded_qa"]["metadata"]["panel"] for sample in samples]
    assert len(failed) == sum(len(panel["failures"]) for panel in panels) == 8
    assert all(juror["error"]["message"].startswith("Grade not found") for juror in failed)
    assert sum(body["decision"] == "inconclusive" for body in bodies) == 4
    # one NaN a consensus, and as many in the events and in the reductions
    assert report.notes == ["replaced 12 numbers NaN or Infinity by null"]


def test_the_edited_score() -> None:
    labels = [
        body.get("human") for body in read(Source.from_path(FILES / "human-edited.json")).verdicts()
    ]
    assert labels == [
        {
            "label": "pass", "by": "reviewer-1", "at": "2026-11-21T20:49:58.860318Z",
            "note": "human reviewer: instruction is followed\ntriage",
        },
        *[None] * 7,
    ]  # fmt: skip


def test_the_roles() -> None:
    for body in read(Source.from_path(FILES / "jury-roles.json")).verdicts():
        (graded,) = body["jurors"]
        assert (graded["role"], graded["model"]) == ("grader", "openai-api/mock/judge-neutral")
        assert [(check["name"], check["reason"]) for check in body["checks"] or ()] == [
            ("exact_judge", CHECKED)
        ]
