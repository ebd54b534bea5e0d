"""What ``e`` explains: the flags and the rule of the item, and the figures in view."""

from tests.app.reviewkit import Review, dialog_lines, dialog_page


def explained(review: Review, lines: list[str]) -> list[str]:
    """Press the key, answer with the lines in view, and close the dialog."""
    review.press("explain")
    request = review.requests[-1]
    request.given[0](lines)
    review.after()
    words = dialog_lines(review)
    review.answer(None)
    return words


def test_the_flags_and_the_rule_of_the_item_come_first(review: Review) -> None:
    words = explained(review, ["25 labels · accuracy 0.8 · false passes 0.1", "run · flagged 0/3"])
    flags = {note.flag for note in review.item.assessment.notes}
    assert flags
    assert words[len(flags)] == "quorum"
    # Of the words of the strip and the header, those that are in view.
    assert words[-3:] == ["accuracy", "false passes", "flagged"]
    assert "random check" not in words


def test_the_queue_explains_the_short_forms_of_all_its_flags(review: Review) -> None:
    review.press("shallower")
    words = explained(review, [])
    assert len(words) == len({*words})
    assert {"escalated  esc", "dissent trimmed  trim!", "one vote decides  pivot"} < {*words}
    assert "quorum" in words


def test_a_hidden_verdict_is_not_told_of(blind: Review) -> None:
    assert explained(blind, ["labelled  1 pass or fail"]) == ["blind"]
    blind.press("reveal")
    assert "quorum" in explained(blind, [])


def test_calibration_explains_its_page_from_the_top(review: Review) -> None:
    review.press("screen.calibration")
    assert explained(review, ["gap +0.1", "Brier 0.2"]) == ["gap", "Brier"]
    review.press("explain")
    request = review.requests[-1]
    request.given[0](["Brier 0.2"])
    review.after()
    # How the figure is computed is a page of its own.
    review.answer(dialog_page(review).choices[0].answer)
    assert dialog_page(review).title == "Brier"
    review.answer(None)
    request.given[0](["nothing to measure"])
    assert review.notice.startswith("no figure is in view")
