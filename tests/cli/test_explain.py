"""``reviewdesk explain``: a word, all words, an unknown word."""

import json

from tests.cli.conftest import Cli


def test_a_word_is_explained(cli: Cli) -> None:
    done = cli("explain", "corrected", "rate")
    assert done.code == 0
    assert done.out.startswith("corrected rate: the pass rate corrected")
    (row,) = json.loads(cli("explain", "brier", "--json").out)
    assert (row["word"], row["group"]) == ("Brier", "Figures")


def test_without_a_word_all_are_listed(cli: Cli) -> None:
    out = cli("explain").out
    for text in ("FIGURES", "FLAGS", "ECE  ", "one vote decides  ", "juror  "):
        assert text in out


def test_an_unknown_word_is_a_usage_error(cli: Cli) -> None:
    done = cli("explain", "sensitivty")
    assert (done.code, done.out) == (2, "")
    assert done.lines == ["no word 'sensitivty' is explained. Near: false fails, rules disagree."]


def test_a_figure_is_explained_with_its_method(cli: Cli) -> None:
    out = cli("explain", "swings").out
    assert out.startswith("volatility: whether one dimension")
    assert "\nfails when    cases or rules change between runs" in out
    assert cli("explain", "juror", "--json").json[0]["method"] is None
