"""Find what the columns of a plain table hold, by their names and their cells."""

import re
from collections.abc import Sequence
from itertools import takewhile
from typing import Any

from reviewdesk.reports.options import ReadOptions
from reviewdesk.reports.tables.cells import (
    NEITHER,
    REASONS,
    USUAL,
    Cells,
    DecidingWords,
    is_amount,
    is_answer,
    is_criterion,
    is_word,
    likely_number,
    parsed,
    roles_of,
    stated_error,
    without_remark,
)
from reviewdesk.reports.tables.content import SHORT, TableContent
from reviewdesk.reports.tables.nested import (
    ANSWERS,
    CAMEL,
    JUDGE,
    MODEL,
    NO_SCORE,
    STATED,
    WHO,
    raw_forms,
)
from reviewdesk.reports.tables.rows import TableRow
from reviewdesk.reports.tables.table_map import at_path
from reviewdesk.reports.wording import JsonObject

_MARKS = (
    "score|norm|rank|winner|preference|preferred|(?:pairwise_)?choice|rating|grade|verdict|vote|decision|value|label|pass(?:ed)?|result|is_correct"
    "|judge?ment|bewertung|urteil|note|nota|punkte|puntuación|correct"
)
_RANGES = r"(?:\s*\((?:[\d\s./–-]+|pass/fail|yes/no|y/n|%)\))?"
_BEFORE = re.compile(rf"(?:{_MARKS})s?[\s_.:/-]{{1,3}}(?=\w)", re.IGNORECASE)
_BEHIND = re.compile(
    rf"(?:(?:[\s_.:/-]{{1,3}}|{CAMEL})\(?(?:{_MARKS})\)?|[得评]分|スコア|点数|判定){_RANGES}\Z",
    re.IGNORECASE,
)
"""The prefix or suffix that columns of scores add to the names of their judges."""
MARKED = re.compile(rf"(?:^|[\s_.:/-]|{CAMEL})(?:{_MARKS})s?(?:$|[\s_.:/-])", re.IGNORECASE)
"""Names of columns of scores."""
TEXTS = {
    "reference": re.compile(r"expected|reference|ground.?truth|gold|ideal|erwartet", re.IGNORECASE),
    "output": re.compile(
        r"answer|response|resps|output|reply|completion|generated|decoded|summary|translation|hypothesis"
        r"|candidate|antwort|réponse|respuesta|回答|答案|応答|出力|输出|ответ"
        r"|^(?:assistant|bot|agent|model|chatbot)(?:[ _](?:message|text|turn|says?|said))?$",
        re.IGNORECASE,
    ),
    "input": re.compile(
        r"question|prompt|query|instruction|input|message|article|document|goal|frage|pregunta"
        r"|问题|提问|質問|入力|输入|вопрос"
        r"|^(?:user|customer)(?:[ _](?:text|turn|says?|said|asks?|asked))?$",
        re.IGNORECASE,
    ),
}
"""Words in the names of columns of texts."""
_INNER = frozenset({"item", "input", "output", "reference"})
_OUTER = frozenset({"item", "input", "judge", "threshold"})
"""Facts that may stand inside an object of a row, and around a row."""
_HOLDERS = re.compile(
    r"(?:\w+_)?(?:inputs?|outputs?|data(?:set)?|meta(?:data)?|example|case|row|sample|record|task|answer"
    r"|vars|run)[.:/](?:\w+[.:/])*",
    re.IGNORECASE,
)
"""The start of a column's name that only says where a fact was."""
_TASK_NAMES = "doc example datasource_item dataset_item task input inputs"
_TASKS = frozenset(_TASK_NAMES.split())
"""Objects that hold a question and its known answer."""
_PEOPLE = re.compile(
    r"(?:^|[_ .:/])(?:e-?mail(?:[ _]address)?|user_?name|assessor|labell?er"
    r"|(?:worker|respondent|participant|annotator)[ _]?(?:id)?"
    r"|(?:your|full|ihr|votre|tu|su)[ _](?:name|nom|nombre)|what is your name\??|respondent name)$",
    re.IGNORECASE,
)
"""Columns that name the person of a row, if several rows are about one item."""
_RESPONSE = re.compile(r"response[ _]?id$", re.IGNORECASE)
"""The column that stands for the person of a row, in a form without names."""
_OF_FORM = re.compile(
    r"(?:timestamp|zeitstempel|horodateur|marca temporal|タイムスタンプ|(?:start|completion) ?time"
    r"|start ?date|submitted(?: at)?|submit date|recorded ?date)$",
    re.IGNORECASE,
)
"""Columns that forms have in front of the answers of each person."""
_ID = re.compile(r"(?:^|[_ .-])(?:id|key|nr|no|number|#)\.?$|[a-z]Id$", re.IGNORECASE)
_WHEN = re.compile(r"time|date|created|submitted|started|^ts$", re.IGNORECASE)
_OTHER_ID = re.compile(
    r"user|run|batch|session|worker|annot|judge|rater|model|job|eval", re.IGNORECASE
)
"""Ids of other things than items."""
_HUMAN = re.compile(
    r"(?<![a-z])(?:human|humaine?|human[oa]|uman[oa]|mensch|menschliche?[rs]?|menselijke?|handmatig"
    r"|manuelle?[rs]?|relect(?:eur|rice)|ручн\w+|человек|ręczn\w+|人間|人工|人手|사람)(?-i:(?![a-z]))"
    r"|^(?:expert|gold|manual|pm|sme|doctor|clinician|teacher|crowd|editor|reviewer|lead(?:'s)?)"
    r"[ _-](?!\d)|^(?:physician|nurse|analyst|lawyer|attorney|counsel|auditor|curator|ärztin|arzt"
    r"|anwalt|médico|médecin|abogad[oa]|analista|avocat|(?:prüf|gutacht)er(?:in)?|freigabe|redaktion"
    r"|sme|trainer|ops)(?:'s)?(?:[ _-](?!\d)|$)|^(?:our|team)[ _-](?:label|verdict|vote|rating)"
    r"|[ _-](?:lead|manager|supervisor|moderator|linguist)$"
    r"|^thumbs?\b|^(?:expected|true|target|ground[ _-]?truth)[ _-](?:verdict|label|decision|vote)"
    r"|^(?:user|customer)[ _-](?:feedback|rating|vote|label|score)",
    re.IGNORECASE,
)
_RATER = re.compile(
    r"(?:^|[_ ])(?:annotator|ann|reviewer|labell?er|rater|expert|human)"
    r"(?:[ _-]?\d+|[ _-][a-z]|(?-i:[A-Z]))(?: \([^()]+\))?$",
    re.IGNORECASE,
)
"""Columns of people."""
_ROLE_OF_PERSON = re.compile(
    r"(?:annotator|rater|coder|labell?er|reviewer|prüfer(?:in)?|revisore?|relecteur)[ _-]"
    r"(?=[a-z]{2})",
    re.IGNORECASE,
)
"""The start of a column's name that says what the person does whom it names."""
_EXPERT = re.compile(r"expert\b|expert_", re.IGNORECASE)
_FIRST_NAMES = """
adam alex alice amir ana andrea anita anja anna anne ben bob carlos carol charlie chen chris dan
daniel dana dave david diana elena ella emily emma eric eva fatima felix frank george hana hannah
hans ivan jack jan jane jean jim joe john jonas jose juan julia kate laura lea lena leo li lin lisa
luca lucas luis maria marie mark marta martin mary max maya mia michael mike mohammed nina noah olga
oliver olivia omar paul pedro peter petra pierre priya raj ravi rosa ryan sam sara sarah sofia
sophie steve susan thomas tim tom wei yuki zoe dr mr mrs ms prof
"""
"""Names of persons, whose columns beside those of judges are people's."""
_NAMES_JUDGE = re.compile(
    r"judge|model|guard|rater|review|annot|evaluat|grader|scorer|assess", re.IGNORECASE
)
_FAILS = re.compile(
    r"(?:(?:strongly|very|somewhat|rather|slightly|completely) )?"
    r"(?:(?:un|in|irr|not?|non|dis)[ _-]?\w{3}|(?:do|doe|did|ca|is|wo)(?:s not|es not| not|n't)"
    r"|bad|poor|wrong|neg|weak|low|harm|down|fail|below|halluc|toxic|viol|miss|mal|refut|contra|sever"
    r"|major|critical|serious|[d-f][+-]?$)",
    re.IGNORECASE,
)
_NEGATED = re.compile(r"(?:not?|non|without)[ _-]+(?:an? )?", re.IGNORECASE)
OF_ITEM = re.compile(r"decision|final|overall|consensus|majority", re.IGNORECASE)
"""Columns of an outcome that may be the item's, not that of a question."""


