"""What makes a clause worth proposing: marks of a correction, a preference, a decision, or a stated fact.

Each rule looks at a clause whose act is known. The confidence is a judgement of how often such a clause is still true
and wanted next month; it decides alone only where no topic speaks of the matter yet.
"""

import re
from dataclasses import dataclass

from dream.records import Kind
from dream.speech.acts import LEAD, Act, Clause
from dream.speech.markers import foreign_marker
from dream.speech.values import ValueKind, values_in
from dream.speech.words import content_words


@dataclass(frozen=True, slots=True)
class Signal:
    """Why a clause was taken."""

    kind: Kind
    confidence: float
    why: str


SURE, LIKELY, FAIR, WEAK = 0.9, 0.75, 0.6, 0.35
STANDING_MARK = re.compile(
    r"\b(?:from now on|from here on|going forward|in (?:the )?future|as a (?:general )?rule|by default|at all times"
    r"|henceforth"
    r"|every (?:single )?time|whenever|each time|in general|for all (?:future|new)|for every (?:new )?\w+|without"
    r" exception)\b",
    re.IGNORECASE,
)
REMEMBER = re.compile(
    rf"^{LEAD}(?:please |also |just )*(?:(?:can|could) you )?(?:remember|keep in mind|bear in mind|note|make a note"
    rf"|take note"
    r"|for the record|for future reference|don'?t forget|never forget|memori[sz]e|for your (?:information|memory)|save"
    r" to memory)"
    r"(?: that|:|,)\s*\S",
    re.IGNORECASE,
)
RULE = re.compile(
    rf"^{LEAD}(?:please |just )*(?:always|never)\s+(?!mind\b|been\b|seen\b|had\b|heard\b|thought\b|really\b)[a-z]+"
    r"|\b(?:we|you|i|they|one|it|[\w/-]+s?)\s+(?:should|must|shall|need to|have to|are to|is to|want to"
    r"|will)\s+(?:always|never)\b"
    r"|\b(?:we|you|i)(?:'d| would| will)?\s+(?:always|never)\s+(?!been|seen|had|heard|thought|said|tried|used|really"
    r"|actually)[a-z]+\b"
    r"|\b(?:must|should|shall|may|can)(?: not|n't|nt)\b[^.!?]{0,80}\b(?:ever|under any|again|any ?more|in any case)\b"
    r"|\b(?:is|are) (?:never|always) (?:to be|allowed|required|forbidden)\b|\b(?:must|should|shall) (?:always|never"
    r"|only)\b"
    r"|\b(?:is|are) (?:not allowed|forbidden|mandatory|off[- ]limits|required)\b|\bmust(?:n't| not| be| have| use| go|"
    r" start| end| stay)\b"
    r"|^\W*no \w+(?: \w+){0,3} (?:in|on|without|for|before|after)\b",
    re.IGNORECASE,
)
STOP_DOING = re.compile(
    rf"^{LEAD}(?:please |just )*(?:stop\s+\w+ing\b|(?:don'?t|do not)\s+(?:ever\b|\w+[^.!?]{{0,80}}\b(?:ever|again|any"
    rf" ?more)\b)"
    r"|quit\s+\w+ing\b|avoid\s+\w+ing\b)",
    re.IGNORECASE,
)
PREFERS = re.compile(
    r"\b(?:i|we)(?:'d| would)? (?:strongly |really |generally |usually |always |much |personally )*(?:prefer\b(?! not"
    r" to have to)|rather\b"
    r"|favou?r\b)|\bi (?:like|love) (?:my|our|to have|it when|the|when)\b[^.!?]*\b(?:to|in|with|better|best|over)\b"
    r"|\bi (?:hate|dislike|can't stand|don'?t (?:like|want))\b|\bmy preference\b|\bpreferred (?:way|style|tool"
    r"|format)\b"
    r"|\b(?:is|are) (?:my|our) (?:preferred|favou?rite|default|standard)\b",
    re.IGNORECASE,
)
CORRECTS = re.compile(
    rf"^{LEAD}(?:that(?:'s| is| was)|this is|you(?:'re| are)|it(?:'s| is)) (?:wrong|incorrect|not (?:right|correct"
    rf"|true|what i)|mistaken)\b"
    r"|^\W*(?:no|nope|wrong|actually|correction|not quite|sorry)\b[\s,.:!-]+\S"
    r"|\bi meant\b|\bi (?:was|misspoke|got .{3,30} wrong)\b.{0,20}\bwrong\b|^\W*not (?:the )?[\w./:-]+(?:"
    r" [\w./:-]+){0,3}[,:;-]",
    re.IGNORECASE,
)
NOT_THIS = re.compile(
    r"\b(?:is|are|'s|'re|lives?|runs?|uses?|goes|called|named|at|on|in|to|with)\b[^.!?]{2,80}?,?\s+(?:and"
    r" )?not\s+(?!only\b|sure\b|yet\b|just\b|to\b)"
    r"[\w`'\"~./@-]+|\bnot\s+[^,.!?]{2,50}?,?\s+but\s+\S|\binstead of\b|\brather than\b",
    re.IGNORECASE,
)
DECIDES = re.compile(
    r"\b(?:(?:we|i|the team)(?:'ve| have| had)?(?: all| now| finally| just| already| both)*\s+(?:decided|agreed|chose"
    r"|chosen|settled|opted|picked|standardi[sz]ed"
    r"|committed|concluded|resolved)\b|(?:the|our|my|final) (?:decision|choice|verdict) (?:is|was|:)|(?:it(?:'s| is)"
    r" )?decided:"
    r"|(?:we|i)(?:'re| are|'m| am) (?:going (?:to (?:use|go with|stick|keep|drop|move|adopt|switch)|with)|sticking"
    r"|moving to|switching to|dropping"
    r"|standardi[sz]ing|keeping|adopting|retiring|freezing)|(?:we|i)(?:'ll| will) (?:use|go with|stick (?:with|to)"
    r"|keep|adopt|move to|switch to|drop"
    r"|stay (?:on|with)|standardi[sz]e|call (?:it|them|this)|name|store|host|deploy|ship))\b",
    re.IGNORECASE,
)
LETS = re.compile(
    rf"^{LEAD}(?:let'?s|lets)\s+(?:not\s+|just\s+|also\s+|please\s+)*(?:use|go with|stick (?:with|to)|keep|adopt"
    rf"|switch to|move to|call|name"
    r"|standardi[sz]e|store|avoid|stay|drop|skip|leave|make)\b",
    re.IGNORECASE,
)
REASONED = re.compile(
    r"\b(?:because|since|so that|due to|given that|in order to|as (?:it|that|they|we|the)\b)", re.IGNORECASE
)
STATES = re.compile(
    r"\b(?:is|are|'s|was moved to|lives?|runs?|listens?|sits?|resides?|points?|uses?|requires?|needs?|supports?"
    r"|expects?|has|have"
    r"|owns?|maintains?|handles?|belongs?|stores?|keeps?|deploys?|releases?|happens?|starts?|ends?|expires?|closes?"
    r"|goes|means?|contains?"
    r"|returns?|takes?|costs?|==|=|called|named|located|hosted|managed|owned|maintained|scheduled|pinned|set)\b",
    re.IGNORECASE,
)
SUBJECT = re.compile(
    rf"^{LEAD}(?:(?:in|on|at|for|since|as of|under|with)\s[^,]{{2,40}},\s+)?(?:the|our|my|all|every|each|both"
    rf"|[A-Z][\w.-]+|`[^`]+`|[a-z]+(?:-[a-z]+)+|[\w./]+s?)\s",
)
PASSING = re.compile(
    r"\b(?:now|just|still|currently|right now|at the moment|today|failing|failed|fails|broken|crash\w*|stuck|again"
    r"|working|loaded|done"
    r"|error|bug|issue|missing|empty|flaky|pushed|merged|commit(?:ted|s)?|this (?:pr|branch|session|commit|change|file"
    r"|test|one|time)|the (?:pr|diff"
    r"|above|first|second|last|next|other|following|screenshot|change|issue|problem|comment|question)|here|there'?s"
    r"|there (?:is|are)|it'?s|that'?s|this|these|those|it|they|he|she|you|i)\b",
    re.IGNORECASE,
)
FIRST_PERSON = re.compile(r"\b(?:i|i'm|i've|i'd|i'll|my|we|we're|we've|our)\b", re.IGNORECASE)
STRONG_VALUES = frozenset({ValueKind.ADDRESS, ValueKind.VERSION, ValueKind.PATH, ValueKind.DATE, ValueKind.TIME})
MIN_WORDS = 2  # telling words; less says nothing by itself
MAX_CHARS = 320


