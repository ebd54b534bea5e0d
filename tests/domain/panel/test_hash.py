import hashlib
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from reviewdesk.domain.panel.hash import (
    JUROR_KEYS,
    RULE_KEYS,
    HashStatus,
    panel_hash,
    panel_hash_status,
    verdict_panel_hash,
)
from reviewdesk.domain.verdict import Generator, Policy, verdict_from_body
from tests.domain.bodies import body, juror, read

RULE: dict[str, Any] = {"threshold": 0.7, "quorum": "2/3", "strategy": "quorum"}


def value(**more: Any) -> Any:
    seats = (
        juror("a", 0.9, model="m1", vendor="v", temperature=0.5, prompt_sha256="p", weight=2.0),
        juror("b", 0.8, model="m2"),
    )
    return body(*seats, rubric="rü", **more)


def test_the_hash_is_over_jurors_and_rule_written_out_by_hand() -> None:
    # Keys sorted, no spaces; what is absent is null; the rubric is its own sha256 of UTF-8.
    rubric = hashlib.sha256("rü".encode()).hexdigest()
    text = (
        '[[{"id":"a","model":"m1","prompt_sha256":"p","temperature":0.5,"vendor":"v","weight":2},'
        '{"id":"b","model":"m2","prompt_sha256":null,"temperature":null,"vendor":null,'
        '"weight":null}],'
        '{"quorum":"2/3","rounding":"down","rubric_sha256":"' + rubric + '",'
        '"strategy":"quorum","threshold":0.7,"trim_fraction":0.2}]'
    )
    trim = {"method": "quantile", "fraction": 0.2, "rounding": "down"}
    found = verdict_panel_hash(read(value(trim=trim), **RULE))
    assert found == hashlib.sha256(text.encode()).hexdigest()


def test_what_the_jurors_answered_is_no_part_of_it() -> None:
    other = value(decision="fail", score=0.1, id="x", input="in", output="out")
    other["jurors"][0] |= {"score": 0.2, "reason": "changed its mind", "trimmed": "low"}
    assert verdict_panel_hash(read(other, **RULE)) == verdict_panel_hash(read(value(), **RULE))


@pytest.mark.parametrize("key", JUROR_KEYS)
def test_every_key_of_a_juror_is_a_part_of_it(key: str) -> None:
    jurors = [dict.fromkeys(JUROR_KEYS, "x")]
    changed = [jurors[0] | {key: "y"}]
    assert panel_hash(jurors, {}) != panel_hash(changed, {})


@pytest.mark.parametrize("key", RULE_KEYS)
def test_every_key_of_the_rule_is_a_part_of_it(key: str) -> None:
    assert panel_hash([], {key: "y"}) != panel_hash([], {})
    assert panel_hash([], {"comment": "y"}) == panel_hash([], {})


@given(st.permutations(["a", "b", "c"]))
def test_the_order_of_the_seats_counts(order: list[str]) -> None:
    hashes = [panel_hash([{"id": name} for name in names], {}) for names in (order, "abc")]
    assert (hashes[0] == hashes[1]) == (order == ["a", "b", "c"])


@given(st.integers(-9, 9))
def test_a_whole_number_has_one_form(number: int) -> None:
    whole = panel_hash([{"temperature": number}], {"threshold": number})
    assert whole == panel_hash([{"temperature": float(number)}], {"threshold": float(number)})


@pytest.mark.parametrize(
    ("key", "word"), [("failed_jurors", "median"), ("min_answered", 3), ("min_answered", "3/5")]
)
def test_what_becomes_of_missing_answers_is_a_part_of_it_where_it_is_set(
    key: str, word: int | str
) -> None:
    own = {"meta": {"reviewdesk": {key: word}}}
    ours = verdict_panel_hash(read(value(**own), **RULE))
    plain = verdict_panel_hash(read(value(), **RULE))
    assert ours != plain
    assert panel_hash([], {key: word}) != panel_hash([], {key: None}) == panel_hash([], {})
    # A count of 1 is not a share of 1.
    assert panel_hash([], {"min_answered": 1}) != panel_hash([], {"min_answered": "1/1"})
    found = {
        stated: panel_hash_status(read(value(provenance={"panel_hash": stated}, **own), **RULE))
        for stated in (ours, plain)
    }
    # Hashes that were made before failed_jurors was a part of them stay valid.
    older = HashStatus.VERIFIED if key == "failed_jurors" else HashStatus.UNVERIFIED
    assert found == {ours: HashStatus.VERIFIED, plain: older}


def test_a_stated_hash_is_verified_or_merely_unverified() -> None:
    assert panel_hash_status(read(value(), **RULE)) is None
    ours = verdict_panel_hash(read(value(), **RULE))
    for stated, status in (
        (ours, HashStatus.VERIFIED),
        (f"sha256:{ours.upper()}", HashStatus.VERIFIED),
        ("0" * 64, HashStatus.UNVERIFIED),
    ):
        verdict = read(value(provenance={"panel_hash": stated}), **RULE)
        assert panel_hash_status(verdict) is status


def test_what_a_person_filled_in_is_no_part_of_a_report() -> None:
    filled = verdict_from_body(value(), Policy(), Generator(), Policy(threshold=0.7, quorum=0.5))
    assert verdict_panel_hash(filled) == verdict_panel_hash(read(value()))
