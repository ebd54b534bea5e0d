"""Read the columns and cells of a table: roles, numbers, names, and words that decide."""

import ast
import json
import math
import re
from collections.abc import Iterable, Mapping
from functools import lru_cache
from typing import Any, TypeAlias

from reviewdesk.domain.verdict import folded
from reviewdesk.reports.bytes.strict_json import ImportTally, decode_whole
from reviewdesk.reports.mapping import values
from reviewdesk.reports.mapping.foreign import LabelWords
from reviewdesk.reports.options import ReadOptions
from reviewdesk.reports.wording import FieldError, must_be

Cells: TypeAlias = Mapping[str, Any]
"""The cells of a row, or the members of an object in it."""

_REASONS = """
reason reasoning rationale explanation comment justification comments reasons feedback feedbacks
critique why notes note remark remarks thoughts analysis comentário 이유 observaciones observations
remarques rationales explanations justifications kommentar kommentare begründung bemerkung
anmerkung commentaire justificación explicación motivo comentario raison motivazione justificativa
toelichting 理由 原因 说明 备注 コメント причина комментарий motivación motivacion justificacion
explicacion uitleg motivering uzasadnienie opmerking opmerkingen
"""
REASONS = tuple(_REASONS.split())
"""The names of a column that holds the reason for a judge's answer."""

_RATERS = ["judge", "juror", "critic", "rater", "annotator", "evaluator", "grader", "scorer"]
_ROLES = """
judge: richter bewerter prüfer gutachter juez juge giudice juiz evaluador évaluateur judged_by
evaluated_by graded_by scored_by rated_by bewertet_von model_judge source_id j 评委 裁判 评审
審査員 судья valutatore avaliador beoordelaar rechter arbitre correcteur korrektor llm_judge
judge_llm sędzia
score: score rating value grade result outcome points mark score_value resultado risultato résultat
ergebnis bewertung punkte punktzahl puntuación puntaje valutazione punteggio 得分 分数 评分 点数
スコア оценка valoración valoracion calificación calificacion puntuacion pontuação avaliação punti
voto cijfer ocena betyg score_raw raw_score
item: item item_id example_id question_id case_id sample_id prompt_id custom_id doc_id qid query_id
trace_id task_id row_id record_id _id conversation_id case example sample id uid uuid row_idx
test_case test_case_name test_case_id context.span_id span_id nr no no. fall identifiant @key 编号
序号 番号 номер i idx #
model: judge_model juror_model model modell modèle modelo modello 模型 モデル
vendor: judge_vendor vendor
pass: pass passed passing verdict vote decision is_correct success criteria_met met urteil
veredicto verdikt pass/fail pass_fail 判定 结论 вердикт verdetto veredito jugement dictamen juicio
giudizio oordeel parecer
label: label winner preference preferred choice
decision: decision consensus final_decision final_verdict panel_decision panel_verdict majority
majority_vote final mehrheit overall_verdict overall_decision final_label majority_label
gesamturteil
reason: judge_reason judge_rationale judge_reasoning
repeat: repeat epoch trial replicate iteration attempt try
confidence: confidence
weight: weight
error: error error_message
status: status
at: at timestamp created_at
latency_ms: latency_ms
cost_usd: cost_usd
tokens_in: tokens_in
tokens_out: tokens_out
rubric: rubric
dimension: dimension criterion criteria metric metric_name aspect score_name 维度 标准 指标 観点
критерий assessment_name eval_name evaluation_name kriterium criterio critère
test: test test_name name
suite: suite dataset
subject: subject agent_version
tags: tags
threshold: threshold
input: input prompt question query instruction user_input request user_prompt frage pregunta
domanda pergunta vraag inputs problem user_message user_query asked customer_message input_text
attributes.input.value eingabe entrada 问题 提问 質問 질문 вопрос q consulta demande anfrage
richiesta utterance pytanie fråga
output: output response answer completion text model_output generation actual_output actual
model_response response_a answer_a output_a response_1 answer_1 output_1 response1 answer1 output1
antwort réponse respuesta risposta resposta antwoord outputs prediction predicted predicted_text
agent_answer said agent_response chosen reply bot_reply bot_response assistant_response
llm_response model_answer generated_answer pred_answer chatbot_response attributes.output.value
transcript ausgabe salida 回答 答案 답변 ответ a llm_output bot_answer candidate_answer odpowiedź
svar new_response predicted_answer predicted_answers text_chosen
conversation: messages conversation turns dialogue chat spans
alternative: alternative response_b answer_b output_b response_2 answer_2 output_2 response2
answer2 output2 rejected baseline_model_response text_rejected
reference: reference expected expected_output reference_answer ground_truth expected_response
expected_answer golden_answer target targets ideal true_answer example_answer référence referenz
referencia erwartet target_response
generator: generator generator_model output_model model_under_test model model_id model_a
generator_1 chosen_model candidate_model target_model candidate model_name system
rival: rival model_b generator_2 rejected_model
human: human mensch human_label truth gold gold_label human_verdict reviewer expert humano humain
umano mens
human_by: human_by labelled_by labeled_by
human_at: human_at labelled_at labeled_at
"""
SPELLINGS: dict[str, tuple[str, ...]] = {
    role: tuple(words.split())
    for role, words in re.findall(r"^(\w+): ([^:]*)$", _ROLES, re.MULTILINE)
}
"""The column names of each role, the clearest first. A column fills only one role."""
_NAMED = (f"{one}_{end}" for end in ("name", "id", "model", "model_name") for one in _RATERS)
SPELLINGS["judge"] = (*_RATERS, *_NAMED, *SPELLINGS["judge"])
SPELLINGS["reason"] = REASONS + SPELLINGS["reason"]

