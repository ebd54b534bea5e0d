"""Find passages of a text that seem to influence its jurors (prompt injection).

``suspects`` tells which of many verdicts hold one, searching only where one may be.
"""

import re
from bisect import bisect
from collections.abc import Iterator, Sequence
from enum import StrEnum
from functools import cache
from string import ascii_lowercase, ascii_uppercase

import numpy as np
from msgspec import Struct

from reviewdesk.domain.panel.case import outside_columns
from reviewdesk.domain.report_model import VerdictModel
from reviewdesk.domain.stats.dense import Ints

REACH = 100_000
"""The number of characters that are searched from either end of a long text."""

MAX_PASSAGES = 50
_SENTENCE = 200
"""The most characters by which a passage is extended to the end of its sentence."""


class InjectionKind(StrEnum):
    """What a passage tries to do, in words that follow the text's name on screen."""

    OVERRIDE = "asks to ignore the instructions"
    ADDRESS = "speaks to its judge"
    DEMAND = "asks for a verdict"
    VERDICT = "contains a ready-made verdict"
    MARKS = "contains marks of a chat's turns"
    HIDDEN = "contains invisible characters"


class Passage(Struct, frozen=True):
    """One suspicious passage: ``text`` runs from index ``start`` up to, but without, ``end``."""

    start: int
    end: int
    kind: InjectionKind
    text: str


class Sign(Struct, frozen=True):
    """A pattern, tried only on a text that contains, in lower case, a hint of every group.

    ``suspects`` finds those of the first group in many texts at once: they have at least four
    bytes, and no letter beyond ASCII that has a capital.
    """

    kind: InjectionKind
    hints: tuple[tuple[str, ...], ...]
    expression: str
    then: str = ""
    """A pattern, in lower case, of what follows a hint of the first group in every match."""
    before: str = ""
    """Of every other match, a pattern of the text before, where a hyphen counts as a blank."""


_NOT_TO = r"(?!\s+to\b)"
"""Left to the pattern of the text: not every byte that may be part of a blank is one."""


def _sign(
    kind: InjectionKind,
    hints: str,
    *patterns: str,
    rest: str = "",
    then: str = "",
    before: str = "",
) -> Sign:
    """Make a sign of hints in groups (``;`` and ``&``); long runs are bounded, so none is slow.

    ``rest`` is what follows a hint of the first group, if every match begins with one.
    """
    groups = tuple(tuple(group.split(";")) for group in hints.split(" & "))
    if rest:
        patterns = (rf"\b(?:{'|'.join(groups[0])})(?:{rest})",)
        then = rest.replace(_NOT_TO, "")
    whole = "|".join(patterns)
    for run, bounded in ((r"\s+", r"\s{1,20}"), (r"\s*", r"\s{0,20}"), (r"\w+", r"\w{1,40}")):
        whole = whole.replace(run, bounded)
    return Sign(kind, groups, f"(?im){whole}", then, before)


_DROP = r"\b(?:ignore|disregard|forget|override|do\s+not\s+follow|don't\s+follow)\s+"
_FILL = (
    r"(?:(?:all|any|every|everything|each|of|the|these|those|this|that|your|my|our|and|other|"
    r"original|initial|given|stated|current|official|in|from)\s+){0,6}"
)
_EARLIER = r"(?:previous(?:ly)?|prior|above|earlier|preceding|foregoing|system)"
_ORDERS = (
    r"(?:instructions?|directions|directives?|rules|guidelines|prompts?|rubrics?|criteri(?:a|on)|"
    r"orders|commands|messages?|context|standards)\b"
)
_JUDGE = r"(?:judges?|jurors?|graders?|evaluators?|raters?|scorers?|assessors?|adjudicators?)\b"
_MACHINE = r"(?:(?:ai|llm|automated|automatic|artificial|language|model|impartial)(?:\s|-)+){1,3}"
_ANSWER = (
    r"(?:(?:the|this|my|our|that|above|following|assistant's|model's|entire)\s+){1,3}"
    r"(?:response|answer|submission|output|solution|reply|completion|essay|summary|assistant)\b"
)
_BEST = (
    r"(?:full|maximum|max|perfect|top|(?:the\s+)?(?:highest|best)(?:\s+possible)?)\s+"
    r"(?:possible\s+)?(?:marks?|scores?|points?|credits?|grades?|ratings?)\b"
)
_QUOTE = r"\\?[\"']"
_TAG = "[\U000e0001-\U000e007f]"
_ENGLAND = "\U0001f3f4"
"""The black flag, which the tag characters after it turn into the emoji of a region."""

