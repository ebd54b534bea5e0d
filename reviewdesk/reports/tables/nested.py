"""Find the answers of judges inside the objects and lists of a row."""

import re
from collections.abc import Iterable, Mapping, Sequence, ValuesView
from contextlib import suppress
from typing import Any

from reviewdesk.reports.tables.cells import (
    BALLOT,
    REASONS,
    TOTALS,
    USUAL,
    CellError,
    Cells,
    flat_names,
    is_amount,
    is_answer,
    is_criterion,
    is_missing,
    is_word,
    likely_number,
    name,
    parsed,
    roles_of,
)
from reviewdesk.reports.tables.rows import TableRow
from reviewdesk.reports.tables.table_map import at_path, elements
from reviewdesk.reports.wording import JsonObject

ANSWERS = ("score", "pass", "label")
CAMEL = "(?-i:(?<=[a-z0-9])(?=[A-Z]))"
"""Between two words of a name such as ``gptScore``."""
NO_SCORE = re.compile(
    r"^_|^n(?:um)?_|^(?:max|rank(?:ing)?|latency|cost|tokens?|time|duration|seconds)[_ ]|^invalid"
    r"|^raw_(?!score)|^(?:reason\w*|rationale|explanation|justification|feedback(?!_scores?[.:])"
    r"|comments?|begründung)[_ .]"
    rf"|(?:^|[_ ./:(-]|{CAMEL})(?:id|hash|step|epoch|timestamp|tstamp|date|idx|index|no|nr|num"
    r"|(?<!user.)(?<!customer.)(?<!assistant.)(?<!bot.)(?<!agent.)(?<!model.)turn"
    r"|number|count|tokens?|cost|latency|duration|time|length|seed|turns|words|chars|year|version"
    r"|temperature|usd|eur|dollars?|price|page|(?:rating_)?scale|span|range|(?<!qwen.)max|#|ms|secs?|seconds"
    r"|s|ts|spent|spend|elapsed|order"
    r"|rank|agree\w*|unanim\w*|kappa|votes|variance|std|stddev|sum|sum_squared|retries|attempts"
    r"|tries|calls|rounds?|runtime|progress|finished|latitude|longitude"
    rf"|reason\w*|{'|'.join(REASONS)}|created|at|ns|state|threshold|status_code)\W*$|[/.]error$"
    r"|seconds$|minutes$|[_ .](?:tokens?|cost|latency)[_ .]",
    re.IGNORECASE,
)
"""Columns that are not scores, although they may hold numbers or words that decide."""

_RAW = re.compile(r"(?:^|[_ .])raw(?:$|(?=[_ .]))", re.IGNORECASE)
_NORM = re.compile(
    r"(?:^|[_ .])(?:norm(?:ed|ali[sz]ed)?|scaled|rescaled)(?:$|(?=[_ .]))", re.IGNORECASE
)
"""Two forms of one score in the names of columns."""


def raw_forms(columns: Iterable[str]) -> dict[str, str]:
    """Map columns of converted scores (``score.norm``) to those of given ones (``score.raw``)."""
    columns = [*columns]
    other = {_NORM.sub("", one).strip("_ ."): one for one in columns if not _RAW.search(one)}
    given = {_RAW.sub("", one).strip("_ ."): one for one in columns if _RAW.search(one)}
    return {other[stem]: one for stem, one in given.items() if stem in other}


_SURE = (
    "judge|juror|critic|grader|evaluator|jue[zc]|juge(?![a-z])|giudice|valutatore|juiz|avaliador"
    "|richter|rechter|beoordelaar|sędzia|评委|裁判|评审"
)
SURE = re.compile(_SURE, re.IGNORECASE)
_MODEL = (
    "gpt|claude|gemini|llama|mi[sx]tral|qwen|deepseek|grok|command-r|sonnet|haiku|opus|gemma"
    r"|prometheus|guard(?!rail)|(?:^|[\W_])(?:phi|nova|glm|kimi|yi|llm|o[1-4]|r1)(?![a-z])"
)
MODEL = re.compile(_MODEL, re.IGNORECASE)
JUDGE = re.compile(rf"{_SURE}|rater|{_MODEL}", re.IGNORECASE)
"""Names of judges."""
_PERSON = re.compile(
    r"(?:humane?|humain|humano|umano|mensch|persona?|personne|manual)(?:[ _:/-].*)?$|ui$"
    r"|annotation$",
    re.IGNORECASE,
)
"""Words that mark an answer as a person's."""
_CROWD = re.compile(
    r"(?:human|expert|turker|crowd|worker|people|annotator)s?(?:_|\Z)(?!by)", re.IGNORECASE
)
"""Names of lists that hold what people said."""
_WHO = "created_by annotator author user_name user_id user by reviewer"
WHO = tuple(_WHO.split())
"""Keys that name a person."""