_SEPARATORS = re.compile(r"[\s\-]+|(?<=[a-z])(?=[A-Z])")
"""What separates the words of a column's name; the capitals of ``caseId`` do as well."""

BALLOT = frozenset({
    "model", "vendor", "pass", "label", "reason", "repeat", "confidence", "weight", "error",
    "status", "at", "latency_ms", "cost_usd", "tokens_in", "tokens_out",
})  # fmt: skip
"""The roles that describe one ballot."""

FACTS = (
    "test", "suite", "subject", "tags", "threshold", "decision", "input", "output", "conversation",
    "alternative", "reference", "generator", "rival",
)  # fmt: skip
"""The roles that describe an item."""


def roles_of(columns: Iterable[str]) -> dict[str, str]:
    """Return the roles that the table's columns fill, each with its column."""
    named: dict[str, str] = {}
    for column in columns:
        named.setdefault(_plain(column), column)
    roles: dict[str, str] = {}
    for role, spellings in SPELLINGS.items():
        if spelling := next((spelling for spelling in spellings if spelling in named), None):
            roles[role] = named.pop(spelling)
    if _plain(roles.get("output", "")) == "a" and _plain(roles.get("input", "")) != "q":
        del roles["output"]  # one of several letters
    others = [one for one in SPELLINGS["output"][6:] if one in named and one != "chosen"]
    if _plain(roles.get("output", "")) == "answer" and others and "reference" not in roles:
        roles |= {"reference": roles["output"], "output": named.pop(others[0])}
    if (
        "source" in named
        and "output" not in roles
        and _plain(roles.get("reference", "")) == "target"
    ):
        # A translation stands beside its source.
        roles |= {"input": named.pop("source"), "output": roles.pop("reference")}
    if "item" not in roles and "test" in roles:
        roles["item"] = roles.pop("test")
    return roles


_CRITERION = re.compile(
    r"(?:(?:answer|response|factual|semantic|context|entity|language|writing|overall)_)*"
    r"(?:(?!mehrheit|wahrheit)[^\W\d_]+(?:ness|heit|keit|heid|tät|idade?|ezza|eza|ità|ité|ość)|accuracy|factuality|relevanc[ey]|similarity|precision|recall"
    r"|hallucination|coherence|consistency|fluency|clarity|safety|toxicity|bias|tone|style|tonfall"
    r"|humou?r|empathy|format|grammar|readability|instruction_following|noise_sensitivity"
    r"|complexity|verbosity|honesty|engagement|specificity|overall|quality|depth|creativity"
    r"|helpful|harmless|polite|concise|truthful|coherent|fluent|grounded|faithful|friendly"
    r"|(?:on|follows|answers|uses|mentions|cites|stays|avoids)_[a-z]\w*|\w+_(?:adherence|compliance)|moderation|brevity"
    r")(?:_metric|_free|\d*)|\w+_metric"
)
"""Names of questions about a response, which are never names of judges."""