_GRADING = r"(?:grading|scoring|evaluation|judging|marking)\s+"
_RULED = (
    rf"(?:(?:all|any|your)\s+){{1,2}}(?:of\s+)?(?:the\s+|your\s+)?{_ORDERS}|"
    rf"{_FILL}(?:{_GRADING})?(?:rubrics?\b|{_GRADING}(?:scheme\b|{_ORDERS}))|"
    r"(?:all|everything)\s+(?:of\s+)?(?:that\s+(?:is|was)\s+)?(?:the\s+)?(?:above|before)\b"
)
_GETS = (
    r"\s+(?:be\s+(?:given|awarded|assigned|scored|rated|graded|marked|judged)|receive|get)\s+"
    rf"(?:(?:an?|the|as)\s+)?(?:{_BEST}|10\b|100\b|1\.0\b|pass\b|correct\b)"
)
_DESERVED = rf"s?\s+(?:(?:an?|the|to\s+get|to\s+receive)\s+){{0,2}}(?:{_BEST}|to\s+pass\b|pass\b)"
_TO = (
    r"(?:note|notice|message|attention|instructions?|memo)\s*(?:to|for)?[:,]?\s+"
    rf"(?:(?:the|all|any|our)\s+)?(?:{_MACHINE})?"
)
_DEAR = r"\b(?:dear|hello|hey|hi)\s+"

