from msgspec.structs import fields

from reviewdesk.domain.assessment.assess import assess
from reviewdesk.domain.assessment.result import Decisions
from reviewdesk.domain.jury.rules import STRATEGIES
from reviewdesk.domain.verdict import Policy
from reviewdesk.views.jury import rules
from tests.domain.bodies import panel, read


def test_the_screen_shows_every_rule_that_decides() -> None:
    verdict = read(panel(0.9, 0.8, 0.1), threshold=0.7, quorum=0.67)
    shown = [name for name, *_ in rules(assess(verdict), Policy(quorum=0.67))]
    decided = {field.name for field in fields(Decisions)}
    for strategy, method in STRATEGIES.items():
        if strategy in decided:
            assert any(name.startswith(method.title) for name in shown), strategy
