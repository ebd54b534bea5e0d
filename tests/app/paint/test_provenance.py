"""What the jury pane tells of a verdict's provenance, its notes and its mismatches."""

from pathlib import Path
from typing import Any

import pytest
from msgspec.structs import replace

from reviewdesk.app.paint.document import section_lines
from reviewdesk.app.widgets.queue_list import queue_line
from reviewdesk.cli.plain import document_text
from reviewdesk.domain.assessment.result import Flag
from reviewdesk.domain.assessment.trail import trail
from reviewdesk.domain.panel.hash import verdict_panel_hash
from reviewdesk.domain.records import Item
from reviewdesk.views.jury import provenance
from reviewdesk.views.verdict import verdict as verdict_view
from tests.app.appkit import juror, jury_lines
from tests.app.builders import item_of


def told(found: Item) -> str:
    return " ".join(" ".join(line.plain for line in section_lines(provenance(found), 100)).split())


def test_the_trim_with_its_version_and_the_scores_on_both_sides_of_it(tmp_path: Path) -> None:
    stated = {
        "method": "quantile", "fraction": 0.2, "rounding": "down", "per_side": 1,
        "dropped_low": ["judge-4"], "dropped_high": ["judge-3"], "rule_version": "2.1",
    }  # fmt: skip
    scores = (0.9, 0.8, 0.85, 0.95, 0.1)
    text = told(item_of(tmp_path, scores=scores, trim=stated, strategy="trimmed_mean"))
    assert "rule trimmed_mean" in text
    assert "stated quantile 0.2 down, version 2.1, left out judge-4, judge-3" in text
    assert "computed 0.2 down, 1 per side" in text
    # .1 and .95 go: (.8 + .85 + .9) / 3.
    assert "scores 0.900 0.800 0.850 0.950 0.100; after the trim 0.850" in text
    assert "note breakdown: tolerates 1 of 5, breaks at 2" in text


def test_a_panel_hash_is_verified_or_not(tmp_path: Path) -> None:
    foreign = item_of(
        tmp_path / "a", provenance={"panel_hash": "cafe", "committed_at": "2025-09-18T07:40:00Z"}
    )
    assert "panel hash cafe (unverified)" in told(foreign)
    assert "committed 2025-09-18T07:40:00Z" in told(foreign)
    ours = verdict_panel_hash(foreign.verdict)
    known = item_of(tmp_path / "c", provenance={"panel_hash": ours})
    assert f"panel hash {ours} (verified)" in told(known)
    bare = item_of(tmp_path / "b")
    assert "panel hash" not in told(bare)
    assert trail(bare.verdict, bare.assessment).panel_hash_status is None


def test_times_agreement_and_the_rule_that_stood_in(tmp_path: Path) -> None:
    jurors = [
        juror("a", 0.9, at="2025-09-18T07:40:00Z"),
        juror("b", 0.1, at="2025-09-18T07:41:00Z"),
    ]
    jurors.append({"id": "c", "error": {"message": "timeout"}})
    text = told(
        item_of(
            tmp_path, jurors=jurors, strategy="weighted_average",
            agreement={"value": 0.0, "metric": "pairwise"},
        )
    )  # fmt: skip
    assert "rule weighted_average, used median (failed: c)" in text
    assert "agreement pairwise 0.000, recomputed 0.000" in text
    assert "ballots 2025-09-18T07:40:00Z to 2025-09-18T07:41:00Z" in text


def test_mismatches_stand_last_with_a_sign(tmp_path: Path) -> None:
    text = told(item_of(tmp_path, scores=(0.1, 0.1, 0.1), decision="pass"))
    assert text.endswith("≠ differs quorum: reported pass, but 0 of 3 against 0.5 gives fail")


@pytest.mark.parametrize("width", [47, 61, 79])
def test_rounding_and_disagreeing_rules_are_plain_in_the_pane(tmp_path: Path, width: int) -> None:
    # .9 .8 .3 at .7: two of three meet .67 as rounded; the mean, 2/3, fails, the others pass.
    found = item_of(tmp_path, quorum=0.67)
    text = " ".join(" ".join(line.plain for line in jury_lines(found, width)).split())
    assert "quorum rounding: 2 of 3 against 0.67 is pass as written, fail to the letter" in text
    assert "rules disagree quorum, trimmed mean, median: pass; mean: fail" in text


def test_hostile_words_of_a_report_are_drawn_harmless(tmp_path: Path) -> None:
    evil = "[red]x\x1b[2J\n"
    found = item_of(
        tmp_path, trim={"method": "quantile", "rule_version": evil}, provenance={"panel_hash": evil}
    )
    text = told(found)
    assert "\x1b" not in text
    assert text.count("[red]x") == 2


@pytest.mark.parametrize(
    ("stated", "line", "column"),
    [
        # .9 .8 .3: mean .6667, squares .0544 + .0178 + .1344 = .2067, / 2 * 12 = 1.24: -.24, low,
        # which is shown as 0.
        ({}, "agreement low (0.00)", "0.00 low"),
        # A share of pairs has no band, and gives way to ours.
        ({"agreement": {"value": 1.0, "metric": "pairwise"}}, "agreement low (0.00)", "low"),
        # A stated alpha without a band is banded by the lines.
        (
            {"agreement": {"value": 0.7, "metric": "krippendorff_alpha"}},
            "agreement medium (0.70) by the scores it is low (0.00)",
            "0.70 medium",
        ),
        ({"agreement": {"value": None, "metric": "r_wg"}}, "agreement low (0.00)", "low"),
        ({"band": "high"}, "agreement high by the scores it is low (0.00)", "high"),
    ],
)
def test_agreement_and_band_are_of_one_source(
    tmp_path: Path, stated: dict[str, Any], line: str, column: str
) -> None:
    found = item_of(tmp_path, **stated)
    pane = "\n".join(" ".join(row.plain.split()) for row in jury_lines(found, 100))
    assert line in pane.splitlines()
    row = replace(found.row, flags=Flag.DERIVED_LOW)
    # The flag of our own low band names it, unless the band beside the figure is low as well.
    flag = "" if column.endswith("low") else " agreement low"
    for width, said in ((80, f"{column}{flag}"), (48, "low")):
        drawn = queue_line(row, width, current=False, blind=False).plain
        assert " ".join(drawn.split()) == f"· pass item/001 {said}", width


def test_a_stated_alpha_of_one_verdict_is_not_derivable(tmp_path: Path) -> None:
    found = item_of(
        tmp_path, agreement={"value": 0.7, "metric": "krippendorff_alpha"}, band="medium"
    )
    text = told(found)
    assert "krippendorff_alpha 0.700, not derivable from the ballots of one verdict" in text
    assert "differs" not in text
    shown = document_text(verdict_view(found))
    assert "agreement medium (0.70)   by the scores it is low (0.00)" in shown
    assert "krippendorff_alpha 0.700, not derivable from the ballots of one verdict" in shown