def signal_of(clause: Clause) -> Signal | None:
    """What makes a clause worth taking; None where nothing does."""
    text = clause.text
    if clause.act in (Act.ASKS, Act.SUPPOSES, Act.QUOTES, Act.PLAYS, Act.MUSES) or len(text) > MAX_CHARS:
        return None
    if len(content_words(text)) < MIN_WORDS:
        return None
    if foreign := foreign_marker(text):
        return Signal(foreign, LIKELY, "an explicit marker")
    return _preference(clause) or _correction(clause) or _decision(clause) or _fact(clause)


def _preference(clause: Clause) -> Signal | None:
    text = clause.text
    if clause.act in (Act.MUSES, Act.INTENDS):
        return None
    if REMEMBER.match(text):
        return Signal(Kind.FACT if not RULE.search(text) else Kind.PREFERENCE, SURE, "asked to be remembered")
    if RULE.search(text) and not LIMITS_RULE.search(text):
        return Signal(Kind.PREFERENCE, SURE, "a rule: always, never, must")
    if STANDING_MARK.search(text) and clause.act is not Act.HEDGES:
        return Signal(Kind.PREFERENCE, LIKELY, "said for good: from now on, whenever")
    if STOP_DOING.match(text):
        return Signal(Kind.PREFERENCE, LIKELY, "asked to stop")
    if PREFERS.search(text):
        return Signal(Kind.PREFERENCE, LIKELY if clause.act is not Act.HEDGES else FAIR, "a stated preference")
    return None


