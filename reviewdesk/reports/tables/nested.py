"""Find the answers of judges inside the objects and lists of a row."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any

from reviewdesk.reports.tables.cells import is_answer, is_criterion, is_missing, parsed, roles_of
from reviewdesk.reports.tables.table_map import at_path
from reviewdesk.reports.wording import JsonObject

ANSWERS = ("score", "pass", "label")
NO_SCORE = re.compile(
    r"^_|^n_|^(?:reason|rationale|explanation|justification)"
    r"|(?:^|[_ ./:(-])(?:id|hash|step|epoch|timestamp|tstamp|date|idx|index|no|nr|num"
    r"|number|count|tokens?|cost|latency|duration|time|length|seed|turns?|words|chars|year|version"
    r"|temperature|#|reason\w*|rationale|explanation|kommentar|comments?|feedback|notes?|created|state"
    r"|threshold)\W*$",
    re.IGNORECASE,
)
"""Columns that are not scores, although they may hold numbers or words that decide."""

_NAMED = frozenset({"judge", "dimension", "name"})
"""Roles and keys of an object that is one of several answers, even if it is alone."""


def rule_of(held: Any, path: str, depth: int = 6) -> JsonObject | None:
    """Return the rule for the value at a path, if it holds answers at any depth."""
    only = held[0] if isinstance(held, list) and len(held) == 1 else None
    if isinstance(only, dict) and not _NAMED.intersection([*only, *roles_of(only)]):
        return rule_of(only, f"{path}.0", depth)
    named = isinstance(held, dict)
    elements = [*held.values()] if isinstance(held, dict) else held
    if not isinstance(elements, list) or not elements:
        return None
    if rule := _of_values(held, elements, path) or _of_elements(held, elements, path):
        return rule
    for key, one in held.items() if named and depth else ():
        if found := rule_of(parsed(one), f"{path}.{key}", depth - 1):
            if isinstance(held.get("model"), str) and found.get("judge", "").startswith("="):
                found |= {"judge": f"{path}.model", "model": f"{path}.model"}
            return found
    return None


def _of_values(held: Any, elements: Sequence[Any], path: str) -> JsonObject | None:
    """Return the rule for a list or an object without others inside: one answer, or several."""
    if any(isinstance(one, dict | list) for one in elements):
        return None
    if isinstance(held, dict):
        for key in ("content", "text"):
            if held.keys() & {"role", "type"} and is_answer(held.get(key)):
                return {"judge": f"={path}", "score": f"{path}.{key}"}
        roles = roles_of(held)
        if not roles.keys().isdisjoint(ANSWERS):
            kept = ("judge", *ANSWERS, "reason", "error")
            said = {role: f"{path}.{roles[role]}" for role in kept if role in roles}
            return {"judge": f"={path}", **said}
        if all(map(NO_SCORE.search, held)):
            return None
        stems = [key.removesuffix("_score") for key in held if key.endswith("_score")]
        if len(stems) > 1:
            why = next((key for key in held if key.startswith(f"{stems[0]}_rea")), "")
            why = f"{path}.*{why.removeprefix(stems[0])}"
            return {"ballots": [{"columns": stems, "score": f"{path}.*_score", "reason": why}]}
    filled = [one for one in elements if not is_missing(one)]
    if not filled or not all(map(is_answer, filled)):
        return None
    of_criteria = isinstance(held, dict) and any(map(is_criterion, held))
    rule = {"each": path, "judge": "@key", "score": "@value"}
    return {**rule, "dimension": "@key"} if of_criteria else rule


def _roles_of_answers(elements: Sequence[Any]) -> dict[str, str]:
    """Return the roles of the keys of some objects, or of the keys of an object inside them."""
    keys = dict.fromkeys(key for one in elements for key in one)
    roles = roles_of(key for key in keys if not isinstance(elements[0].get(key), dict))
    for key in keys if roles.keys().isdisjoint(ANSWERS) else ():
        inner = elements[0].get(key)
        if isinstance(inner, dict) and (deep := roles_of(inner)).keys() & {*ANSWERS}:
            roles |= {role: f"{key}.{one}" for role, one in deep.items() if role not in roles}
    if any("correct" in one for one in elements):
        roles.setdefault("pass", "correct")
    return roles


def _of_elements(held: Any, elements: Sequence[Any], path: str) -> JsonObject | None:
    """Return the rule for objects that each hold an answer and, unless named, a judge."""
    named = isinstance(held, dict)
    plain = [one for one in elements if not isinstance(one, dict)]
    if named and len(elements) - len(plain) > 1 and all(map(is_answer, plain)):
        elements = [one for one in elements if isinstance(one, dict)]
    elif plain:
        return None
    roles = _roles_of_answers(elements)
    called = [roles[role] for role in ("judge", "model", "generator") if role in roles]
    called += [roles["dimension"]] if "dimension" in roles else []
    judge = next((key for key in (*called[:1], "name", *called) if key in elements[0]), "")
    if not roles.keys().isdisjoint(ANSWERS) and (named or judge):
        said = (*ANSWERS, "reason", "error", "dimension")
        rule = {role: roles[role] for role in said if role in roles}
        if named and any(map(is_criterion, held)):
            rule.setdefault("dimension", "@key")
        elif judge and any(is_criterion(str(one.get(judge))) for one in elements):
            rule.setdefault("dimension", judge)
        for kind in ("annotator_kind", "source_type", "source.source_type"):
            if not named and any(at_path(one, kind) == "HUMAN" for one in elements):
                shared = {"each": path, "judge": judge, **rule}
                person = {"where": {kind: "HUMAN"}, "as": "person"}
                return {"ballots": [{**shared, **person}, shared]}
        if plain:
            rule["score"] = f"{rule.get('score', 'score')}|@value"
        return {"each": path, "judge": "@key" if named else judge, **rule}
    if named and all(one and all(map(is_answer, one.values())) for one in elements):
        of_key = {"judge": "@key", "score": "@value"}
        return {
            "ballots": [{"each": f"{path}.{key}", "dimension": f"={key}", **of_key} for key in held]
        }
    return None