_NO_MARK = {"item", "input", "output", "alternative", "reference", "generator", *ANSWERS}
"""Roles whose cells do not say who answers."""
_LONGEST_MARK = 40
_LONGEST_NAME = 80
STATED = re.compile(r"(?:pass|fail)(?:ed)?\Z", re.IGNORECASE)
_OF_BALLOT = BALLOT - {"model", "repeat", *ANSWERS}
_MODELS = ("model", "modelVersion", "model_version", "modelId")
"""Keys of the model beside the text of a judge."""
_SEAT = ("judge", "dimension", "epoch")
_OUTCOME = re.compile(
    r"score|rating|overall|final|verdict|decision|consensus|passed|grade", re.IGNORECASE
)
"""Keys of an outcome beside the answers that it comes from."""
_VOTED = re.compile(r"vote|verdict|judg|label|winner|preference|decision|rating", re.IGNORECASE)
"""Names of objects whose words are those of judges, and not the responses of models."""

_SUM = (
    "(?:mean|avg|average|median|std|sum|total|overall|final|consensus|majority|aggregate|combined)"
)
SUMS = re.compile(
    rf"^(?:{TOTALS})$|^{_SUM}[_ ]|[_ ]{_SUM}$|(?:mean|max|vot\w+|var\w+)pool(?:unit)?\b",
    re.IGNORECASE,
)
"""Names of what sums up the answers beside it."""
_ASKED = re.compile(r"criteri|rubric|metric|aspect|dimension|question|check", re.IGNORECASE)
"""Names of lists of questions with their answers."""
_PHRASE = re.compile(r"[^\W\d_]+[ _](?-i:[a-z]){2,}")
"""Names of several words, such as ``Policy adherence``, which are those of questions."""
_NAMED = frozenset({"judge", "dimension", "name", "key"})
"""Roles and keys of an object that is one of several answers, even if it is alone."""


def asks(judge: str, beside: bool = False) -> bool:
    """Return True if the name of a score is a question's, as names ``beside`` questions are."""
    return is_criterion(judge) or (beside and not JUDGE.search(judge))


def rule_of(held: Any, path: str, depth: int = 6) -> JsonObject | None:
    """Return the rule for the value at a path, if it holds answers at any depth."""
    only = held[0] if isinstance(held, list) and len(held) == 1 else None
    if isinstance(only, dict) and not _NAMED.intersection([*only, *roles_of(only)]):
        return rule_of(only, f"{path}.0", depth)
    named = isinstance(held, dict)
    elements = [*held.values()] if isinstance(held, dict) else held
    if not isinstance(elements, list):
        return None
    elements = [one for one in elements if _filled(one)]
    whole = named and len(held) > 1 and {*map(type, held.values())} == {int}
    if not elements or (whole and all(USUAL.vote(key) is not None for key in held)):
        return None  # {"pass": 2, "fail": 1} counts votes, and is no judge's answer
    texts = [key for key, one in held.items() if isinstance(one, str)] if named else []
    if len(elements) - len(texts) > 1 and texts and not any(is_answer(held[one]) for one in texts):
        # Beside the answers of each judge may stand the prompt for all of them.
        rule = rule_of({key: one for key, one in held.items() if key not in texts}, path, depth)
        if rule and rule.get("each", "") in (path, f"{path}.*"):
            return _without(texts, rule)
    rule = _of_values(held, elements, path) or _of_elements(held, elements, path)
    if rule or (depth and (rule := _of_groups(held, elements, path, depth))):
        return rule
    for key, one in held.items() if named and depth else ():
        if found := rule_of(parsed(one), f"{path}.{key}", depth - 1):
            model = next((one for one in _MODELS if isinstance(held.get(one), str)), "")
            if model and found.get("judge", "").startswith("="):
                found |= {"judge": f"{path}.{model}", "model": f"{path}.{model}"}
            return _with_outcomes(found, held, path)
    return None