_COMPUTED = re.compile(
    r"(?:exact_match|em|f1|bleu|rouge|levenshtein|meteor|chrf|ter|bert_?score|edit_distance"
    r"|perplexity|ppl|jaccard|cosine(?:_similarity)?|embedding_similarity|json_valid|regex_match"
    r"|string_match)(?:_score|[_-]?[\dl]\w*|,.*)?(?:_f1|_f)?"
)
"""Names of numbers that programs compute, which are no judges."""


def is_computed(column: str) -> bool:
    return bool(_COMPUTED.fullmatch(_plain(column)))


def is_criterion(column: str) -> bool:
    """Return True if a name is the name of a question, such as tone, and not of a judge."""
    return bool(_CRITERION.fullmatch(_plain(column))) or is_computed(column)


def _plain(column: str) -> str:
    return _SEPARATORS.sub("_", _IN_BRACKETS.sub("", column.strip())).casefold()


TOTALS = (
    r"average|averages|avg\.?|mean|median|totals?|grand total|sum|overall|pass rate|pass %|% pass"
    r"|accuracy|consensus|majority|aggregate|sd|std|stdev|std dev|min|max|count|summe|gesamt"
    r"|mittelwert|mittel|durchschnitt|moyenne|total général|promedio|media|média"
    r"|gemiddeld\w*|totaal|średnia|suma|razem|ortalama|toplam|gennemsnit|genomsnitt|平均|合計|合计|总计|평균|합계"
)
"""The names of rows and columns that sum up others."""
_IN_BRACKETS = re.compile(r"(?:\s*\([^()]*\)|/v\d+)\Z")
"""A remark behind the name of a column, such as ``(1-5)`` or ``/v1``."""


_NUMBER = re.compile(r"[-+]?(?:\d+\.?\d*|\.\d+)(?:e[-+]?\d+)?\Z", re.ASCII | re.IGNORECASE)
_NUMBERS = frozenset({int, float})
_DIGITS = re.compile(r"[-+]?\d{1,15}\Z", re.ASCII)
_NO_VALUE = frozenset({
    "nan", "-nan", "n/a", "n.a.", "not applicable", "skipped", "pending",
    "#n/a", "na", "#na", "<na>", "null", "(null)", "none", "-", "--", "–", "—",
    "#nv", "#div/0!", "#value!", "#ref!", "#name?", "#num!", "#null!", "#wert!", "#valeur!",
})  # fmt: skip
"""Texts for a missing number, in lower case, as pandas and spreadsheets write them."""
NOT_FINITE = frozenset({
    "inf", "+inf", "-inf", "infinity", "+infinity", "-infinity",
})  # fmt: skip

_PASSES = """
passed accepted chosen 1 1.0 y t p ✓ ✔ ✅ ☑ 👍 ja bestanden richtig oui sí sì はい 合格 是 да wahr
vrai verdadero vero correcto aprobado réussi conforme gut good ok okay right met satisfied success
approved approve acceptable valid win up thumbs_up checked si 🟢 🙂 😀 😊 通过 正确 对 正解 正しい
○ ◎ 예 통과 합격 정답 맞음 верно правильно зачёт зачет sim aprovado correto certo corretto giusto
promosso juste goed juist geslaagd tak rätt evet doğru correcta aprobada korrekt akzeptiert
accepté acceptée validé aceptado aceptada accettato approvato aceito goedgekeurd bien bon
zaliczone godkänd factual faithful grounded relevant
"""
_FAILS = """
failed rejected 0 0.0 n f ✗ ✘ ❌ ✕ ☒ 👎 nein nicht_bestanden falsch non いいえ 不合格 否 нет faux
falso incorrecto rechazado échoué schlecht bad not_ok nok not_okay wrong not_met unmet
not_satisfied failure disapprove disapproved unacceptable invalid loss lose down thumbs_down
unchecked 🔴 🙁 😞 ko nee nej nei not_correct not_accepted 不通过 未通过 不正确 错误 错 不正解 ×
아니오 불합격 실패 오답 틀림 неверно неправильно незачёт незачет não nao reprovado suspenso
incorreto errado errato sbagliato scorretto bocciato fout onjuist gezakt nie fel hayır yanlış
no_aprobado non_conforme incorrecta rechazada suspendido inkorrekt abgelehnt refusé refusée rejeté
rejetée rifiutato respinto recusado rejeitado afgekeurd afgewezen mal mauvais slecht ruim
niezaliczone underkänd hallucinated unfaithful ungrounded irrelevant unrelated
"""
_VOTES = dict.fromkeys(_PASSES.split(), True) | dict.fromkeys(_FAILS.split(), False)
"""Words and marks for a vote in tables, in addition to those of every report."""
_DENIED = re.compile(r"(?:not|non|nicht|niet|inte|ikke|nie|pas)_(\w{3,})\Z")
"""A word for the opposite of another one, such as ``not acceptable``."""

