"""Map the words that jurors answer with to votes: the usual words and those a person adds."""

from __future__ import annotations

from typing import Any

from reviewdesk.domain.jury.label_rules import label_decision
from reviewdesk.domain.verdict import Decision, folded
from reviewdesk.reports.options import ReadOptions

_VOTES = {Decision.PASS: True, Decision.FAIL: False}


class LabelWords:
    """Maps labels to votes; the words that a person gives take precedence over the usual ones."""

    def __init__(self, options: ReadOptions) -> None:
        """Store the words of ``--pass-label`` and ``--fail-label``."""
        self._given_votes = {folded(word): True for word in options.pass_labels}
        self._given_votes.update({folded(word): False for word in options.fail_labels})

    def vote(self, word: Any) -> bool | None:
        """Return True for a pass, False for a fail, and None for anything else."""
        if not isinstance(word, str):
            return None
        vote = self._given_votes.get(folded(word))
        if vote is not None:
            return vote
        decision = label_decision(word)
        return _VOTES.get(decision) if decision else None
