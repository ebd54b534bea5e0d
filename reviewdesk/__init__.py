"""reviewdesk: a terminal desk for reviewing what juries of LLM judges decided."""

from __future__ import annotations

__version__ = "0.1.0"
