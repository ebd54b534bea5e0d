"""What a verdict's document says, on every surface that lays it out."""

from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
from msgspec.structs import replace

from reviewdesk.app.paint.document import block_lines, document_lines
from reviewdesk.cli.plain import document_text
from reviewdesk.domain.records import Item, Truth
from reviewdesk.pages.markdown import document_markdown
from reviewdesk.views.comparison import comparison
from reviewdesk.views.document import Document, Section
from reviewdesk.views.json import review as shapes
from reviewdesk.views.jury import flags, loud_flags
from reviewdesk.views.verdict import (
    FIGURES,
    FOLDED,
    REASONS,
    UNFOLDED,
    headline,
    jury,
    review,
    title,
    verdict,
)
from reviewdesk.views.words import short_names
from tests.app.builders import juror, open_run, report
from tests.app.builders import verdict as body

SURFACES: dict[str, Callable[[Document], str]] = {
    "terminal": lambda found: "\n".join(line.plain for line in document_lines(found, 158)),
    "plain": document_text,
    "markdown": lambda found: "\n".join(document_markdown(found)).replace("\\", ""),
}


def item(tmp_path: Path, label: Truth | None = None, **more: Any) -> Item:
    desk, run = open_run(tmp_path / "d.db", report([body(1, **more)]))
    with closing(desk):
        [key] = desk.queue(run)
        if label is not None:
            desk.label(key, label, blind=True)
            desk.note(key, "look at the date")
        return desk.item(key)


def words(text: str) -> str:
    return " ".join(text.replace("`", "").replace("*", "").replace("|", " ").split())


@pytest.mark.parametrize("surface", SURFACES)
def test_every_surface_holds_the_same_facts(tmp_path: Path, surface: str) -> None:
    found = item(
        tmp_path, Truth.PASS, scores=(0.9, 0.8, 0.85, 0.95, 0.1), strategy="trimmed_mean",
        decision="pass", reference="forty-two",
        checks=[{"name": "length", "pass": False, "reason": "too long"}],
    )  # fmt: skip
    text = words(SURFACES[surface](verdict(found)))
    # Of .1, .8, .85, .9 and .95 the ends go: (.8 + .85 + .9) / 3 = .85; 4 of 5 are over .7.
    for fact in (
        "PASS", "0.850 needs 0.70 by trimmed mean", "4 of 5 votes pass", "label pass, blind",
        "DISSENT · trimmed low", "judge-4 thinks so", "trimmed mean −1 0.850 pass", "forty-two",
        "✗ fail", "length: too long", "look at the date", "the answer is right",
        "what would turn this pass", "breakdown: tolerates 1 of 5, breaks at 2",
    ):  # fmt: skip
        assert fact in text.replace("fail:", "fail"), fact
    assert text.index("judge-4 thinks so") < text.index("judge-0 thinks so")


def test_a_blind_session_leaves_out_labels_and_tags(tmp_path: Path) -> None:
    found = item(tmp_path, Truth.PASS, human={"label": "fail", "by": "cara"})
    hidden = Document((*review(found, blind=True),))
    seen = Document((*review(found, blind=False),))
    assert "fail by cara" in document_text(seen)
    assert "label pass" in document_text(seen)
    assert "label" not in document_text(hidden).replace("LABEL", "")
    assert "cara" not in document_text(hidden)
    assert "look at the date" in document_text(hidden)
    assert title(found, blind=True) == title(found, blind=False)


def test_a_label_that_was_undone_takes_one_line(tmp_path: Path) -> None:
    desk, run = open_run(tmp_path / "d.db", report([body(1)]))
    with closing(desk):
        [key] = desk.queue(run)
        desk.label(key, Truth.PASS, blind=False)
        desk.undo()
        lines = document_text(Document(review(desk.item(key), blind=False))).splitlines()
        assert len([line for line in lines if "label pass" in line]) == 1
        assert "(undone)" in lines[-1]
        # A note that fits in the line of its event is not said again below it.
        for note, times in ("over the limit", 1), ("over the limit " * 5, 2):
            desk.note(key, note.strip())
            shown = document_text(Document(review(desk.item(key), blind=False)))
            assert shown.count("note") == times + (times > 1)