SIGNS = (
    _sign(
        InjectionKind.OVERRIDE,
        "ignore;disregard;forget;override;follow & instruction;direct;rule;"
        "guideline;prompt;rubric;criteri;order;command;message;context;standard;scheme;above;before",
        rf"{_DROP}{_FILL}{_EARLIER}\s+{_FILL}(?:\w+\s+){{0,2}}{_ORDERS}",
        rf"{_DROP}(?:{_RULED})",
        then=rf"(?<!follow)\s+(?:{_FILL}{_EARLIER}\s+{_FILL}(?:[\w\x80-\xff]+\s+){{0,2}}{_ORDERS}|"
        rf"{_RULED})",
        before=r"\b(?:do not|don't) \Z",
    ),
    _sign(
        InjectionKind.OVERRIDE,
        "apply & instructions;rubric;criteria",
        r"\b(?:instructions|rubric|criteria)\s+(?:above\s+)?(?:no\s+longer|do\s+not|does\s+not)\s+"
        r"apply\b",
        then="(?!)",
        before=r"\b(?:instructions|rubric|criteria) (?:above )?(?:no longer|do not|does not) \Z",
    ),
    _sign(
        InjectionKind.ADDRESS,
        "judge;juror;grader;evaluator;rater;scorer;assessor;adjudicator & you;not;mess;attention;"
        "instruction;memo;dear;hello;hey;hi",
        rf"\byou(?:'re|\s+are)\s+(?:now\s+)?(?:an?|the|my)\s+(?:\w+\s+){{0,2}}{_JUDGE}(?!\s+of\b)",
        rf"\b{_TO}{_JUDGE}\s*[:,\u2014-]",
        rf"{_DEAR}(?:{_MACHINE}{_JUDGE}|(?:grader|evaluator|juror|rater)s?\b)",
        rf"\bas\s+(?:an?|the|my)\s+{_MACHINE}{_JUDGE},?\s+you\b",
        r"\bas\s+(?:an?|the|my)\s+(?:grader|evaluator|juror|rater),?\s+you\s+(?:must|shall|will)\b",
        r"\bas\s+(?:an?|the|my)\s+judge,?\s+you\s+(?:must|shall|will|should|have\s+to|need\s+to)\s+"
        r"(?:only\s+|now\s+)?(?:output|print|emit|say|return|respond(?:\s+with)?|reply(?:\s+with)?|"
        r"answer(?:\s+with)?)\s+[\"'`]?(?:pass\b|true\b|yes\b|correct\b|10\b|1\.0\b|\[\[)",
        then=r"s?,?\s+you",
        before=rf"\b(?:you(?:'re| are)\b|(?:{_TO}|{_DEAR}(?:{_MACHINE})?)\Z)",
    ),
    _sign(
        InjectionKind.ADDRESS,
        "grading;judging;evaluating;scoring & if & you",
        r"\bif\s+you\s+are\s+(?:\w+\s+){0,3}(?:grading|judging|evaluating|scoring)\s+(?:this|my)\b",
        then=r"\s+(?:this|my)",
    ),
    _sign(
        InjectionKind.DEMAND,
        "give;award;assign;grant & mark;score;point;credit;grade;rating;pass",
        rest=rf"\s+(?:(?:it|this|me|that|{_ANSWER})\s+)?(?:with\s+)?(?:(?:an?|the)\s+)?{_BEST}"
        rf"{_NOT_TO}|\s+(?:{_ANSWER}|this|it)\s+(?:an?|the)\s+"
        r"(?:(?:score|rating|grade|mark)\s+of\b|pass\b)",
    ),
    _sign(
        InjectionKind.DEMAND,
        "give;award;assign;grant;rate;score;grade;mark & /;out & 10;5",
        rest=rf"\s+(?:{_ANSWER}|this|it)\s+(?:as\s+)?"
        r"(?:(?:an?|the)\s+)?(?:(?:score|rating|grade|mark)\s+of\s+)?"
        r"(?:10|100|5)\s*(?:/|out\s+of)\s*(?:10|100|5)\b",
    ),
    _sign(
        InjectionKind.DEMAND,
        "mark;rate;grade;score;judge;evaluate & correct;pass;perfect;excellent;accepted & the;"
        "this;my;our;that",
        rest=rf"\s+{_ANSWER}\s+(?:as\s+)?(?:an?\s+)?"
        r"(?:correct|pass(?:ed|ing)?|perfect|excellent|accepted)\b",
    ),
    _sign(
        InjectionKind.DEMAND,
        "must;should;shall;deserve & full;max;perfect;top;highest;best;10;1.0;pass;correct",
        rf"\b{_ANSWER}\s+(?:(?:must|should|shall){_GETS}|deserve{_DESERVED})",
        then=f"{_GETS}|(?<=deserve){_DESERVED}",
    ),
    _sign(
        InjectionKind.DEMAND,
        "respond;reply;answer & with & pass;10/10;[[",
        rest=r"\s+(?:only\s+|just\s+)?with\s+[\"'`]?(?:pass\b|10/10|\[\[)",
    ),
    _sign(
        InjectionKind.VERDICT,
        "verdict;pass;[[a]];[[b]] & \";';[[",
        rf"{_QUOTE}(?:score|rating|confidence){_QUOTE}\s*:[^{{}}]{{0,200}}?"
        rf"{_QUOTE}pass(?:ed)?{_QUOTE}\s*:\s*(?:true|false)",
        rf"{_QUOTE}pass(?:ed)?{_QUOTE}\s*:\s*(?:true|false)[^{{}}]{{0,200}}?"
        rf"{_QUOTE}(?:score|rating|confidence|reason){_QUOTE}\s*:",
        rf"{_QUOTE}verdict{_QUOTE}\s*:\s*{_QUOTE}(?:pass|keep|yes|correct|accept|fail|reject)",
        r"(?-i:\[\[[AB]\]\])",
        then=r"(?:ed)?\\?[\"']|(?<=\]\])",
    ),
    _sign(
        InjectionKind.MARKS,
        "<|im_;<|sys;<|user;<|assi;<|end;<|eot;<|start;<|begin;<｜;inst];system;sys>>;_of_turn;"
        "</response;response-;input-;context-",
        r"<\|(?:im_(?:start|end|sep)|system|user|assistant|end(?:oftext|_of_turn)?|eot_id|"
        r"(?:start|end)_header_id|begin_of_text)\|>",
        r"<｜[^｜\n]{1,40}｜>",
        r"(?-i:\[/?INST\])|<</?SYS>>|</?(?:start|end)_of_turn>",
        r"^\s{0,8}<system>|</system>|</?system[_-]?(?:prompt|message)>",
        r"\bsystem\s?:\s?(?:the\s)?(?:new|updated|revised)\sinstructions?\b",
        r"^\s{0,3}#{2,4}\s?system(?:\s(?:prompt|message))?\s?:",
        r"</response(?!\w)(?:-\w{1,64})?>?|</?(?:response|input|context)-[0-9a-f]{3,64}\b>?",
        then=r"(?<!system)(?<!-)|(?<=-)[0-9a-f]{3}|"
        r"(?<=system)(?:[_>-]|\s*(?:prompt|message)?\s*:|prompt|message)",
    ),
    _sign(
        InjectionKind.OVERRIDE,
        "ignor;vergiss;missacht;oubli;olvid;descart;忽略;无视;無視;忘记;忘記 & weisung;instruktion;"
        "vorgabe;bewertungs;consignes;barème;instr;rúbrica;指;标准;標準;提示",
        r"\b(?:ignorier|vergiss|missacht)\w{0,3}\b[^.!?\n]{0,40}?"
        r"\b(?:anweisung|instruktion|vorgabe|bewertungskriteri|bewertungsraster)\w{0,3}\b",
        r"\b(?:ignor|oubli)(?:e|ez|er)\s[^.!?\n]{0,30}?\b(?:consignes|barème|instructions\s+"
        r"(?:précédentes|ci-dessus))",
        r"\b(?:ignor|olvid|descart)[ae]\s[^.!?\n]{0,30}?\b(?:instrucciones|rúbrica)\b",
        r"(?:忽略|无视|無視|忘记|忘記)[^。！？\n]{0,15}?(?:指令|指示|评分标准|評分標準|提示词|提示詞)",
        # English has the first hint too.
        then=r"(?<!ignor)|ier|[ae][zr]?\s[^.!?\n]{0,120}(?:consignes|bar|instrucc|instructions\s+(?:pr|ci-)|"
        r"r[\x80-\xff]+b)",
    ),
    _sign(
        InjectionKind.DEMAND,
        "punkt;bewertung;maximale;meilleure;puntuaci;puntaje;满分;滿分;最高分 & gib;geb;"
        "donne;attribue;met;otorg;asign;d;给;給;打",
        r"\b(?:gib|geben\s+sie|vergib|vergeben\s+sie)\s[^.!?\n]{0,40}?"
        r"\b(?:volle|höchste|maximale)\w?\s+(?:punkt\w{0,5}|bewertung|note)\b",
        r"\b(?:donne|attribue|mets)[zr]?\s[^.!?\n]{0,40}?\b(?:note\s+maximale|meilleure\s+note)\b",
        r"\b(?:otorg|asign|d)[aáeé]\w{0,3}\s[^.!?\n]{0,40}?"
        r"\b(?:puntuación\s+máxima|máxima\s+puntuación|puntaje\s+máximo)\b",
        r"(?:给|給|打)[^。！？\n]{0,10}?(?:满分|滿分|最高分)",
    ),
)
_HIDDEN = re.compile(
    rf"(?<!{_ENGLAND})(?<!{_TAG}){_TAG}+|{_ENGLAND}{_TAG}{{8,}}"
    "|[\U000e0100-\U000e01ef]{3,}|[\u200b-\u200d\u2060-\u2064\ufeff]{6,}"
)
UNSEEN = frozenset("\u00ad\u200b\u200c\u200d\u2060\u2061\u2062\u2063\u2064\ufeff")
_UNSEEN = re.compile(f"[{''.join(sorted(UNSEEN))}]+")
_STOP = re.compile(r"[.!?](?=\s|[\"')]|\Z)|[。！？]|(?=\n)|\Z")
_WHOLE_SENTENCES = frozenset({InjectionKind.OVERRIDE, InjectionKind.ADDRESS, InjectionKind.DEMAND})