def _filled(value: Any) -> int:
    """Return how many values other than null there are, at any depth."""
    inner = value.values() if isinstance(value, dict) else value
    return sum(map(_filled, inner)) if isinstance(inner, list | ValuesView) else value is not None


def _with_outcomes(rule: JsonObject, around: Cells, path: str) -> JsonObject:
    """Return a rule with the outcomes that stand beside its answers: decisions, or questions."""
    stated = [key for key, one in around.items() if _OUTCOME.search(key) and is_answer(one)]
    if any("dimension" in one for one in rules_of(rule)) and stated:
        said = [(f"={one}", f"{path}.{one}") for one in stated]
        more = [{"judge": one, "dimension": one, "score": score} for one, score in said]
        return {"ballots": [*rules_of(rule), *more]}
    decided = [one for one in stated if likely_number(around[one]) is None]
    return rule | {"decision": f"{path}.{decided[0]}"} if decided else rule


def _of_values(held: Any, elements: Sequence[Any], path: str) -> JsonObject | None:
    """Return the rule for a list or an object without others inside: one answer, or several."""
    inner = [one for one in elements if isinstance(one, dict)]
    lists = any(isinstance(one, list) and type(one[0]) is not str for one in elements)
    # Beside a name and its score, an object tells how the score was found.
    few = all(sum(map(is_answer, one.values())) < 2 for one in inner)
    if lists or (inner and not (few and isinstance(held, dict) and "name" in held)):
        return None
    if isinstance(held, dict):
        for key in ("content", "text"):
            plain = isinstance(parsed(held.get(key)), str)
            if held.keys() & {"role", "type"} and plain and is_answer(held[key]):
                return {"judge": f"={path}", "score": f"{path}.{key}"}
        roles = _roles_of_answers([held])
        if not roles.keys().isdisjoint(ANSWERS):
            kept = ("judge", *ANSWERS, "raw_score", "reason", "error")
            said = {role: f"{path}.{roles[role]}" for role in kept if role in roles}
            return {"judge": f"{path}.name" if "name" in held else f"={path}", **said}
        if all(map(NO_SCORE.search, held)):
            return None
        stems = [key.removesuffix("_score") for key in held if key.endswith("_score")]
        if len(stems) > 1:
            why = next((key for key in held if key.startswith(f"{stems[0]}_rea")), "")
            why = f"{path}.*{why.removeprefix(stems[0])}"
            return {"ballots": [{"columns": stems, "score": f"{path}.*_score", "reason": why}]}
    filled = [one for one in elements if not is_missing(one)]
    words = _VOTED.search(path) and isinstance(held, dict) and all(map(JUDGE.search, held))
    if not filled or not all(is_answer(one) or (words and is_word(one)) for one in filled):
        return None
    rule: JsonObject = {"each": path, "judge": "@key", "score": "@value"}
    if not isinstance(held, dict):
        return rule
    # Judges of one question all vote or all give numbers.
    mixed = len({type(one) is bool for one in filled}) > 1 and not all(map(JUDGE.search, held))
    of_criteria = mixed or any(map(is_criterion, held))
    sums = [one for one in held if SUMS.search(one)]
    left_out = sums if len(sums) == 1 and len(held) > 2 and not of_criteria else []
    left_out += filter(NO_SCORE.search, held)
    rule |= {"dimension": "@key"} if of_criteria else {}
    return _without(left_out, rule)


def _without(keys: Sequence[str], rule: JsonObject) -> JsonObject:
    """Return a rule for elements, or the rules if those of some keys are not answers."""
    none = {"each": rule["each"], "where": {"@key": [*keys]}, "as": "none"}
    return {"ballots": [none, *rules_of(rule)]} if keys else rule


