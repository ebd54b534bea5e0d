"""The calls by which a panel is asked about one case."""

from __future__ import annotations

import secrets
from collections.abc import Callable

from reviewdesk.domain.panel.case import Case, case_key
from reviewdesk.domain.panel.prompt import fresh_nonce, render
from reviewdesk.domain.panel.spec import PanelSpec
from reviewdesk.live.records import Call


def chance() -> str:
    """Digits that a response under test cannot know."""
    return secrets.token_hex(8)


def calls_for(case: Case, panel: PanelSpec, nonce: Callable[[], str] = chance) -> list[Call]:
    """One call for each juror, in seat order, each with a nonce of its own."""
    asked = case.under(panel.rubric)
    slots, about = asked.slots(panel.rubric), case_key(asked)
    labels = panel.wants_labels(case.tags)
    return [
        Call(
            case=case.id,
            about=about,
            seat=seat,
            juror=juror,
            prompt=render(
                juror.system_prompt,
                juror.prompt,
                slots,
                fresh_nonce(slots, nonce),
                labels=labels,
            ),
            labels=labels,
        )
        for seat, juror in enumerate(panel.jurors)
    ]