def passages(text: str, signs: Sequence[Sign] = SIGNS) -> tuple[Passage, ...]:
    """Return the first fifty suspicious passages of a text, from its ends if it is very long."""
    found = set(_every(text, signs))
    ordered = sorted(found, key=lambda passage: (passage.start, passage.end, passage.kind))
    return tuple(ordered[:MAX_PASSAGES])


def _every(text: str, signs: Sequence[Sign]) -> Iterator[Passage]:
    starts = {0} if len(text) <= 2 * REACH else {0, len(text) - REACH}
    size = len(text) if len(starts) == 1 else REACH
    for at in starts:
        yield from _search(text[at : at + size], at, signs)


def _search(text: str, offset: int, signs: Sequence[Sign]) -> Iterator[Passage]:
    places: Sequence[int] = range(len(text))
    visible = text
    if _UNSEEN.search(text):
        # Invisible characters inside a word would hide the word from the patterns.
        places = [at for at, char in enumerate(text) if char not in UNSEEN]
        visible = _UNSEEN.sub("", text)
    lower = visible.lower() if signs else ""
    for sign in signs:
        if not all(any(map(lower.__contains__, group)) for group in sign.hints):
            continue
        # Compiled at the first need, because that takes long; ``re`` keeps what it compiled.
        pattern = re.compile(sign.expression)
        for start, end in _matches(sign.kind, pattern, visible):
            first = places[start]
            last = places[end - 1] + 1
            yield Passage(offset + first, offset + last, sign.kind, text[first:last])
    for start, end in _matches(InjectionKind.HIDDEN, _HIDDEN, text):
        yield Passage(offset + start, offset + end, InjectionKind.HIDDEN, text[start:end])