def _roles_of_answers(elements: Sequence[Any]) -> dict[str, str]:
    """Return the roles of the keys of some objects, or of the keys of an object inside them."""
    keys = dict.fromkeys(key for one in elements for key in one)
    roles = roles_of(key for key in keys if not isinstance(elements[0].get(key), dict))
    inner: dict[str, dict[str, str]] = {}
    for key, one in elements[0].items():
        single = isinstance(one, list) and len(one) == 1
        about = one[0] if single else one
        place = f"{key}.0" if single else key
        deep = roles_of(about) if isinstance(about, dict) else {}
        found = {role: f"{place}.{deep[role]}" for role in ("judge", "reason") if role in deep}
        roles = found | roles
        if {*ANSWERS} & deep.keys() and not single:
            inner[key] = deep
    if roles.keys().isdisjoint(ANSWERS) and len(inner) == 1:
        ((key, deep),) = inner.items()
        roles |= {role: f"{key}.{one}" for role, one in deep.items() if role not in roles}
    why = roles.get("reason", "")
    if why == "note" and all(is_amount(one.get(why)) for one in elements):
        # A "note" is a score in French and German, and a reason in English.
        roles = roles_of(key for key in keys if key != why) | {"score": why}
    elif why in keys and not all(why in one for one in elements):
        roles["reason"] = "|".join(key for key in keys if key.casefold() in REASONS)
    voted = all(STATED.match(str(one.get("status"))) for one in elements)
    votes = ("correct", "met", "satisfied", "supported", "is_supported", "status" * voted)
    if passed := next((key for key in votes if key in keys), ""):
        roles.setdefault("pass", passed)
    if "rubric" in roles:
        roles.setdefault("dimension", roles["rubric"])
    numbers = [
        key for key in keys if all(likely_number(one.get(key)) is not None for one in elements)
    ]
    pairs = raw_forms(numbers).items()
    roles |= next(({"score": key, "raw_score": raw} for key, raw in pairs), {})
    for key, one in elements[0].items():
        names = key == "name" or {"judge", "model", "generator"} & roles_of([key]).keys()
        if names and isinstance(one, dict):
            roles["judge"] = name_path(elements[0], key)
    return roles


def name_path(row: Mapping[str, Any], key: str) -> str:
    """Return the path of the name in a column, which may be a value of an object or list."""
    cell = row.get(key)
    if not cell or not isinstance(cell, list | dict):
        return key
    parts = (*(one for one in ("name", "id", "model") if one in cell), *cell)
    return f"{key}.{parts[0] if isinstance(cell, dict) else 0}"


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
    asked = _ASKED.search(path)
    likely = (*called[:1], "name", *called, "key", *(["text", "description"] if asked else ()))
    names = [str(one.get("name")) for one in elements]
    if called[:1] == [roles.get("dimension")] and len({*names}) < len(names) and names[0] != "None":
        likely = ("name",)  # the judge recurs with each question
    judge = next((one for one in likely if at_path(elements[0], one) is not None), "")
    judge = judge or ("" if named else _told_apart(elements, roles))
    said = (judge, *(str(at_path(one, judge)) for one in elements))
    of_text = judge not in ("", *likely, *WHO) and not any(map(JUDGE.search, said))
    if roles.keys().isdisjoint(ANSWERS) or not (named or judge):
        return None
    kept = (*ANSWERS, "raw_score", "reason", "error")
    rule = {role: roles[role] for role in kept if role in roles}
    names = [*held] if named else [str(at_path(one, judge)) for one in elements]
    # The key of a feedback is its question, as is the name of an annotation in Phoenix.
    keys = judge == "key" and not any(map(JUDGE.search, names))
    phrase = any(map(_PHRASE.match, names)) and not any(map(JUDGE.search, names))
    keys = keys or (judge == "name" and (phrase or "annotator_kind" in elements[0]))
    if "dimension" in roles:
        rule["dimension"] = roles["dimension"]
    elif any(map(is_criterion, names)) or (not named and (asked or of_text or keys)):
        rule["dimension"] = "@key" if named else judge
    if plain:
        rule["score"] = f"{rule.get('score', 'score')}|@value"
    return {"each": path, "judge": "@key" if named else judge, **rule}


