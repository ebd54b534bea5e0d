"""No verdict shows a band that its own value contradicts, unless its report states the two."""

from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest

from reviewdesk.desk.core import Desk
from reviewdesk.desk.loading import LoadOptions
from reviewdesk.domain.gates.expect import JuryReadings, Origin
from reviewdesk.domain.jury.scores import band
from reviewdesk.domain.records import Item
from reviewdesk.domain.verdict import Band
from reviewdesk.errors import ReviewDeskError
from reviewdesk.reports import Source
from reviewdesk.views.json import review as shapes
from tests.helpers import SAMPLES, SHARED, load, report, verdict

COT = SHARED / "data" / "llmbar-cot-natural.report.json"
NAMED = {"krippendorff_alpha", "r_wg"}
BANDED = NAMED | {"unknown"}
CASES = report(
    verdict("pairwise", 0.9, 0.2, agreement={"value": 1.0, "metric": "pairwise"}),
    verdict("alpha", 0.9, 0.2, agreement={"value": 0.9, "metric": "krippendorff_alpha"}),
    verdict("against", 0.9, 0.2, agreement={"value": 0.9, "metric": "r_wg"}, band="low"),
    verdict("unnamed", 0.9, 0.2, agreement={"value": 0.9, "metric": "unknown"}, band="low"),
    verdict("null", 0.9, 0.2, agreement={"value": None, "metric": "krippendorff_alpha"}),
    verdict("word", 0.9, 0.2, band="high"),
    verdict("ours", 0.9, 0.2),
    verdict("lone", 0.9),
)


def shown(desk: Desk) -> Iterator[tuple[Item, dict[str, Any]]]:
    """Up to about a dozen verdicts of each run with their lines of ``queue --json``."""
    for run in desk.runs():
        keys = desk.queue(run)
        for row in desk.rows(keys[:: max(1, len(keys) // 12)]):
            yield desk.item(row.key), shapes.queue_row(run, row)


def hold(item: Item, line: dict[str, Any]) -> None:
    """One source for value and band, on the record, in both JSON shapes and in gates."""
    stated, pair = item.verdict, item.assessment.pair
    told = shapes.verdict(item)
    stands = (pair.value, pair.band, pair.source)
    assert (line["agreement"], line["band"], line["agreement_source"]) == stands
    assert (told["agreement_value"], told["band"], told["agreement_source"]) == stands
    lined = band(pair.value) if pair.metric in BANDED else None
    if stated.band is None:
        assert pair.band is lined
    else:
        assert pair.band is stated.band
        if pair.metric in NAMED and lined not in {None, pair.band}:
            assert "mismatch" in line["flags"]
            assert any(text.startswith("band:") for text in told["mismatches"])
    ours = item.assessment.agreement.spread
    assert (told["agreement"]["band"], band(ours.raw)) == (ours.band, ours.band)
    assert ("derived_low" in line["flags"]) == (ours.band is Band.LOW)


def hold_gates(item: Item) -> None:
    """What a gate reads of the three targets, and that it says whose it is."""
    jury, pair = JuryReadings(item.verdict), item.assessment.pair
    ours = item.assessment.agreement.spread
    value, word, escalate = (
        jury.read(one) for one in ("jury.agreement", "jury.confidence", "jury.escalate")
    )
    if pair.value is None:
        assert value.value is None
        assert value.skip
    else:
        assert value.value == min(max(pair.value, 0.0), 1.0)
        assert (value.origin is Origin.STATED) == pair.reported
    if pair.band is not None:
        assert word.value == pair.band
        assert (word.origin is Origin.STATED) == pair.reported
    else:
        assert word.origin is Origin.RECOMPUTED
        assert word.value == (ours.band or Band.LOW)
    if item.verdict.escalate is None and pair.value is not None and pair.band is not None:
        expected = bool(item.assessment.escalation)
        assert escalate.value == (pair.band is Band.LOW if pair.reported else expected)


def hold_all(desk: Desk) -> None:
    for item, line in shown(desk):
        hold(item, line)
        hold_gates(item)


def test_every_rule_of_the_pair_holds_wherever_it_is_shown(desk: Desk) -> None:
    load(desk, CASES)
    found = {item.verdict.id: line for item, line in shown(desk)}
    assert {name: (line["agreement"], line["band"]) for name, line in found.items()} == {
        "pairwise": (1.0, None), "alpha": (0.9, "high"), "against": (0.9, "low"),
        "unnamed": (0.9, "low"), "null": (None, None), "word": (None, "high"),
        # .9 .2: mean .55, s² = 2 * .1225 = .245, times 12 = 2.94.
        "ours": (pytest.approx(-1.94), "low"),
        "lone": (None, None),
    }  # fmt: skip
    sources = {line["agreement_source"] for name, line in found.items() if name in {"ours", "lone"}}
    assert sources == {"ours"}
    assert {name for name, line in found.items() if "mismatch" in line["flags"]} == {"against"}
    hold_all(desk)


def test_filters_and_orders_read_the_pair(desk: Desk) -> None:
    run = load(desk, CASES)

    def kept(text: str, order: str = "file") -> list[str]:
        return [row.id for row in desk.rows(desk.queue(run, text, order))]

    assert kept("band:high") == ["alpha", "word"]
    assert kept("band:low") == ["against", "unnamed", "ours"]
    assert kept("band:none") == ["pairwise", "null", "lone"]
    assert kept("low") == [name for name in kept("") if name != "lone"]
    assert kept("agreement>=.9") == ["pairwise", "alpha", "against", "unnamed"]
    assert kept("agreement<0") == ["ours"]
    assert kept("", "agreement")[0] == "ours"
    # Filters that were saved have its first name.
    assert kept("low") == kept("derived_low")


@pytest.mark.slow
@pytest.mark.parametrize("folder", [SAMPLES, SHARED / "formats"], ids=["samples", "shared"])
def test_no_band_of_a_file_contradicts_its_value(desk: Desk, folder: Path) -> None:
    if not folder.exists():
        pytest.skip("the shared data are not here")
    for path in sorted(path for path in folder.rglob("*") if path.is_file()):
        with suppress(ReviewDeskError):
            desk.load(Source.from_path(path), LoadOptions(skip_bad=True))
    assert len(desk.runs()) >= 5
    hold_all(desk)


@pytest.mark.skipif(not COT.exists(), reason="the shared data are not here")
def test_a_pairwise_share_is_no_band_of_ours(desk: Desk) -> None:
    run = desk.load(Source.from_path(COT)).run
    lines = [shapes.queue_row(run, row) for row in desk.rows(desk.queue(run))]
    assert {(line["band"], line["agreement_source"]) for line in lines} == {(None, "reported")}
    # Most state that every pair of votes is alike, where our r_WG of the scores is low.
    low = [line for line in lines if line["agreement"] == 1 and "derived_low" in line["flags"]]
    assert len(low) == len(desk.queue(run, "low agreement=1")) == 74
    assert len(desk.queue(run, "band:low")) == 0