def test_every_person_of_a_report_is_in_the_json(tmp_path: Path) -> None:
    two = [{"label": "pass", "by": "ann"}, {"label": "fail", "by": "ben"}]
    found = item(tmp_path, human=two[0], meta={"reviewdesk": {"humans": two[1:]}})
    assert [(one["label"], one["by"]) for one in shapes.verdict(found)["humans"]] == [
        ("pass", "ann"),
        ("fail", "ben"),
    ]


def test_the_state_of_a_juror_goes_below_where_room_is_short(tmp_path: Path) -> None:
    names = ["claude-sonnet", "a-very-long-name-of-a-model-that-ends-here", "gpt"]
    ballots = [juror(name, score) for name, score in zip(names, (0.9, 0.8, 0.3), strict=True)]
    found = item(tmp_path, jurors=ballots)
    lines = [line.plain for line in document_lines(jury(found), 40)]
    # Two of three pass, so the third dissents; an id is cut at its start.
    [at] = [at for at, line in enumerate(lines) if line.startswith("  gpt ") and "0.300" in line]
    below = [line.strip() for line in lines[at + 1 : at + 3]]
    assert lines[at].endswith(" DISSENT")
    assert below == ["· a trimmed mean would leave it out", "gpt thinks so"]
    assert any("…" in line and line.endswith("-here") for line in lines[at:])
    assert max(map(len, lines)) <= 40


def test_a_juror_that_could_not_be_read_is_told_in_words_and_by_its_short_name(
    tmp_path: Path,
) -> None:
    lost = {"id": "jury/c", "score": None, "status": "parse_fail"}
    jurors = [juror("jury/a", 0.9), juror("jury/b", 0.8), lost]
    text = words(document_text(jury(item(tmp_path, jurors=jurors), keys={"rerun": "R"})))
    assert "R asks the missing jurors again: c JURORS" in text
    assert "failed: unreadable" in text
    whole = item(tmp_path / "b", jurors=jurors[:2])
    assert "asks the" not in document_text(jury(whole, keys={"rerun": "R"}))


def test_a_rule_that_counts_votes_comes_before_a_score_that_says_otherwise(tmp_path: Path) -> None:
    votes = [juror(name, score) for name, score in zip("abc", (0.9, 0.8, 0.1), strict=True)]
    made: dict[str, Any] = {"jurors": votes, "score": 0.6, "threshold": 0.7, "decision": "pass"}
    text = words(document_text(jury(item(tmp_path, **made, strategy="majority"))))
    assert text.startswith("PASS 2 of 3 votes pass, by majority score 0.600 needs 0.70 agreement")
    other = words(document_text(jury(item(tmp_path / "b", **made, strategy="median"))))
    assert other.startswith("PASS 0.600 needs 0.70 by median 2 of 3 votes pass agreement")
    bare = report([body(1, **made | {"score": 0.8, "decision": "fail"})]) | {"defaults": {}}
    desk, run = open_run(tmp_path / "c.db", bare)
    with closing(desk):
        none = words(document_text(jury(desk.item(desk.queue(run)[0]))))
    assert none.startswith("FAIL 0.800 needs 0.70 by a rule not stated 2 of 3 votes pass")


def test_a_comparison_marks_what_differs(tmp_path: Path) -> None:
    one = item(tmp_path / "a")
    other = item(tmp_path / "b", scores=(0.9, 0.8, 0.9))
    rows = [words(line) for line in document_text(comparison(one, other)).splitlines()]
    # The mean of .9, .8 and .3 is .667; the third juror turns from fail to pass.
    assert "≠ judge-2 0.300 fail counted 0.900 pass counted" in rows
    assert "judge-0 0.900 pass counted 0.900 pass counted" in rows
    assert "REASONS OF TURNED VOTES" in rows


@pytest.mark.parametrize(
    ("names", "short"),
    [
        (["ChatGPT/CoT", "GPT-4/CoT"], ["ChatGPT", "GPT-4"]),
        (["ChatGPT/CoT/x=1", "GPT-4/CoT/x=1", "GPT-4/Swap/x=1"],
         ["ChatGPT/CoT", "GPT-4/CoT", "GPT-4/Swap"]),
        (["openai/gpt-5", "mistral/large"], ["gpt-5", "large"]),
        (["GPT-4/Rating", "GPT-4/Rating_Metrics", "ChatGPT/Rating"],
         ["GPT-4", "GPT-4/Metrics", "ChatGPT"]),
        (["judge_a", "judge_b"], ["judge_a", "judge_b"]),
        (["openai/gpt-5", "azure/gpt-5", "local"], ["openai/gpt-5", "azure/gpt-5", "local"]),
        (["a/b/c"], ["c"]),
        (["a/", "b/", ""], ["a/", "b/", ""]),
        (["a", "a"], ["a"]),
        ([], []),
    ],
)  # fmt: skip
def test_names_are_as_short_as_they_can_be_told_apart(names: list[str], short: list[str]) -> None:
    assert list(short_names(names).values()) == short