def _told_apart(elements: Sequence[Mapping[str, Any]], roles: Mapping[str, str]) -> str:
    """Return the key of a short text that differs in each of several answers, or ""."""
    for key in elements[0] if len(elements) > 1 else ():
        said = [one.get(key) for one in elements]
        texts = all(type(one) is str and 0 < len(one) < _LONGEST_NAME for one in said)
        other = key in roles.values() or NO_SCORE.search(key) or any(map(is_answer, said))
        if texts and len({*said}) == len(said) and not other:
            return key
    return ""


def of_people(elements: Sequence[Mapping[str, Any]]) -> JsonObject | None:
    """Return the part of a rule for the answers that are marked as a person's, if any are."""
    words: dict[str, set[str]] = {}
    for one in elements:
        roles = roles_of(one)
        facts = {"^", "@value", *(roles[role] for role in _NO_MARK & roles.keys())}
        for path in flat_names({key: cell for key, cell in one.items() if key not in facts}):
            if isinstance(mark := at_path(one, path), str) and len(mark) < _LONGEST_MARK:
                words.setdefault(path, set()).add(mark)
    for path, found in words.items():
        if marks := sorted(filter(_PERSON.match, found)):
            by = next((key for key in WHO if any(key in one for one in elements)), "")
            return {"where": {path: marks}, "as": "person"} | ({"by": by} if by else {})
    return None


def of_crowd(rule: JsonObject) -> JsonObject:
    """Return a rule as one for labels of people, if its place is named after people."""
    worker = rule.get("judge", "").endswith("worker_id")
    if not worker and not _CROWD.match(rule.get("each", "")):
        return rule
    rest = {role: one for role, one in rule.items() if role not in {"judge", *ANSWERS}}
    said = next(rule[role] for role in ANSWERS if role in rule)
    return rest | {"as": "person", "label": said, "by": rule["judge"]}


def _of_groups(held: Any, elements: Sequence[Any], path: str, depth: int) -> JsonObject | None:
    """Return the rule for objects that each hold several answers, such as all those of a judge."""
    named = isinstance(held, dict)
    whole = all(isinstance(one, dict | list) and one for one in elements)
    if not whole or (named and len(elements) < 2):
        return None
    first = elements[0] if isinstance(elements[0], dict) else {}
    roles = roles_of(first)
    judge = roles.get("judge") or roles.get("model", "")
    who = next((one for one in ("worker_id", "name", *WHO) if one in first), "")
    key = judge or roles.get("dimension", "") or who
    step = next((one for one in ("step", "turn", "index") if one in first), "")
    asked = [one for one in first if one not in roles.values() and is_answer(first[one])]
    asked = [one for one in asked if not NO_SCORE.search(one)]
    if key and asked:
        rule: JsonObject = {"each": path, "judge": name_path(first, key)}
        rule |= {role: roles[role] for role in ("reason", "error") if role in roles}
        if len(asked) == 1:
            names = (str(at_path(one, rule["judge"])) for one in elements)
            question = {"dimension": rule["judge"]} if any(map(is_criterion, names)) else {}
            return {**rule, "score": asked[0], **question}
        return {"ballots": [{**rule, "score": one, "dimension": f"={one}"} for one in asked]}
    if step and not named and (scored := next(filter(_OUTCOME.search, asked), "")):
        whys = [one for one in first if one.casefold().endswith(REASONS)]
        rule = {"each": path, "judge": f"={path}", "score": scored, "dimension": step}
        return rule | ({"reason": whys[0]} if whys else {})
    found = [rules_of(rule_of(one, "@", depth - 1)) for one in elements[:5]]
    shapes = [[one.get("each", one.get("score")) for one in rules] for rules in found]
    inside = bool(found[0]) and all("each" in one for one in found[0])
    if not inside or any(shape != shapes[0] for shape in shapes):
        return None
    of_judges = named and all(map(JUDGE.search, held)) and not any(map(JUDGE.search, first))
    named_by = name_path(first, key) if key else "@key"
    outer = {"judge" if judge or key == "worker_id" else "dimension": f"^.{named_by}"}
    if not key and not named:
        # Each turn has a response of its own; other lists are repeats.
        outer = {"dimension": f"^.{step}"} if step else {"epoch": "^.@key"}
    rules = [_lifted(one, path, outer, of_judges=of_judges) for one in found[0]]
    return rules[0] if len(rules) == 1 else {"ballots": rules}


