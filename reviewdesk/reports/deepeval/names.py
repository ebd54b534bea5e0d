"""What the name of a deepeval metric tells: the rubric it measures, and the juror that did."""

from __future__ import annotations

import re

_KIND = re.compile(r"\s*\[[^\[\]]{1,40}\]\s*\Z")
_ASIDE = re.compile(r"\s*\(([^()]*)\)\s*\Z")
_JOINTS = " \t-–—:/|@#_,"
_NO_JURORS = frozenset({"ragas"})
"""What deepeval itself writes behind a metric's name, in brackets, without meaning a juror."""


def metric_name(name: str, model: str | None) -> tuple[str, str]:
    """The base name and the juror of ``Correctness (judge-a) [GEval]``.

    The kind of metric in square brackets is dropped. A juror stands behind the base name in round
    brackets, or is the evaluation model written there in any way; without either the model is it.
    """
    bare = _KIND.sub("", name).strip() or name
    aside = _ASIDE.search(bare)
    if aside and aside.start() and aside[1].strip() and aside[1].lower() not in _NO_JURORS:
        return bare[: aside.start()].strip(), aside[1].strip()
    if model is None:
        return bare, bare
    if bare.casefold().endswith(model.casefold()):
        base = bare[: len(bare) - len(model)]
        if base.rstrip(_JOINTS) not in ("", base):
            return base.rstrip(_JOINTS), model
    return bare, model