def line(found: Item, width: int = 400) -> str:
    [block] = headline(found)
    drawn = block_lines(block, width)
    assert len(drawn) <= 2
    for one in drawn:
        assert one.cell_length <= width
        assert {str(span.style) for span in one.spans} == {"muted"}
    return "\n".join(one.plain for one in drawn)


SPLIT = [
    juror("a", 0.9), juror("b", 0.8),
    juror("c", 0.3, reason="\n  Starts too early.\nMore."),
]  # fmt: skip
"""Two of three pass, which one vote would turn; r_WG is -.24, and the mean .667 is below .7."""
FIVE = [juror("d", 0.2), juror("e", 0.1, reason="[b]No[/] \x1b[31m"), *SPLIT[:2], juror("f", 0.75)]
WHY = "one vote decides · rules disagree · agreement low"
LABELS = [juror(name, None, label="MERGE" if name == "b" else "SPLIT") for name in "abc"]
HEADLINES: dict[str, tuple[dict[str, Any], str]] = {
    "escalated": (
        {"jurors": SPLIT, "score": 0.72, "escalate_for_review": True},
        f"pass 0.720, needs 0.70 · escalated, {WHY} · dissent c: Starts too early.",
    ),
    # A flag that the reason names is not named twice.
    "escalated for a reason": (
        {
            "jurors": SPLIT,
            "score": 0.72,
            "escalate_for_review": True,
            "escalation_reasons": ["agreement is low (r_wg -0.24)", "split"],
        },
        (
            "pass 0.720, needs 0.70 · escalated: agreement is low · split · "
            "one vote decides · rules disagree · dissent c: Starts too early."
        ),
    ),
    "not escalated": (
        {"scores": (0.9, 0.9, 0.9), "score": 0.9},
        "pass 0.900, needs 0.70 · not escalated · no dissent",
    ),
    # Both ends of .1 .2 .75 .8 .9 are trimmed, so e comes before d.
    "trimmed": (
        {"jurors": FIVE, "strategy": "trimmed_mean", "decision": "pass", "score": 0.583},
        (
            "pass 3 of 5 pass (0.583, needs 0.70) · one vote decides · "
            "rules disagree · agreement low · trimmed dissent e: [b]No[/] ␛[31m"
        ),
    ),
    "without a score": (
        {"jurors": [{"id": name, "pass": True} for name in "abc"]},
        "pass 3 of 3 pass · not escalated · no dissent",
    ),
    # A juror who gave no vote may dissent.
    "a vote is missing": (
        {"jurors": [*({"id": n, "pass": True} for n in "ab"), {"id": "c", "status": "abstained"}]},
        "pass 2 of 2 pass · one vote decides · few jurors",
    ),
    "inconclusive": (
        {"jurors": SPLIT, "decision": "inconclusive", "score": 0.5, "escalate_for_review": True},
        (
            "no decision 2 of 3 pass (0.500, needs 0.70) · escalated, one vote decides · "
            "rules disagree · differs from its rule · agreement low · votes split"
        ),
    ),
    # Scores that are neither a pass nor a fail reach the threshold together, and decide nothing.
    "no votes": (
        {
            "jurors": [{"id": name, "score": 0.5, "pass": None} for name in "abc"],
            "strategy": "quorum",
            "threshold": 0.5,
            "decision": "inconclusive",
            "score": 0.5,
        },
        "no decision no votes (0.500, needs 0.50) · not escalated",
    ),
    "no ballots": ({"jurors": []}, "no decision · no juror answered"),
    "error": (
        {"jurors": [{"id": "a", "error": {"message": "x"}}]},
        "error · few jurors · no juror answered",
    ),
    "labels": (
        {"jurors": LABELS, "strategy": "majority"},
        "no decision, label SPLIT · agreement low · dissent b: b thinks so",
    ),
}


@pytest.mark.parametrize("name", HEADLINES)
def test_a_verdict_in_one_line(tmp_path: Path, name: str) -> None:
    more, said = HEADLINES[name]
    assert line(item(tmp_path, **more)) == said