_PLAIN = frozenset({
    "pass", "passed", "yes", "true", "1", "1.0", "fail", "failed", "no", "false", "0", "0.0",
})  # fmt: skip
_UNSURE = frozenset({"unsure", "unknown", "unclear"})
_LONGEST_WORD = 60
_LONGEST = 300
_AROUND = " \n*_[](){}<>\"'`.!"
"""The signs around a word that decides, such as ``**PASS**``."""
_BEHIND_LETTER = re.compile(r"\s*(?:[01]|[^\W\d]\w?)\s?[-:).]\s*([^\W\d][^:;]*)\Z")
"""A word behind a letter, a 0 or a 1, such as ``A: pass``."""
_SIGN = re.compile(r"([^\w\s])\s*[^\W\d]+\Z")
"""A sign before its word, such as ``✅ Good``."""
NEITHER = re.compile(
    r"neutral|neither|borderline|not enough|insuffic|unverif|undeter|mixed|partial|maybe|medium"
    r"|moderate|fair$|same|equal|draw$|both|gleich|🟡|average|unsure|unclear|tie$|teilweise|partiel"
    r"|parcial|vielleicht|abst[aei]|enthalt|一部|普通|平局|平手|引き分け|무승부|empate|égalité|pareggio|unentschieden"
    r"|gelijkspel|remis$|a=b$",
    re.IGNORECASE,
)
"""Words for an answer between a pass and a fail."""
_FAILURES = frozenset({"error", "parse_fail"})
_STATED_ERROR = re.compile(
    r"(?:(?:\w+ )?\w*(?:error|exception|timeout)\b|timed out|rate.?limit|failed to |429 |could not "
    r"|unparse?able|invalid (?:json|output|response|format)|no (?:response|output)\b|not run\b)",
    re.IGNORECASE,
)
_PART = re.compile(
    r"([-+]?[\d.]+)\s*(?:(?:/|(?:out )?of|von|de|sur|su|van|av|af|z)\s*([\d.]+)"
    r"(?: (?:points?|pts|[Pp]unkt\w*|puntos|punten|stars?))?|%)\Z",
    re.ASCII,
)
_STARS = re.compile(r"([★⭐🌟]*)\ufe0f?(☆*)\Z|([\d.]+)[- ]?(?:stars?|★|⭐)\Z", re.IGNORECASE)
_MOST_STARS = 5
_NAMES = r"(?:score|rating|grade|verdict|decision)\s*(?:[:=]|is)|(?:result|answer)\s*[:=]"
_LEAD = rf"(?:<\w+>\s*)?(?:[a-z ]{{0,60}}(?:{_NAMES})\s*)?"
_GRADED = re.compile(
    rf"{_LEAD}[\[*(]*(?P<answer>[-+]?\d+(?:[.,]\d+)?(?:\s*(?:/|(?:out )?of)\s*\d+|\s*%)?)"
    r"[\])*]*(?:\s*</\w+>)?(?:\s*(?:points?|pts)\b)?\.?(?:\s*[-–—:=(,;\n]\s*[^\d\s].*)?\Z",
    re.IGNORECASE | re.DOTALL,
)
"""A number with what it means, such as ``4 - good``, ``Score: 4`` or ``[[4]]``."""
_END = re.compile(
    r"\[RESULT\]\s*([^\s\[\]]{1,10})\s*\Z|"
    r"\b(?:verdict|rating|score|grade|decision|judge?ment|assessment|conclusion)"
    r"\W{0,4}?(?:\s+is\s+|[:=>])[\s*_\"'`\[({]*((?:[^\n.;<\[\]]|\.\d){1,30}?)[\s*_\"'`\])}.]*"
    r"(?:</\w+>\s*)*\Z|\[\[([^\[\]]{1,10})\]\](?!.*\[\[)",
    re.IGNORECASE,
)
"""The answer at the end of a judge's text, such as ``Verdict: PASS`` or ``Rating: [[4]]``."""
FRONT = re.compile(r"\[?(PASS|FAIL|ERROR)\](?:\s|\Z)")
"""The result in front of a text, such as ``[PASS] Paris``."""
_LAST = 160
"""The number of characters at the end of a text in which its answer is found."""
_REMARK = re.compile(rf"{_LEAD}(.{{1,60}}?)\s*(?:\s[-–—]\s|[:;(\n]|\.\s|\Z)", re.IGNORECASE)
_SKIN = dict.fromkeys((0xFE0F, *range(0x1F3FB, 0x1F400)))
"""The signs that only change how an emoji looks."""
_DECIMAL_COMMA = re.compile(
    r"\s*[-+]?(?:\d{1,3}(?:\.\d{3})+|\d*),\d+\s*(?:%|/\s*\d+)?\s*\Z", re.ASCII
)