def rules_of(rule: JsonObject | None) -> list[JsonObject]:
    return (rule.get("ballots") or [rule]) if rule else []


def _lifted(rule: JsonObject, path: str, outer: JsonObject, *, of_judges: bool) -> JsonObject:
    """Return the rule of one of several groups as that of all of them, which ``outer`` names."""
    rule = {role: one for role, one in rule.items() if role != "decision"}
    rule["each"] = rule["each"].replace("@", f"{path}.*", 1)
    if "dimension" in rule or (of_judges and rule.get("judge") == "@key"):
        judge = next(iter(outer.values()))
        return rule | {"judge": judge, "dimension": rule.get("dimension", "@key")}
    return rule | outer


def highest_of(cells: Iterable[Any]) -> float:
    return max((likely_number(cell) or 0 for cell in cells), default=0)


class TableSample:
    """The first rows of a table, and what they hold at some depth."""

    columns: tuple[str, ...]
    sample: Sequence[TableRow]
    filled: dict[str, list[Any]]
    """The filled cells of the columns so far, because many questions are about each."""
    unanswered: dict[str, list[Any]]
    """Those of them that hold no number, vote or mark."""

    def cells(self, column: str) -> list[Any]:
        if column not in self.filled:
            cells = [row.cells.get(column) for row in self.sample] if column else []
            self.filled[column] = [one for one in cells if not is_missing(one)]
        return self.filled[column]

    def said_in(self, columns: Sequence[str]) -> set[str]:
        return {str(cell) for one in columns for cell in self.cells(one)}

    def highest(self, columns: Sequence[str]) -> float:
        return highest_of(cell for one in columns for cell in self.cells(one))

    def recurs(self, paths: Sequence[str]) -> bool:
        found = [tuple(name(at_path(row.cells, one)) for one in paths) for row in self.sample]
        found = [one for one in found if one[0]]
        return len({*found}) < len(found)

    def held(self, column: str) -> JsonObject | None:
        """Return the rule for the answers in the objects, lists or JSON texts of a column."""
        cells = [one for one in map(parsed, self.cells(column)) if isinstance(one, dict | list)]
        # The object of a judge that failed may hold no answer.
        rules = (
            rule_of(one, column)
            for one in sorted(cells, key=lambda one: (len(one), _filled(one)), reverse=True)
        )
        rule = next(filter(None, rules), None)
        if rule and isinstance(self.cells(column)[0], str) and rule.get("judge") == f"={column}":
            # A text that is no JSON is kept as an answer that is not understood.
            role = next(role for role in ANSWERS if role in rule)
            rule[role] += f"|{column}"
        if rule is None or "each" not in rule:
            failed = roles_of(key for one in cells if isinstance(one, dict) for key in one)
            more = {"error": f"{column}.{failed['error']}"} if "error" in failed else {}
            return more | rule if rule else rule
        rule = self.side_by_side(rule)
        found = self.inside(rule["each"])
        if rule.get("score") != "@value" and " + " not in rule["each"]:
            own = [one["@value"] for one in found if isinstance(one["@value"], dict)]
            roles = roles_of(dict.fromkeys(key for one in own for key in one))
            rule = {role: roles[role] for role in roles if role in _OF_BALLOT} | rule
        said = [
            (id(one["^"]), *(name(at_path(one, rule.get(role, ""))) for role in _SEAT))
            for one in found
        ]
        if len({*said}) < len(said):
            rule = {"epoch": "@key"} | rule  # a judge that answers several times
        person = of_people(found)
        return {"ballots": [rule | person, rule]} if person else rule

    def inside(self, each: str) -> list[Cells]:
        """Return the elements that a rule names in the rows of the sample."""
        found: list[Cells] = []
        for row in self.sample:
            with suppress(CellError):
                found += [one for one, _ in elements(row.cells, each, self.columns)]
        return found

    def at(self, rule: Cells) -> list[Any]:
        """Return the scores that a rule reads from the lists and objects of the sample."""
        path = rule.get("score") or rule.get("label") or rule.get("pass") or ""
        found = (at_path(one, path) for one in self.inside(rule.get("each", "")))
        return [one for one in found if one is not None]

    def side_by_side(self, rule: JsonObject) -> JsonObject:
        """Return the rule of answers; names and reasons may be in lists or objects beside them."""
        each = rule["each"]
        outer, _, last = each.rpartition(".")
        cells = self.sample[0].cells
        around = parsed(at_path(cells, outer)) if outer else cells
        scores = parsed(around.get(last)) if isinstance(around, dict) else None
        by_value = rule.get("score") == "@value" and ".*" not in each
        if not by_value or not isinstance(scores, dict | list):
            return rule
        found: dict[str, str] = {}
        for key, one in around.items():
            beside = parsed(one)
            texts = [*beside.values()] if isinstance(beside, dict) else beside
            if key == last or type(beside) is not type(scores) or len(beside) != len(scores):
                continue
            if isinstance(scores, dict) and {*beside} != {*scores}:
                continue
            why = NO_SCORE.search(key)
            texts = [text for text in texts if text is not None or not why]
            if not all(isinstance(text, str) and (why or not is_answer(text)) for text in texts):
                continue
            judges = not why and isinstance(beside, list) and len({*texts}) == len(texts)
            judges = judges and "judge" not in found
            found["judge" if judges else "reason"] = key
        if not found:
            return rule
        paths = [each, *(f"{outer}.{key}".lstrip(".") for key in found.values())]
        return {**rule, "each": " + ".join(paths), "score": last, **found}

    def of_all(self, rule: JsonObject, column: str) -> JsonObject:
        """Return the rule for every column with answers of one shape, such as ``judge_2``."""
        unnamed = rule.get("judge") == "^.@key" and isinstance(self.cells(column)[0], list)
        # The object of a judge may hold an answer to each question.
        asked = "each" in rule and rule["judge"] == rule.get("dimension") == "@key"
        if unnamed or asked or ("each" in rule and "dimension" not in rule):
            free = [one for one in self.columns if not ("." in one or NO_SCORE.search(one))]
            rules = {one: self.held(one) or {} for one in free}
            shape = {key: str(path).replace(column, "*") for key, path in rule.items()}
            alike = {
                one: found
                for one, found in rules.items()
                if {key: str(path).replace(one, "*") for key, path in found.items()} == shape
            }
            if len(alike) < 2 and not unnamed:
                return rule
            # The raters of a list have no names but those of the list and their numbers.
            role, more = ("judge", " + ^.@key") if unnamed else ("dimension", "")
            role = "judge" if asked else role
            if all(map(JUDGE.search, alike)) and type(self.inside(rule["each"])[0]["@key"]) is int:
                # Each column is a judge, with a list of its repeats.
                alike = {one: {"epoch": "@key", **found} for one, found in alike.items()}
                role = "judge"
            return {"ballots": [found | {role: f"={one}{more}"} for one, found in alike.items()]}
        own = rule.get("judge", "").replace(column, "*")
        if own not in {"=*", "*.name"}:
            return rule
        named = (one for one in self.sample[0].cells if not one.startswith("raw_"))
        rules = {one: self.held(one) or {} for one in named}
        single = [one for one in rules if rules[one].get("judge", "").replace(one, "*") == own]
        if len(single) < 2:
            return rule
        said: JsonObject = {}
        for one in (*single, column):
            said |= {role: path.replace(one, "*") for role, path in rules[one].items()}
        # The answer of a column is its score, which may be a word.
        said.setdefault("score", said.pop("pass", "") or said.get("label", ""))
        said |= {"dimension": "=*"} if any(map(is_criterion, single)) else {}
        return {**said, "columns": single}