def test_the_line_wraps_once_and_then_names_the_dissent_without_its_reason(tmp_path: Path) -> None:
    found = item(tmp_path, **HEADLINES["escalated"][0])
    start = "pass 0.720, needs 0.70 · escalated, one vote decides"
    more = "rules disagree · agreement low"
    assert line(found, 79).replace("\n", " ") == f"{start} · {more} · dissent c: Starts too early."
    # Where two lines do not hold all, what is flagged last goes, then the reason of the dissent.
    shown = line(found, 54).replace("\n", " ")
    assert shown == f"{start} · rules disagree · dissent c: Starts too early."
    assert line(found, 36).replace("\n", " ") == f"{start} · dissent c"
    # Names of jurors are as short as they can be told apart.
    jurors = [
        juror(f"{name}/CoT/x=1", score) for name, score in zip("abc", (0.9, 0.8, 0.1), strict=True)
    ]
    assert "dissent c: c/CoT/x=1 thinks so" in line(item(tmp_path / "b", jurors=jurors))


def test_the_panels_answer_has_no_colour_before_a_label(tmp_path: Path) -> None:
    found = item(tmp_path, jurors=SPLIT)
    for label, style in ((None, "strong"), (Truth.FAIL, "big-pass")):
        shown = replace(found, row=replace(found.row, label=label))
        [badge] = [row for row in document_lines(jury(shown), 100) if "PASS" in row.plain][:1]
        assert str(badge.spans[0].style) == style


def folded(found: Item, *opened: str) -> list[str]:
    cut = None if REASONS in opened else dict.fromkeys(range(9), 1)
    made = jury(found, opened=frozenset(opened), lines=cut)
    return [row.plain for row in document_lines(made, 100)]


def test_the_jury_begins_with_reasons_and_folds_its_figures(tmp_path: Path) -> None:
    long = [juror("a", 0.9, reason="yes " * 40), *SPLIT[1:]]
    found = item(tmp_path, jurors=long, escalate_for_review=True)
    rows = folded(found)
    at = next(at for at, row in enumerate(rows) if row.startswith("  c "))
    # The dissent comes first, and each reason is cut to a line.
    assert rows[at + 1] == "    Starts too early. …"
    assert rows[at + 2].startswith("  a ")
    assert rows[at + 3].endswith("…")
    assert rows[at + 4].startswith("  b ")
    heads = [row.rstrip("─ ") for row in rows[at + 7 :]]
    assert heads == ["▹ NUMBERS", "▹ WHAT IF", "▹ PROVENANCE"]
    assert " ".join(" ".join(folded(found, REASONS)).split()).count("yes") == 40
    assert "trimmed mean" in "\n".join(folded(found, *FIGURES))


def test_a_flag_that_the_escalation_names_is_not_named_again(tmp_path: Path) -> None:
    why = ["one vote decides"]
    found = item(tmp_path, jurors=SPLIT, escalate_for_review=True, escalation_reasons=why)
    shown = Section("Flags", flags(found, [1] * len(loud_flags(found))))
    text = document_text(Document((shown,)))
    assert text.count("one vote decides") == 1
    assert "votes split" in text


def test_a_low_agreement_alone_is_not_shown_as_no_flags(tmp_path: Path) -> None:
    low = item(tmp_path, jurors=[juror("a", 1.0), juror("b", 1.0), juror("c", 0.7)])
    assert flags(low) == ()
    assert "FLAGS" not in document_text(jury(low))


def test_a_jury_of_unknown_families_has_no_column_for_them(tmp_path: Path) -> None:
    assert "family" not in document_text(jury(item(tmp_path / "a", jurors=SPLIT)))
    known = [juror("a", 0.9, vendor="openai"), *SPLIT[1:]]
    assert "family" in document_text(jury(item(tmp_path / "b", jurors=known)))


def test_nothing_is_folded_where_no_key_unfolds_it(tmp_path: Path) -> None:
    shown = document_text(jury(item(tmp_path, jurors=SPLIT)))
    assert FOLDED not in shown
    assert UNFOLDED not in shown


def test_what_a_juror_was_not_told_is_said(tmp_path: Path) -> None:
    jurors = [juror("a", 0.9, temperature=0.0, not_applied=["temperature"]), juror("b", 0.9)]
    text = words(document_text(verdict(item(tmp_path, jurors=jurors))))
    assert "not applied temperature of a" in text
    assert text.count("not applied") == 1