def _matches(kind: InjectionKind, pattern: re.Pattern[str], text: str) -> Iterator[tuple[int, int]]:
    for count, match in enumerate(pattern.finditer(text)):
        if count == MAX_PASSAGES:
            return
        start, end = match.span()
        if match[0].lower().startswith("</resp") and "<response" in text[:start].lower():
            continue  # it closes a mark that the text itself opened
        if kind in _WHOLE_SENTENCES:
            stop = _STOP.search(text, end, end + _SENTENCE)
            end = stop.end() if stop else min(end + _SENTENCE, len(text))
        yield start, end


_AT_ONCE = 1 << 17
"""How many places of the texts are compared at once."""
_HIDDEN_BIT = 1 << len(SIGNS)
"""The bit, after those of the signs, of passages of characters that nobody sees."""
_END = b"\xff"
"""The end of a text among others; no text in UTF-8 has this byte."""
_HINTS: dict[int, list[tuple[bytes, int, int]]] = {}
"""Each hint of a first group by the four bytes in its middle: its bytes, their start, its sign."""
for _place in range(len(SIGNS)):
    for _hint in map(str.encode, SIGNS[_place].hints[0]):
        _start = (len(_hint) + 1) // 2 - 2
        _code = int.from_bytes(_hint[_start : _start + 4], "little")
        _HINTS.setdefault(_code, []).append((_hint, _start, _place))
