"""The sentences of the figures, rules and flags, which the docs repeat word for word."""

import pytest

from reviewdesk.domain.assessment.result import Flag, FlagNote
from reviewdesk.domain.stats.methods import FIGURES
from reviewdesk.domain.values import Strategy
from reviewdesk.errors import NotFoundError
from reviewdesk.views import glossary
from reviewdesk.views.glossary import FLAG_TERMS, GROUPS, TERMS
from tests.helpers import ROOT


def test_the_glossary_of_the_docs_holds_every_term_and_sentence() -> None:
    text = (ROOT / "docs" / "reference" / "glossary.md").read_text(encoding="utf-8")
    for group in GROUPS:
        table = text.split(f"\n## {group}\n")[1].split("\n## ")[0]
        rows = [f"| {term.word} | {term.text} |" for term in TERMS if term.group == group]
        assert table.split("|---|---|\n")[1].strip().splitlines() == rows, group


def test_no_word_or_name_is_explained_twice() -> None:
    names = [name.casefold() for term in TERMS for name in {term.word, *term.names}]
    assert sorted(names) == sorted(set(names))


def test_every_flag_and_rule_is_explained() -> None:
    assert set(FLAG_TERMS) == set(Flag)
    for flag in Flag:
        assert glossary.find(flag.label) is FLAG_TERMS[flag]
    numeric = {"quorum", "median", "trimmed_mean", "majority", "unanimous", "weighted_average"}
    assert numeric <= {one.value for one in Strategy}
    for name in numeric:
        assert glossary.find(name).text


@pytest.mark.parametrize(
    ("written", "word"),
    [("ece", "ECE"), ("Corrected", "corrected rate"), ("R_WG", "r_WG"), ("acc", "accuracy")],
)
def test_a_word_is_found_by_its_names_in_any_case(written: str, word: str) -> None:
    assert glossary.find(written).word == word


def test_an_unknown_word_names_its_neighbours() -> None:
    with pytest.raises(NotFoundError, match=r"no word 'brie' is explained\. Near: Brier"):
        glossary.find("brie")
    with pytest.raises(NotFoundError, match="See: reviewdesk explain"):
        glossary.find("zzzzzz")


def test_the_terms_of_a_line_come_in_its_order_and_only_whole_words_count() -> None:
    line = "weighted by group  Brier 0.2 corrected 0.6 [0.4, 0.8] ECE 0.1 Brier 0.3, brierish"
    words = [term.word for term in glossary.mentioned([line])]
    assert words == ["weighted by group", "Brier", "corrected rate", "ECE"]
    # Words of everyday are explained on request alone.
    assert glossary.mentioned(["each label of a run, ranged"]) == ()


def test_a_verdict_brings_its_flags_then_its_rule() -> None:
    notes = [FlagNote(Flag.SPLIT, "2-1"), FlagNote(Flag.ESCALATED, "stated")]
    words = [term.word for term in glossary.of_verdict(notes, "trimmed_mean")]
    assert words[:4] == ["escalated", "votes split", "trimmed mean", "threshold"]
    assert glossary.of_verdict([], None)[0].word == "threshold"


def test_every_figure_of_the_first_layer_has_a_method_of_a_few_words() -> None:
    names = [name.casefold() for one in FIGURES for name in (one.figure, *one.names)]
    assert len(names) == len(set(names))
    for shown in ("acc", "observed", "honest", "spec.", "fn", "gap", "Brier", "ECE", "kappa"):
        assert glossary.method_of(shown) is not None, shown
    assert glossary.method_of("juror") is None
    for one in FIGURES:
        words = " ".join(text for _, text in one.rows).split()
        assert 40 <= len(words) <= 90, one.figure
        assert glossary.find(one.figure).text