class TableRoles(TableContent):
    """The roles of the columns of a table, each with its column or path."""

    def __init__(
        self, columns: Sequence[str], sample: Sequence[TableRow], options: ReadOptions
    ) -> None:
        """Find the roles of the columns that no option names."""
        self.columns = tuple(dict.fromkeys(name for name in columns if name))
        self.sample = sample
        self.filled = {}
        self.unanswered = {}
        self.options = options
        self.form = False
        """Whether the table has a row for each person, as forms have."""
        self.likely_judge = ""
        """The column that may name the judges, or the writers of responses that are not there."""
        self.marks: tuple[set[str], set[str]] = ({"a"}, {"b"})
        """What names the first and the second one of two responses."""
        self.made: JsonObject = {}
        """The map, as far as it is known."""
        self.given = (*options.judge_columns, *options.criteria_columns)
        self.said = (*self.given, *filter(None, (options.item_column, options.output_column)))
        free = [one for one in self.columns if one not in self.said]
        judged = any(JUDGE.search(one) and not _RATER.search(one) for one in self.columns)
        judged = judged or bool(options.judge_columns)
        named = self.find_people(free, judged=judged)
        filled = roles_of(one for one in named if self.cells(one) or not sample)
        empty = roles_of(one for one in named if one not in filled.values())
        self.roles = empty | filled
        judge = self.roles.get("judge", "")
        votes = self.cells(judge)
        answered = not judged or bool({*ANSWERS} & self.roles.keys())
        decimal = answered and any(str(one).isdecimal() for one in votes)
        cells = [cell for one in votes for cell in (one.values() if type(one) is dict else [one])]
        if cells and not decimal and all(map(is_answer, cells)):
            del self.roles["judge"]
            self.people += [judge] if _RATER.search(f"{judge} 1") else []
        self.raw = raw_forms(
            one
            for one in self.columns
            if all(likely_number(cell) is not None for cell in self.cells(one))
        )
        """The columns of scores that also stand in another column, as the judge gave them."""
        self.find_replies()
        self.find_texts(free)
        truth = self.said_in([self.roles.get("reference", "")])
        if truth and all(map(STATED.match, truth)):
            self.roles.setdefault("human", self.roles.pop("reference"))
        around = sample[0].cells.get("^", {}) if sample else {}
        outer = roles_of(key for key, one in around.items() if type(one) in (str, int, float))
        self.roles = {role: f"^.{outer[role]}" for role in outer if role in _OUTER} | self.roles
        self.roles |= self.inner_roles()
        likely = [one for one in free if JUDGE.search(one) and one not in self.roles.values()]
        self.judged = [
            one for one in likely if self.answers(one) or self.has_words(self.cells(one))
        ]
        self.judged += options.judge_columns
        """The columns of answers that are named after judges."""
        self.find_judges()
        self.find_human()

    def find_people(self, free: Sequence[str], *, judged: bool) -> list[str]:
        """Find the columns of people; return those that may have other roles."""
        named = [one for one in free if not (NO_SCORE.search(one) or _PEOPLE.search(one))]
        self.people = [one for one in named if _HUMAN.search(one) or _RATER.search(one)]
        # A reviewer that is named after a model is a judge.
        self.people = [
            one for one in self.people if "human" in one.casefold() or not MODEL.search(one)
        ]
        self.people += [one for one in free if judged and _is_person(one)]
        # Without names of judges, an expert may be one of them.
        experts = [] if judged else [*filter(_EXPERT.match, free)]
        self.people = [one for one in dict.fromkeys(self.people) if one not in experts]
        return [one for one in free if one not in experts]

    def find_replies(self) -> None:
        """Find the replies of judges under a name of responses: votes, or texts that end in one."""
        reply = self.roles.get("output", "")
        said = self.cells(reply)
        other = [one for one in self.columns if one != reply and self.answers(one)]
        model = self.roles.get("judge") or self.roles.get("model")
        alone = said and not other
        votes = (type(one) is str and USUAL.vote(one) is not None for one in said)
        if model and alone and all(votes):
            self.roles |= {"judge": model, "pass": self.roles.pop("output")}
        ends = [*map(without_remark, said if other else ())]
        if ends != said and any(_folded(ends) == _folded(self.cells(one)) for one in other):
            self.roles.setdefault("reason", self.roles.pop("output"))

    def find_texts(self, free: Sequence[str]) -> None:
        """Find texts by a word in the names of columns, and scores under the name of reasons."""
        talk = self.cells(self.roles.get("conversation", ""))
        if "conversation" in self.roles and all(type(parsed(one)) is str for one in talk):
            role = "item" if all(len(one) <= SHORT for one in talk) else "output"
            self.roles.setdefault(role, self.roles.pop("conversation"))
        for role, words in TEXTS.items():
            taken = {*self.roles.values()}
            likely = (one for one in free if one not in taken and words.search(one))
            other = (NO_SCORE.search, _BEHIND.search, _ID.search)
            likely = (one for one in likely if not any(is_other(one) for is_other in other))
            # A known answer may be a number in some rows.
            is_text = self.is_texts if role == "reference" else self.is_text
            found = next(filter(is_text, likely), "")
            if found and self.roles.get(role, "text") in {"text", "Text"}:
                self.roles[role] = found
        self.find_responses(free)
        if all(map(str.isdecimal, self.columns)):
            self.place_texts()
        missing = [one for one in ("input", "output") if one not in self.roles]
        if missing and "conversation" not in self.roles:
            known = {*self.roles.values(), *self.people}
            rest = [*takewhile(lambda one: not self.answers(one), free[1:])]
            rest = [one for one in rest if self.is_text(one) and " " in "".join(self.cells(one))]
            rest = [one for one in rest if not (one in known or NO_SCORE.search(one))]
            items = len(self.said_in(self.columns[:1])) or len(self.sample)
            rest = [one for one in rest if 2 * len(self.said_in([one])) > items]
            if len(rest) <= len(missing) or len(missing) > 1:
                rest = rest[-len(missing) :]
                self.roles |= dict(zip(missing[-len(rest) :], rest, strict=False))
        # A "note" is a score in French, and a reason in English.
        for why in free if "score" not in self.roles else ():
            scores = self.cells(why) if why.strip().casefold() in REASONS else []
            if scores and all(map(is_amount, scores)):
                self.roles = roles_of(one for one in free if one != why) | {"score": why}
                return

    def place_texts(self) -> None:
        """Give roles to the texts of a table without a header, by their places."""
        answers = [one for one in self.columns if self.answers(one)]
        texts = [one for one in self.columns[1:] if one not in answers and not self.recurs([one])]
        before = [one for one in texts if not answers or int(one) < int(answers[-1])]
        roles = ("input", "output") if before[1:] else ("output",)
        self.roles |= dict(zip(roles, before, strict=False))
        self.roles |= dict(zip(["reason"], texts[len(before) :], strict=False))

    def find_judges(self) -> None:
        """Find the column that names the judge or the question of each row, whatever its name."""
        self.find_keys()
        self.find_beside()
        item = self.roles.get("item", "")
        again = any(self.recurs([one]) for one in ([item] if item else self.ids(self.columns)))
        filled = [one for one in self.columns if self.cells(one)]
        person = next(filter(_PEOPLE.search, filled), "")
        if self.given == () and any(map(_OF_FORM.match, self.columns[:3])):
            calls = (one for one in filled if one.casefold() in ("name", "nom", "nombre"))
            who = person or next(calls, "") or next(filter(_RESPONSE.match, filled), "")
            other = {self.roles.get(one, "") for one in ("input", "output", "score", "dimension")}
            other = {one for one in other if not self.answers(one)}
            other |= {item, self.roles.get("judge", "")} - {*self.columns[:1], who}
            self.form = bool(who) and not self.recurs([who]) and other == {""}
        if self.form:
            # The columns of a form, such as "Response 1", hold answers and no texts.
            kept = ("reason", "at")
            self.roles = {role: one for role, one in self.roles.items() if role in kept}
            self.roles["judge"] = who
            return
        if person and (again or not {"item", "input", "output"} & self.roles.keys()):
            self.roles.setdefault("judge", person)
        inner = [one for row in self.sample for one in row.cells.values() if type(one) is dict]
        within = any(one and all(map(JUDGE.search, one)) for one in inner)
        if "dimension" in self.roles or self.given or self.judged[1:] or within:
            return
        known = "judge" in self.roles
        if not known:
            self.find_names(item, again=again)
        if known or not ({"judge", "dimension"} & self.roles.keys() or self.judged):
            self.find_crossed()

    def find_names(self, item: str, *, again: bool) -> None:
        """Find the column whose cells are names of judges, or that is named after them."""
        for column in self.columns:
            cells = [at_path(row.cells, column) for row in self.sample]
            cells = [one for one in cells if isinstance(one, str) and one.strip()]
            if column == item == "name" and cells and all(map(is_criterion, cells)):
                self.roles["dimension"] = self.roles.pop("item")
                return
            cells = [one for one in cells if parsed(one) is one]
            if not 1 < len({*cells}) < len(cells) == len(self.sample) or column == item:
                continue
            named = bool(_NAMES_JUDGE.search(column)) and column not in self.roles.values()
            named = named and bool({*ANSWERS} & self.roles.keys())
            scored = self.roles.get("test") == column and "score" in self.roles
            apart = (scored or named) and again and not self.recurs([item, column])
            if all(map(JUDGE.search, cells)) or apart:
                role = "dimension" if any(map(is_criterion, cells)) else "judge"
                self.roles = {key: one for key, one in self.roles.items() if one != column}
                self.roles[role] = column
                return

    def find_beside(self) -> None:
        """Find the judge in a column ``name`` or ``model``, and the question in ``rubric``."""
        item, output, judge, asked, rubric = (
            self.roles.get(one, "") for one in ("item", "output", "judge", "dimension", "rubric")
        )
        said = [one for one in (item, judge, asked) if one]
        if not item or self.given or not self.recurs(said):
            return
        rows = [row.cells for row in self.sample]
        single = len({(str(one.get(item)), str(one.get(output))) for one in rows}) == len(
            {str(one.get(item)) for one in rows}
        )
        question = [rubric] if rubric and not asked else []
        likely = [judge] if judge else ["name", self.roles.get("model", "")]
        named = [one for one in likely if one in self.columns]
        if not (judge or output):
            # In a table without responses, the model may be the one that wrote them.
            named = named if asked and {*ANSWERS} & self.roles.keys() else []
        for one in named if judge or single else ():
            told = [*dict.fromkeys([*said, one])]
            if self.recurs(told) and (not question or self.recurs([*told, rubric])):
                continue
            self.roles = {role: name for role, name in self.roles.items() if name != one}
            self.roles |= {"judge": one} | ({"dimension": rubric} if self.recurs(told) else {})
            self.likely_judge = "" if judge or output else one
            return

    def find_keys(self) -> None:
        """Find out whether the keys of lists of rows name judges or questions."""
        keys = [str(row.cells["@key"]) for row in self.sample if "@key" in row.cells]
        item, judge = (self.roles.get(one, "") for one in ("item", "judge"))
        if keys and judge:
            if self.recurs([item, judge]) and not self.recurs([item, judge, "@key"]):
                self.roles.setdefault("dimension", "@key")
        elif len({*keys}) > 1 and item not in ("", "@key") and not self.recurs([item]):
            self.roles.setdefault("suite", "@key")  # each key holds items of its own
        elif keys and (len({*keys}) < len(keys) or all(map(JUDGE.search, keys))):
            self.roles["dimension" if any(map(is_criterion, keys)) else "judge"] = "@key"
            if item == "@key":
                del self.roles["item"]

    def find_human(self) -> None:
        """Find the columns of people's labels; one with only names or texts does not count."""
        words = DecidingWords(self.options)
        who = self.roles.get("judge", "")
        said = [one for one in ("label", "pass", "score") if one in self.roles]
        once = not self.recurs([self.roles.get("item", "")])
        of_person = once and bool(_RATER.search(f"{who} 1"))
        labelled = "human" in self.roles or bool(self.people)
        if self.judged and of_person and (said or labelled):
            # Beside the answers of judges, that of the row is a person's.
            found = {} if labelled else {"human": self.roles.pop(said[0])}
            self.roles = found | {"human_by": self.roles.pop("judge")} | self.roles
        elif self.judged[1:] and not who and "label" in said:
            self.roles = {"human": self.roles.pop(said[0])} | self.roles
        objects = (one for one in self.people if {*map(type, self.cells(one))} == {dict})
        named = self.roles.get("human") or next(objects, "")
        self.people_rule: list[dict[str, Any]] = []
        review = next(iter(self.cells(named)), None)
        if isinstance(review, dict):
            inner = roles_of(review)
            answer = next((inner[one] for one in ANSWERS[::-1] if one in inner), "")
            self.roles["human"] = f"{named}.{answer}"
            if who := inner.get("judge") or next((one for one in WHO if one in review), ""):
                self.roles.setdefault("human_by", f"{named}.{who}")
            return
        if (said := self.cells(named)) and not any(map(words.human, said)):
            self.find_gold(named)
        if self.highest([self.roles.get("human", "@")]) > 1 and not self.options.pass_labels:
            # Of a person's scores, 1 is no pass: they are no labels.
            self.people.append(self.roles.pop("human"))
        labels = [
            one
            for one in self.people
            if (held := self.cells(one)) and (all(map(words.human, held)) or self.has_words(held))
        ]
        if len(labels) > 1 and "majority" in self.roles.get("decision", "").casefold():
            self.roles["human"] = self.roles.pop("decision")
        elif len(labels) > 1 and not named:
            self.people_rule = [{"columns": labels, "as": "person", "label": "*", "by": "=*"}]
        elif labels and not named:
            self.roles["human"] = labels[0]

    def find_gold(self, named: str) -> None:
        """Give another role to a column named after people in which no label stands."""
        if (word := named.casefold().strip()) in {"gold", "truth"} and self.is_texts(named):
            self.roles.setdefault("reference", named)
            del self.roles["human"]
        elif word in {"reviewer", "expert"}:
            del self.roles["human"]
            others = (one for one in self.columns if one != named and self.recurs([one]))
            if self.recurs([named]) and not all(self.recurs([one, named]) for one in others):
                self.roles.setdefault("judge", named)

    def inner_roles(self) -> dict[str, str]:
        """Return the facts on an item that are inside objects, such as ``sample.id``."""
        found: dict[str, str] = {}
        known = {*self.roles.values()}
        row = self.sample[0].cells if self.sample else {}
        for column in self.columns:
            held = row.get(column)
            if place := _HOLDERS.match(column):
                about = roles_of([column[place.end() :]]).keys()
                for role in about & (_INNER | ({"reason"} if "meta" in place[0] else set())):
                    told = role == "output" and not _TASKS.isdisjoint(re.split("[.:/]", place[0]))
                    said = "reference" if told else role
                    if said not in self.roles and column not in known:
                        found.setdefault(said, column)
            single = isinstance(held, list) and len(held) == 1
            texts: Any = held[0] if isinstance(held, list) and single else held
            if single and isinstance(texts, str) and TEXTS["output"].search(column):
                found.setdefault("output", f"{column}.0")
            if isinstance(texts, dict) and column != "^":
                self.add_inner(found, column, f"{column}.0" if single else column, texts)
            if column.endswith(".completions") and at_path(row, f"{column}.0.text"):
                found.setdefault("output", f"{column}.0.text")
            if isinstance(texts, dict) and self.roles.get("item") == column:
                del self.roles["item"]
                others = roles_of(one for one in self.columns if one not in {column, *known})
                if "item" in others:
                    self.roles["item"] = others["item"]
        return found

    def add_inner(self, found: dict[str, str], column: str, start: str, texts: Cells) -> None:
        """Add the facts that the object of a column holds."""
        for role, key in roles_of(texts).items():
            # What comes with a question is its known answer, not the one that was judged.
            said = "reference" if role == "output" and column in _TASKS else role
            free = self.roles.get(said, column) == column and said not in found
            value = texts[key]
            spoken = isinstance(value, dict) and "content" in value
            if role in _INNER and free and (spoken or isinstance(value, str | int)):
                found[said] = f"{start}.{key}"
            elif role in _INNER and free and isinstance(value, dict) and len(value) == 1:
                found[said] = f"{start}.{key}.{next(iter(value))}"

    def stated(self) -> JsonObject:
        """Return the decision that stands beside the answers: in an object, or as a status."""
        row = self.sample[0].cells
        status = self.roles.get("status", "")
        if (named := self.roles.get("decision")) and not isinstance(row.get(named), dict):
            return {}
        if status and all(STATED.match(str(one)) for one in self.cells(status)):
            return {"decision": status}
        for column, held in row.items():
            inner = roles_of(held) if isinstance(held, dict) and OF_ITEM.search(column) else {}
            for role in ("pass", "decision", "label"):
                said = held[inner[role]] if role in inner else None
                if is_answer(said) or is_word(said):
                    return {"decision": f"{column}.{inner[role]}"}
        return {}

    def item_column(self) -> str:
        """Return the column of items: one that recurs for each judge, the first, or an id."""
        first = self.columns[0] if self.columns else ""
        taken = {column for role, column in self.roles.items() if role not in {"subject", "test"}}
        times = [one for one in self.columns if _WHEN.search(one) or _OF_FORM.match(one)]
        taken |= {*times, *self.said}
        free = [one for one in self.columns if one not in taken]
        if judge := self.roles.get("judge", ""):
            likely = (one for one in free if one == first or not self.answers(one))
            keys = [judge, *filter(None, [self.roles.get("dimension")])]
            if rated := next(filter(self.is_rated, likely), ""):
                return rated
            for one in free:
                items, judges = len(self.said_in([one])), len(self.said_in(keys))
                whole = items > 1 < judges and items * judges == len(self.sample)
                if len(keys) == 1 and whole and not self.recurs([one, judge]):
                    return one  # everyone rates every item
        cells = self.cells(first)
        named = all(isinstance(one, str) and len(one) <= SHORT for one in cells)
        whole = len(cells) == len({*map(str, cells)}) == len(self.sample) > 1
        names_rows = named and whole and not any(map(is_answer, cells))
        numbers = [likely_number(one) for one in cells]
        start = next(iter(numbers), None) or 0
        counted = numbers == [start + at for at in range(len(numbers))]
        counts_rows = counted and len(numbers) > 2 and first not in self.said
        if first in free and (names_rows or counts_rows):
            return first
        return max(self.ids(free), key=lambda one: len(self.said_in([one])), default="")

    def ids(self, columns: Sequence[str]) -> list[str]:
        return [one for one in columns if _ID.search(one) and not _OTHER_ID.search(one)]

    def is_rated(self, column: str) -> bool:
        """Return True if cells recur, but once for each judge and question."""
        keys = [self.roles[one] for one in ("judge", "dimension") if one in self.roles]
        return bool(self.cells(column)) and self.recurs([column]) > self.recurs([*keys, column])

    def words(self, columns: Sequence[Sequence[Any]]) -> dict[str, list[str]]:
        """Return the words of some columns' cells as pass and fail, if any is new."""
        known = self.known_words()
        cells = [cell for one in columns for cell in one if str(cell).casefold() not in known]
        cells = [one for one in cells if not (stated_error(one) or USUAL.failure(one))]
        cells = [one for one in cells if not NEITHER.search(str(one))]
        if not self.has_words(cells) or len(found := sorted({*cells})) == 1:
            return {}
        fails = [word for word in found if _FAILS.match(word)]
        if len(found) == 2:
            # In most languages a word that holds another one, as "incorrect" does, denies it.
            base, other = sorted(found, key=len)
            denied = base.casefold() in other.casefold() and not _FAILS.match(base)
            fails = [other] if denied else fails
        # "No violation" is the opposite of "violation".
        opposite = {word for word in fails if {_NEGATED.sub("", word)} & {*fails} - {word}}
        fails = [word for word in fails if word not in opposite] or found[1:]
        new = {"pass": [word for word in found if word not in fails], "fail": fails}
        return {key: [*self.made.get("words", {}).get(key, []), *new[key]] for key in new}