LIMITS_RULE = re.compile(
    r"\b(?:not|n't|needn't|no need to|don't (?:have|need|want) (?:you )?to)\s+(?:\w+\s+){0,2}always\b|\bnot"
    r" necessarily\b"
    r"|\bnever (?:said|meant|claimed|asked|decided|mind)\b|\bdon'?t (?:have|need) to\b|\bnot (?:a|our|the) (?:rule"
    r"|policy)\b",
    re.IGNORECASE,
)


def _correction(clause: Clause) -> Signal | None:
    text = clause.text
    if clause.act in (Act.MUSES, Act.INTENDS, Act.REQUESTS):
        return None
    opened = bool(CORRECTS.search(text))
    states = NOT_THIS.search(text) or (opened and values_in(text) and STATES.search(text))
    if states and clause.act is not Act.DENIES:
        return Signal(Kind.CORRECTION, LIKELY if clause.act is Act.ASSERTS else FAIR, "corrects: this, not that")
    return None


def _decision(clause: Clause) -> Signal | None:
    text = clause.text
    if clause.act in (Act.HEDGES, Act.MUSES, Act.INTENDS, Act.DENIES):
        return None
    if DECIDES.search(text):
        return Signal(Kind.DECISION, SURE if REASONED.search(text) else LIKELY, "a decision")
    if LETS.match(text):
        return Signal(Kind.DECISION, LIKELY if REASONED.search(text) else WEAK, "a decision")
    return None


def _fact(clause: Clause) -> Signal | None:
    text = clause.text
    values = values_in(text)
    if clause.act is Act.REQUESTS or not (values or clause.act is Act.DENIES or FIRST_PERSON.search(text)):
        return None
    if clause.act is Act.INTENDS and not values:
        return None
    is_plain = (
        clause.act is Act.ASSERTS and STATES.search(text) and not FIRST_PERSON.match(text) and not PASSING.search(text)
    )
    if is_plain and any(value.kind in STRONG_VALUES for value in values):
        return Signal(Kind.FACT, LIKELY, "a stated fact with its value")
    if is_plain and any(value.kind is ValueKind.QUANTITY and value.unit for value in values):
        return Signal(Kind.FACT, FAIR, "a stated fact with its value")
    return Signal(Kind.FACT, WEAK, "said in passing")
