"""What a person is told before anything is sent, and how the jurors turned out."""

from collections import Counter

from reviewdesk.cli.plain import section_text
from reviewdesk.domain.panel.asking import ConsentPlan, Host, Turnout, Turnouts
from reviewdesk.views.document import Section
from reviewdesk.views.panel import consent, turnout
from tests.helpers import controls

NEAR = Host("127.0.0.1:9", 2, (), None, is_encrypted=False)
FAR = Host("far.test", 1, ("A_KEY",), "http://proxy.test:3128", jurors=("a (m\x1b[2J)",))
SHA = "ab" * 32


def test_consent_names_hosts_keys_and_costs() -> None:
    plan = ConsentPlan((NEAR, FAR), ("m", "n"), 3, 0.01234, ("A_KEY",), SHA)
    lines = section_text(consent(plan, "one juror of p", (1,))).splitlines()
    assert lines[0] == "WHAT LEAVES THIS MACHINE"
    assert lines[2].startswith("contract  the first panel answered under version 1 of the reply")
    del lines[2]
    assert lines[1:] == [
        "asked     one juror of p",
        "host      127.0.0.1:9 · 2 calls · NOT encrypted · without a key",
        (
            "host      far.test · 1 call · encrypted · through the proxy http://proxy.test:3128 · "
            "with the key in A_KEY · a (m␛[2J)"
        ),
        "no key    A_KEY is not set, or is not a key: not asked",
        "calls     3",
        "cost      at most $0.0123, one attempt each",
        f"hash      payload sha256, nonces aside: {SHA}",
    ]
    assert controls("".join(lines)) == set()


def test_consent_to_the_rest_of_a_batch_says_what_is_there_and_what_is_sent_again() -> None:
    again = Counter({"rate_limited": 2, "truncated": 1})
    plan = ConsentPlan((NEAR,), (), 9, None, (), SHA, 4, 11, again, 1.5)
    lines = section_text(consent(plan)).splitlines()
    assert lines[2:5] == [
        "calls     9 for 4 cases; 11 answers are stored",
        (
            "again     3 calls were made before and brought no answer (2 rate limited, 1 "
            "truncated), and will be made again, at most $1.50"
        ),
        "cost      unknown: no price for a juror",
    ]


def test_consent_to_batches_says_what_they_take_what_waits_and_who_is_asked_live() -> None:
    plan = ConsentPlan((NEAR,), (), 9, None, (), SHA, 4, batched=6, waiting=1, live=("a\x1b (x)",))
    lines = section_text(consent(plan)).splitlines()
    assert lines[2:6] == [
        "calls     9 for 4 cases",
        "batches   6 calls at half the price, answered within a day",
        "waiting   1 call waits at the vendors: not made again",
        "live      a␛ (x): asked live once the batches are back, as no batch interface is known",
    ]


def test_turnout_gives_the_first_message_of_each_fault() -> None:
    why = Counter({"no_object": 2})
    seats = {"a": Turnout("a", 4), "b": Turnout("b", 1, 1, why)}
    found = Turnouts(seats, {"no_object": "no\nobject"})
    assert section_text(Section("", turnout(found))).splitlines() == [
        "juror a: 4 answered",
        "juror b: 1 answered, 1 abstained, 2 failed (2 no object)",
        "no object: no⏎object",
    ]