class CellError(ValueError):
    """A cell cannot be read, so its verdict is bad; ``column`` names the cell's column."""

    def __init__(self, column: str, problem: str) -> None:
        super().__init__(problem)
        self.column = column
        self.problem = problem


def number(value: Any, column: str) -> float | int | None:
    """Return a finite number, or None for a cell without one. Raise CellError on anything else.

    NaN, N/A and the like mean a missing number, as an empty cell does.
    """
    found = likely_number(value)
    if found is not None or is_missing(value):
        return found
    text = value.strip() if isinstance(value, str) else ""
    infinite = text.lower() in NOT_FINITE or _NUMBER.match(text)
    kind = "a finite number" if infinite else "a number"
    raise CellError(column, must_be(f"{kind} or empty", text if infinite else value))


def part_of_whole(value: Any) -> tuple[float, float] | None:
    """Return 85 and 100 for ``85%``, 4 and 5 for ``4/5``, ``★★★★☆`` and ``★★★★``; else None."""
    text = value.strip() if isinstance(value, str) else ""
    if text and (stars := _STARS.match(text)):
        full, empty, said = stars.groups()
        count = likely_number(said) if said else len(full)
        most = len(full) + len(empty) if empty else _MOST_STARS
        return (count, most) if count is not None and count <= most else None
    if (match := _PART.match(text)) is None:
        return None
    part = likely_number(match[1])
    whole = likely_number(match[2] or "100")
    return (part, whole) if part is not None and whole else None


def without_remark(value: Any) -> Any:
    """Return the answer in a text such as ``4 - good`` or ``Verdict: PASS``; else the value."""
    text = value.strip() if type(value) is str else ""
    match = _GRADED.match(text) if text and not text.isdecimal() else None
    if match:
        return match["answer"] if match["answer"] != text else value
    end = FRONT.match(text) or (_END.search(text[-_LAST:]) if len(text) > _MOST_STARS else None)
    if not end:
        return value
    said = next(filter(None, end.groups())).strip()
    known = likely_number(said) is not None or part_of_whole(said) or USUAL.vote(said) is not None
    return said if known else value


def with_decimal_point(value: Any) -> Any:
    """Return a text such as ``0,5`` with a point for its comma; other values are unchanged."""
    if isinstance(value, str) and _DECIMAL_COMMA.match(value):
        return value.replace(".", "").replace(",", ".")
    return value


def stated_error(value: Any) -> str:
    """Return the text of a cell with the reason for a judge's failure; empty for other cells."""
    text = value.strip() if isinstance(value, str) else ""
    return text if _STATED_ERROR.match(text) and text.lower() not in _FAILURES else ""


def is_missing(value: Any) -> bool:
    """Return True if a cell is empty, or holds a text that tools write for a missing number."""
    if isinstance(value, str):
        text = value.strip()
        return text in _BLANK or text.lower() in _NO_VALUE
    return value is None