_NEAR = 400
"""How many bytes before a hint are searched for what stands before it."""
_PLAIN = bytes.maketrans(
    ascii_uppercase.encode() + b"\x1c\x1d\x1e\x1f", ascii_lowercase.encode() + b" " * 4
)
"""Lower case, and the control characters that a pattern of texts takes for blanks as such."""
_HYPHENS = bytes.maketrans(b"-", b" ")
_BLANKS = "\x85\xa0\u1680\u2028\u2029\u202f\u205f\u3000" + "".join(map(chr, range(0x2000, 0x200B)))
_INSTEAD = str.maketrans(
    "\u212a\u0130\u0131\u017f" + _BLANKS, "kiis" + " " * len(_BLANKS), "".join(UNSEEN)
)
"""What a pattern without case takes for ASCII letters and blanks, or does not see."""
_ODD = re.compile(f"[{''.join(map(chr, _INSTEAD))}\U000e0000-\U000effff]")


@cache
def _around(hint: bytes, sign: int) -> tuple[re.Pattern[bytes], re.Pattern[bytes] | None]:
    """Return the patterns of a hint with what follows it, and of what stands before it."""
    before = SIGNS[sign].before.replace(" ", r"\s+").encode()
    pattern = re.compile(re.escape(hint) + f"(?:{SIGNS[sign].then})".encode())
    return pattern, re.compile(before) if before else None


def _slots(codes: Ints) -> Ints:
    """Return 16 bits of a hash of each code."""
    return (codes * np.uint32(2_654_435_761) >> np.uint32(16)).astype(np.intp)


_MAY_BE = np.zeros(1 << 16, np.bool_)
_MAY_BE[_slots(np.array([*_HINTS], np.uint32))] = True


def suspects(verdicts: Sequence[VerdictModel]) -> list[bool]:
    """Return for each verdict whether one of its outside texts has a suspicious passage."""
    found = [False] * len(verdicts)
    outside = list(outside_columns(verdicts))
    for (at, text), bits in zip(outside, _hinted([text for _, text in outside]), strict=True):
        if bits and not found[at]:
            signs = [sign for bit, sign in enumerate(SIGNS) if bits >> bit & 1]
            found[at] = any(True for _ in _every(text, signs))
    return found


def _hinted(texts: list[str]) -> list[int]:
    """Return for each text, as bits, the signs of which it may hold a hint."""
    found = [0] * len(texts)
    for at, text in enumerate(texts):
        if not text.isascii() and _ODD.search(text):
            found[at] = _HIDDEN_BIT * bool(_HIDDEN.search(text))
            texts[at] = text.translate(_INSTEAD)
    encoded = [text.encode(errors="replace") for text in texts]
    data = _END.join((*encoded, b"\n" * 7)).translate(_PLAIN)
    ends = np.flatnonzero(np.frombuffer(data, np.uint8) == _END[0]).tolist()
    for start in range(4):
        fours = np.frombuffer(data, "<u4", (len(data) - start) // 4, start)
        near = [
            first + np.flatnonzero(_MAY_BE[_slots(fours[first : first + _AT_ONCE])])
            for first in range(0, len(fours), _AT_ONCE)
        ]
        places = np.concatenate(near)
        codes = fours[places]
        for code, hints in _HINTS.items():
            here = (4 * places[codes == code] + start).tolist()
            for hint, middle, sign in hints if here else ():
                pattern, before = _around(hint, sign)
                for begin in (at - middle for at in here):
                    if pattern.match(data, begin) or (
                        before and data.startswith(hint, begin) and _follows(before, data, begin)
                    ):
                        found[bisect(ends, begin)] |= 1 << sign
    return found


def _follows(before: re.Pattern[bytes], data: bytes, start: int) -> bool:
    """Return whether the pattern is in the text before a place."""
    near = data[max(0, start - _NEAR) : start].translate(_HYPHENS)
    return before.search(near.rpartition(_END)[2]) is not None
