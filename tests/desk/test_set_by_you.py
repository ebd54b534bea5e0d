"""What a person fills in for a report that leaves its policy open."""

import json

from reviewdesk.cli.plain import document_text
from reviewdesk.desk.core import Desk
from reviewdesk.desk.loading import LoadOptions
from reviewdesk.domain.records import Item
from reviewdesk.domain.verdict import Decision
from reviewdesk.reports.bytes.source import Source
from reviewdesk.views.json import review as shapes
from reviewdesk.views.verdict import verdict

JURORS = [{"id": name, "score": score} for name, score in (("a", 0.9), ("b", 0.8), ("c", 0.1))]


def filled(desk: Desk, threshold: float, quorum: float | str, /, **policy: object) -> Item:
    """A verdict of a report that states this policy, with the rest as a person fills it in."""
    stated = {"id": "v", "case": {"test": "t"}, "output": "o", "jurors": JURORS, **policy}
    data = json.dumps({"schema": "reviewdesk.report/1", "verdicts": [stated]}).encode()
    options = LoadOptions(threshold=threshold, quorum=quorum)
    return desk.item(desk.find(desk.load(Source.from_bytes("r.json", data), options).run, "v"))


def test_an_open_policy_is_filled_and_shown_as_set_by_you(desk: Desk) -> None:
    item = filled(desk, 0.7, "2/3")
    # 0.9 and 0.8 reach 0.7, so 2 of 3 pass, and 2/3 meets 2/3.
    assert item.assessment.decision is Decision.PASS
    assert shapes.verdict(item)["set_by_you"] == ["threshold", "quorum"]
    assert "set by you  threshold, quorum" in document_text(verdict(item))


def test_what_the_file_states_is_never_overridden(desk: Desk) -> None:
    item = filled(desk, 0.05, 1.0, threshold=0.7)
    assert item.verdict.policy.threshold == 0.7
    assert item.verdict.set_by_you == ("quorum",)
    # Two of three is not all, so the filled quorum of 1.0 fails it.
    assert item.assessment.decision is Decision.FAIL


def test_a_filled_rule_accuses_nobody(desk: Desk) -> None:
    # 2 of 3 do not meet 1.0, but that quorum is not the report's own.
    assert filled(desk, 0.7, 1.0, decision="pass").assessment.mismatches == ()