def _folded(cells: Sequence[Any]) -> list[str]:
    return [str(one).casefold() for one in cells]


_WHO_DECIDED = re.compile(r"(?i:decision|final|verdict).*\([A-Z][a-z]+\)\Z")
"""The name of a person behind what the person decided, such as ``Decision (Beatriz)``."""


def _is_person(column: str) -> bool:
    stem = stem_of(column)
    words = re.split(r"[\W\d_]+", stem.casefold())
    initials = len(stem) == 2 and stem.isalpha() and stem.isupper() and stem != "AI"
    who = _WHO_DECIDED.search(column)
    named = initials or who or words[0] in _FIRST_NAMES.split() or _ROLE_OF_PERSON.match(column)
    return bool(named) and not JUDGE.search(_ROLE_OF_PERSON.sub("", column))


def frame_of(named: Sequence[str]) -> tuple[str, str]:
    """Return the common prefix and suffix of all judges' columns, such as ``_score``."""
    before = _BEFORE.match(named[0])
    start = before[0] if before and all(one.startswith(before[0]) for one in named) else ""
    behind = _BEHIND.search(named[0])
    end = behind[0] if behind and all(one.endswith(behind[0]) for one in named) else ""
    if any(len(one) <= len(start) + len(end) for one in named):
        return "", ""
    return start, end


def stem_of(column: str) -> str:
    """Return the name of a column of scores without its frame."""
    start, end = frame_of([column])
    return column[len(start) : len(column) - len(end)]