def likely_number(value: Any) -> float | int | None:
    """Return the number in a cell, also with a decimal comma, or None; a bool is no number."""
    if type(value) in _NUMBERS:
        return value  # type: ignore[no-any-return]
    text = value.strip() if isinstance(value, str) else ""
    if not _NUMBER.match(text) and not _NUMBER.match(text := with_decimal_point(text)):
        return None
    found = int(text) if _DIGITS.match(text) else float(text)
    return found if math.isfinite(found) else None


def likely_amount(value: Any, factor: float = 1) -> float | int | None:
    """Return the number of a cell times a factor, if it is a number of at least 0."""
    return values.amount(likely_number(value), factor)


def likely_whole(value: Any) -> float | None:
    """Return the number of a cell, if it is a whole number of at least 0."""
    amount = likely_amount(value)
    return amount if amount is not None and amount == int(amount) else None


def name(value: Any) -> str:
    """Return the name of an item or a judge: a text, a number or a list; else an empty text."""
    if type(value) is str:
        return value.strip()
    if isinstance(value, float) and value.is_integer():
        return str(int(value))
    if isinstance(value, list):
        return ", ".join(filter(None, map(name, value)))
    return str(value).strip() if isinstance(value, str | int | float) else ""


def flat_names(cells: Cells) -> tuple[str, ...]:
    """Return the names of cells; for an object in a cell also ``CELL.KEY`` for its keys."""
    names = []
    for name, value in cells.items():
        if name == "^":
            continue
        names.append(name)
        if isinstance(value, dict):
            names += [f"{name}.{inner}" for inner in value]
    return tuple(names)


def parsed(value: Any) -> Any:
    """Return the object or list that a text holds as JSON or Python, else the value unchanged."""
    if not isinstance(value, str):
        return value
    start = value.lstrip()[:1]
    inside = value.endswith(("}", "```", "}\n")) and len(value) <= _LONGEST_LITERAL
    if inside or (start and start in "{[`"):
        return _decoded(value)
    return _listed(value) or value if len(value) <= _LONGEST else value


@lru_cache(maxsize=32)
def _decoded(value: str) -> Any:
    value = match[1] or match[2] if (match := _FENCED.match(value)) else value
    try:
        return decode_whole(value, ImportTally(lenient=True))
    except (json.JSONDecodeError, FieldError):
        pass
    if len(value) > _LONGEST_LITERAL:  # this limits the parser's depth and time
        return value
    plain = f"[{', '.join(_OF_ARRAY.findall(value))}]" if _ARRAY.match(value) else value
    try:
        # Data frames write objects to CSV like this.
        return ast.literal_eval(_MISSING.sub("None", _WRAPPED.sub(r"\1", plain)))
    except (ValueError, SyntaxError, TypeError, MemoryError, RecursionError):
        return value


def _listed(text: str) -> Any:
    """Return the list in ``pass; fail``, the object in ``ann: pass, ben: 4``, else None."""
    parts = _BETWEEN_VOTES.split(text.strip())
    if len(parts) < 2:
        return None
    if all(USUAL.vote(one) is not None for one in parts) and not any(map(str.isdecimal, parts)):
        return parts
    pairs = [_NAMED_VOTE.match(one) for one in parts]
    if all(pairs) and all(is_answer(one[2]) for one in pairs if one):
        return {one[1]: one[2] for one in pairs if one}
    return None


_BETWEEN_VOTES = re.compile(r"\s*[;|,]\s*")
_NAMED_VOTE = re.compile(r"([^:=]{1,40}?)\s*[:=]\s*([^:=]{1,20})\Z")
_LONGEST_LITERAL = 20_000
_OF_ARRAY = re.compile(r"'[^']*'|[-+.\w]+")
_ARRAY = re.compile(rf"\s*\[\s*(?:{_OF_ARRAY.pattern})(?:\s+(?:{_OF_ARRAY.pattern}))+\s*\]\s*\Z")
"""A list that numpy wrote, without commas."""
_WRAPPED = re.compile(
    r"\b(?:np\.|numpy\.)?(?:u?int|float|str|bool|array)\d*_?\(([^()]*?)(?:, dtype=\w+)?\)"
)
"""A value that numpy wrote with its type."""
_MISSING = re.compile(r"(?<=[\s\[,:])nan(?=\s*[\],}])")
_FENCED = re.compile(
    r"\s*```(?:json)?\s*([{\[].*[}\]])\s*```\s*\Z"
    r"|[^{\[].*?(\{\s*\"[^{}]*(?:\{[^{}]*\}[^{}]*)*\})\s*(?:```)?\s*\Z",
    re.DOTALL,
)
"""JSON in a fence, or an object at the end of a text."""


