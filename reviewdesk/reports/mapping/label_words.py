"""Words that jurors answer with, as votes: the usual ones and those that a person adds."""

from __future__ import annotations

from typing import Any

from reviewdesk.domain.jury.label_rules import label_decision
from reviewdesk.domain.verdict import Decision, folded
from reviewdesk.reports.options import ReadOptions

_VOTES = {Decision.PASS: True, Decision.FAIL: False}


class LabelWords:
    """What a label means; the words that a person gives come before the usual ones."""

    def __init__(self, options: ReadOptions) -> None:
        """Take ``--pass-label`` and ``--fail-label``."""
        self._told = {folded(word): True for word in options.pass_labels}
        self._told.update({folded(word): False for word in options.fail_labels})

    def vote(self, word: Any) -> bool | None:
        """True for a pass, false for a fail; every other word, or no word, is no vote."""
        if not isinstance(word, str):
            return None
        told = self._told.get(folded(word))
        if told is not None:
            return told
        decision = label_decision(word)
        return _VOTES.get(decision) if decision else None
