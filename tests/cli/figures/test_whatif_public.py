"""Whole public runs under every policy, recounted from what each verdict is under it."""

import json
from contextlib import closing
from pathlib import Path

import pytest

from reviewdesk.desk.figures.whatif import what_if_item
from tests.cli.conftest import Cli
from tests.helpers import SHARED, open_desk

DATA = SHARED / "data"
BOTH = {"pass", "fail"}

pytestmark = pytest.mark.skipif(not DATA.is_dir(), reason="the shared public data are not here")


@pytest.mark.slow
@pytest.mark.parametrize("name", ["llmbar-rating-natural", "llmbar-cot-natural", "triviaqa-gpt4t"])
def test_every_policy_is_as_a_recount_has_it(name: str, cli: Cli, desk_path: Path) -> None:
    file, truths = DATA / f"{name}.report.json", DATA / f"{name}.truth.jsonl"
    assert cli("ingest", file).code == 0
    assert cli("labels", "import", truths).code == 0
    verdicts = json.loads(file.read_text(encoding="utf-8"))["verdicts"]
    lines = map(json.loads, truths.read_text(encoding="utf-8").splitlines())
    truth = {line["id"]: line["truth"] for line in lines}
    standing, *rows = cli("whatif", "--json").json
    jurors = {juror["id"] for verdict in verdicts for juror in verdict["jurors"]}
    # Ten rules, five trims by three roundings, seven quorums, five thresholds, and the jurors.
    assert len(rows) == 10 + 15 + 7 + 5 + len(jurors)
    with closing(open_desk(desk_path)) as desk:
        run = desk.run()
        every = [desk.item(desk.find(run, verdict["id"])) for verdict in verdicts]
    items = {
        item.verdict.id: {one.variant.name: one.decision for one in what_if_item(item)}
        for item in every
    }
    for row in rows:
        now = [(item, made.get(row["policy"])) for item, made in items.items()]
        decided = [(item, made) for item, made in now if made in BOTH]
        right = [made == truth[item] for item, made in decided if truth.get(item) in BOTH]
        turned = [(verdicts[at]["decision"], made) for at, (_, made) in enumerate(now)]
        expected = {
            "flipped": sum({*pair} == BOTH for pair in turned),
            "decided": len(decided),
            "undecided": sum(made is None for _, made in now),
            "n_labelled": len(right),
            "accuracy": sum(right) / len(right) if right else None,
        }
        assert {key: row[key] for key in expected} == pytest.approx(expected, abs=1e-9), row
    calibrated = cli("calibrate", "--json").json
    assert standing["policy"] == "as it stands"
    for key in ("accuracy", "brier", "ece", "design", "confidence_source"):
        assert standing[key] == calibrated[key]
    assert standing["pass_rate"] == calibrated["observed_positive_rate"]
    assert (standing["flipped"], standing["n_labelled"]) == (0, calibrated["n"])
