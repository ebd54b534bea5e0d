"""The byte that a desk keeps of each verdict's label: its truth, and what else counts of it."""

from __future__ import annotations

from reviewdesk.domain.records import Truth

TRUTHS = (None, Truth.PASS, Truth.FAIL, Truth.UNSURE, Truth.DISPUTED)
"""The truth of a verdict's item, by the three lowest bits of its byte."""
TRUTH = 7
TENTATIVE = 8
UNSEEN = 16
FLAGGED = 32
AUDIT = 64
COPY = 128
"""The bits of a byte; a verdict without a label has 0. Another verdict on the same content stands
for a copy, so that the content is counted once."""
