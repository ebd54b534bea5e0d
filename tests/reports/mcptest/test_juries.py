"""Where juries are found, however the envelope nests."""

from typing import Any

from reviewdesk.reports.mcptest import find_juries


def test_deep_envelopes_cost_no_more_than_their_objects() -> None:
    # Looking again at each level for every level above would take 2^60 steps here.
    document: Any = {"jurors": [{"name": "a", "score": 0.5, "pass": True}], "passed": True}
    for _ in range(60):
        document = {"escalate_for_review": True, "a": document}
    (jury,) = find_juries(document)
    assert jury.pointer == "/a" * 60
    assert jury.facts["escalate_for_review"] is True


def test_a_list_of_tests_is_not_a_panel() -> None:
    inner = {"name": "t", "score": 1, "jurors": [{"model": "m", "pass": True}]}
    (jury,) = find_juries({"verdicts": [inner]})
    assert jury.pointer == "/verdicts/0"