def names(value: Any) -> list[str]:
    """Return the tags in a list, in JSON text, or in a text with commas or semicolons."""
    listed = parsed(value)
    if isinstance(listed, str):
        listed = re.split("[,;]", listed)
    if not isinstance(listed, list):
        return []
    return [tag.strip() for tag in listed if isinstance(tag, str) and tag.strip()]


class DecidingWords(LabelWords):
    """The words that mean pass or fail in a table; tables have more of them than other files."""

    def vote(self, value: Any) -> bool | None:
        """Return True for a pass, False for a fail, None for any other value."""
        if isinstance(value, bool):
            return self._given.get(str(value).casefold(), value)
        if not isinstance(value, str | int | float):
            return None
        vote = self._word(text := str(value))
        short = vote is None and type(value) is str and len(text) <= _LONGEST
        parts = _BETWEEN_VOTES.split(text) if short else []
        several = len(parts) > 1 and all(self._word(one) is not None for one in parts)
        if short and not several:
            text = text.translate(_SKIN).strip(_AROUND)
            vote = self._word(text)
            # In "A: pass" or "Yes - because ..." one part decides.
            behind = _BEHIND_LETTER.match(text), _SIGN.match(text)
            for part in (_REMARK.match(text), *behind, FRONT.match(text)):
                if vote is None and part and not part[1].isdecimal():
                    vote = self._word(part[1])
        return vote

    def _word(self, text: str) -> bool | None:
        vote = super().vote(text)
        word = folded(text).replace(" ", "_")
        if vote is None and word not in _VOTES and (denied := _DENIED.match(word)):
            vote = self._word(denied[1])
            return None if vote is None else not vote
        return _VOTES.get(word) if vote is None else vote

    def human(self, value: Any) -> str | None:
        """Return a person's label (``pass``, ``fail`` or ``unsure``), or None."""
        vote = self.vote(value)
        if vote is not None:
            return "pass" if vote else "fail"
        return "unsure" if isinstance(value, str) and folded(value) in _UNSURE else None

    def failure(self, value: Any) -> str | None:
        """Return the status for a word that means that a juror failed to answer, else None."""
        known = isinstance(value, str) and self.vote(value) is None
        return word if known and (word := folded(value)) in _FAILURES else None


def is_plain(word: str) -> bool:
    """Return True if a word only means pass or fail, so that it need not be kept as a label."""
    return folded(word) in _PLAIN


def is_word(value: Any) -> bool:
    """Return True if a text looks like a label rather than a malformed number."""
    text = value.strip() if isinstance(value, str) else ""
    known = NOT_FINITE | _NO_VALUE
    return text[:1].isalpha() and len(text) <= _LONGEST_WORD and text.lower() not in known


def blank(value: Any) -> bool:
    return value.strip() in _BLANK if type(value) is str else value is None


_BLANK = frozenset({"", "\\N"})
"""An empty text, or what databases write for one."""


def is_answer(cell: Any) -> bool:
    """Return True if a cell holds a number, a vote or a mark, as judges' answers do."""
    return is_amount(cell := without_remark(cell)) or USUAL.vote(cell) is not None


def is_amount(cell: object) -> bool:
    """Return True if a cell holds a number, also with a decimal comma, or as 4/5 and 85%."""
    return likely_number(cell) is not None or part_of_whole(with_decimal_point(cell)) is not None


USUAL = DecidingWords(ReadOptions())


_SCALES = ((0, 1), (1, 5), (0, 5), (1, 10), (0, 10), (0, 100))


def usual_scale(cells: Iterable[object]) -> tuple[int, int] | None:
    """Return the narrowest usual scale of some scores, or None if they are not all numbers."""
    scores = [likely_number(cell) for cell in cells if not is_missing(cell)]
    numbers = [score for score in scores if score is not None]
    if not numbers or len(numbers) < len(scores):
        return None
    fits = (one for one in _SCALES if one[0] <= min(numbers) and max(numbers) <= one[1])
    found = next(fits, None)
    return (1, 7) if found == (1, 10) and max(numbers) == 7 and len(numbers) > 12 else found
