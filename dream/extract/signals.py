"""What makes a clause worth proposing: marks of a correction, a preference, a decision, or a stated fact.

Each rule looks at a clause whose act is known. The confidence is a judgement of how often such a clause is still true
and wanted next month; it decides alone only where no topic speaks of the matter yet. What only holds at the moment of
speaking (a failing test, a pushed branch, this file) is weak whatever its form.
"""

from dataclasses import dataclass, replace

from dream.records import Kind
from dream.statements import marks
from dream.statements.acts import LEADING, SILENT, STANDING, Act, Clause
from dream.statements.halves import MAX_CHARS
from dream.statements.values import ValueKind, values_in
from memory_server.language.cues import folded
from memory_server.language.words import content_words


@dataclass(frozen=True, slots=True)
class Signal:
    """Why a clause was taken."""

    kind: Kind
    confidence: float
    why: str


SURE, LIKELY, FAIR, WEAK = 0.9, 0.75, 0.6, 0.35
STRONG_VALUES = frozenset({ValueKind.ADDRESS, ValueKind.VERSION, ValueKind.PATH, ValueKind.DATE, ValueKind.TIME})
REASONABLE = frozenset({Act.ASSERTS, Act.DENIES, Act.HEDGES})
REASONED_WORDS = 6  # telling words that a statement with its reason has at least
MIN_WORDS = 2  # telling words; less says nothing by itself
FOREIGN = {
    Kind.PREFERENCE: folded(
        r"\b(?:ab jetzt|von nun an|ab sofort|künftig|in zukunft|grundsätzlich|immer|niemals|nie wieder"
        r"|auf keinen fall|à partir de maintenant|désormais|dorénavant|toujours|jamais|à l'avenir"
        r"|de ahora en adelante|a partir de ahora|siempre|nunca|d'ora in poi|sempre|mai più|a partir de agora"
        r"|daqui em diante|voortaan|altijd|nooit|vanaf nu|fra nå av|alltid|aldrig|hädanefter|od teraz|zawsze|nigdy"
        r"|отныне|впредь|всегда|никогда|с этого момента|завжди|ніколи|bundan sonra|her zaman|asla)\b|从现在开始"
        r"|从现在起|以后都?|今后|总是|始终|一定要|永远不要|绝对不要|绝不|务必|從現在開始|今後は|これからは|常に"
        r"|必ず|いつも|決して|絶対に|앞으로는?|항상|절대"
    ),
    Kind.FACT: folded(
        r"\b(?:merk(?:e)? dir|denk daran|nicht vergessen|zur info|souviens-toi|rappelle-toi|n'oublie pas|note que"
        r"|recuerda que|recuerda|ten en cuenta|no olvides|ricorda(?:ti)? che|ricordati|lembre-se|onthoud|husk at"
        r"|kom ihåg|zapamiętaj|запомни|учти|помни|запам'ятай|unutma)\b|记住|请记得|记得|注意[:：]|記住|覚えて"
        r"|忘れないで|기억해"
    ),
    Kind.DECISION: folded(
        r"\b(?:wir haben (?:uns )?(?:entschieden|beschlossen)|wir nehmen|nous avons décidé|on a décidé"
        r"|hemos decidido|decidimos|abbiamo deciso|decidimos|we hebben besloten|мы решили|решено|zdecydowaliśmy)\b"
        r"|我们决定|决定用|決定使用|ことに(?:決め|し)(?:た|ました)|하기로 (?:했|결정)"
    ),
    Kind.CORRECTION: folded(
        r"^\W*(?:nein|non(?!-)|falsch|das stimmt nicht|c'est faux|no, (?:en realidad|es|está)|eso no es correcto"
        r"|sbagliato|нет|неверно|это не так)\b|^(?:不对|不是|错了|いや|違う|違います|아니)"
    ),
}  # said for good in other languages: `always`, `from now on`, `remember`, `we decided`; no more of them is read


def signal_of(clause: Clause, before: Clause | None = None) -> Signal | None:
    """What makes a clause worth taking; None where nothing does. `before` is the clause said ahead of it."""
    text = clause.text
    if clause.act in SILENT or len(text) > MAX_CHARS or len(content_words(text)) < MIN_WORDS or _is_bare_value(text):
        return None
    if marks.LIMITS_RULE.search(text):
        return Signal(Kind.FACT, WEAK, "said in passing")
    if foreign := next((kind for kind, marker in FOREIGN.items() if marker.search(text)), None):
        return Signal(foreign, LIKELY, "an explicit marker")
    found = _by_kind(clause, before)
    own = marks.REJECTS.sub("", text).lstrip(" ,.:;-")
    if (
        found and marks.LEANS.match(own) and not marks.FOUND_CAUSE.search(text)
    ):  # of a cause the sentence names itself what tells
        return replace(found, confidence=min(found.confidence, WEAK))
    return found


def _by_kind(clause: Clause, before: Clause | None) -> Signal | None:
    return _preference(clause) or _correction(clause, before) or _decision(clause) or _fact(clause)


def _is_bare_value(text: str) -> bool:
    """Whether a text is an address or the like, with not a word about it."""
    for value in reversed(values_in(text)):
        text = text[: value.first] + text[value.end :]
    return not any(letter.isalpha() for letter in text)


def _preference(clause: Clause) -> Signal | None:
    text, is_hedged = clause.text, clause.act is Act.HEDGES
    if marks.REMEMBER.match(text) and clause.act is not Act.INTENDS:
        return Signal(Kind.PREFERENCE if marks.RULE.search(text) else Kind.FACT, SURE, "asked to be remembered")
    if marks.PREFERS.search(text):
        return Signal(Kind.PREFERENCE, FAIR if is_hedged else LIKELY, "a stated preference")
    if not is_hedged and not marks.PASSING.search(text):
        if marks.LABELLED.match(text):
            return Signal(Kind.PREFERENCE, LIKELY, "an order that names no single thing")
        if marks.STANDING_ORDER.search(text):
            return Signal(Kind.PREFERENCE, FAIR, "an order that names no single thing")
    if clause.act is Act.INTENDS:
        return None
    if marks.RULE.search(text):
        return Signal(Kind.PREFERENCE, WEAK if is_hedged else SURE, "a rule: always, never, must")
    if marks.STANDING_MARK.search(text) and not is_hedged:
        return Signal(Kind.PREFERENCE, LIKELY, "said for good: from now on, whenever")
    if marks.MAKE_SURE.match(text) and marks.REASONED.search(text) and not marks.PASSING.search(text):
        return Signal(Kind.PREFERENCE, FAIR, "asked for, with its reason")
    return Signal(Kind.PREFERENCE, LIKELY, "asked to stop") if marks.STOP_DOING.match(text) else None


def _correction(clause: Clause, before: Clause | None) -> Signal | None:
    """`A, not B`; `no, it is A`; or a plain statement right behind `that's wrong`."""
    text = clause.text
    if clause.act in (Act.INTENDS, Act.REQUESTS, Act.DENIES):
        return None
    confidence = WEAK if clause.act is Act.HEDGES or marks.PASSING.search(text) else LIKELY
    rest = marks.REJECTS.sub("", text)
    behind = before is not None and marks.REJECTS.match(before.text) is not None
    states = marks.NAMED_SUBJECT.match(LEADING.sub("", rest).lstrip(" ,:;-")) is not None
    if (marks.NOT_THIS.search(text) and (values_in(text) or states)) or marks.IN_PLACE_OF.search(text):
        return Signal(Kind.CORRECTION, confidence, "corrects: this, not that")
    if (behind or rest != text) and (states or values_in(rest)) and len(content_words(rest)) >= MIN_WORDS:
        return Signal(Kind.CORRECTION, confidence, "says what is right after saying what was wrong")
    strong = any(value.kind is not ValueKind.NAME for value in values_in(text))
    if marks.OPENS_CORRECTION.search(text) and strong and confidence == LIKELY:
        return Signal(Kind.CORRECTION, LIKELY, "corrects: no, it is this")
    return None


def _decision(clause: Clause) -> Signal | None:
    text = clause.text
    if marks.LEANS_TO.search(text) and marks.REASONED.search(text) and not marks.PASSING.search(text):
        return Signal(Kind.DECISION, FAIR, "a leaning with its reason")
    if (
        marks.WE_SHOULD.search(text)
        and not marks.PASSING.search(marks.WE_SHOULD.sub(" ", text))
        and clause.act is not Act.INTENDS
    ):
        return Signal(Kind.DECISION, FAIR, "what is to be done with every one of them")
    decides = marks.DECIDES.search(text)
    if clause.act in (Act.HEDGES, Act.INTENDS) or (clause.act is Act.DENIES and not decides):
        return None
    rest = marks.DECIDES.sub(" ", LEADING.sub("", text, count=1))  # `now` ahead of a decision announces it
    if decides and not (marks.PASSING.search(rest) and not marks.REASONED.search(text)):
        return Signal(Kind.DECISION, SURE if marks.REASONED.search(text) else LIKELY, "a decision")
    if marks.BETTER.search(text) and marks.NAMED_SUBJECT.match(LEADING.sub("", text, count=1)):
        return Signal(Kind.DECISION, FAIR, "a judgement of what is better")
    if marks.LETS.match(text):
        return Signal(Kind.DECISION, _of_lets(text), "a decision")
    return None


def _of_lets(text: str) -> float:
    """`Let's` proposes as often as it decides: with a reason, a rejected choice or an exact value it decides."""
    if marks.REASONED.search(text) or marks.NOT_THIS.search(text):
        return LIKELY
    exact = any(value.kind in STRONG_VALUES for value in values_in(text))
    return FAIR if exact and not marks.PASSING.search(text) else WEAK


def _fact(clause: Clause) -> Signal | None:
    """A statement about a named thing; by what it holds it is likely, fair, or only said in passing."""
    text, values = clause.text, values_in(clause.text)
    bare = LEADING.sub("", marks.REJECTS.sub("", text), count=1).lstrip(" ,:;-(")
    if clause.act is Act.REQUESTS or (clause.act is Act.INTENDS and not values):
        return None
    if marks.WE_LEARNT.search(text) and clause.act in STANDING:
        return Signal(Kind.FACT, FAIR, "learnt by experience")
    if marks.FOUND_CAUSE.search(text) and clause.act in STANDING and _names_something(text):
        return Signal(Kind.FACT, FAIR, "what an error came from, or what ended it")
    is_reasoned = marks.REASONED.search(text) and len(content_words(text)) >= REASONED_WORDS
    if is_reasoned and clause.act in REASONABLE and not marks.OF_THE_HOUR.search(text):
        return Signal(Kind.FACT, FAIR, "said with its reason")
    if clause.act is Act.ASSERTS and not marks.PASSING.search(text):
        is_exact = any(value.kind in STRONG_VALUES or value.unit for value in values)
        is_named = any(subject.match(bare) for subject in (marks.NAMED_SUBJECT, marks.WE_DO, marks.OWN_STATE))
        if is_exact and is_named:
            return Signal(Kind.FACT, LIKELY, "a stated fact with its value")
        if is_exact and (marks.DOES_SOMETHING.match(bare) or marks.WE_DO_SOMETHING.match(bare)):
            return Signal(Kind.FACT, FAIR, "a stated fact with its value")
        if is_named and (
            values or any(mark.search(bare) for mark in (marks.SCOPE, marks.WE_DO, marks.OWN_STATE, marks.REQUIRES))
        ):
            return Signal(Kind.FACT, FAIR, "a stated fact about a named thing")
    return Signal(Kind.FACT, WEAK, "said in passing") if values or clause.act is Act.DENIES or len(text) > 30 else None


def _names_something(text: str) -> bool:
    """Whether a text names a file, a version, an address or a setting in so many letters."""
    values = values_in(text)
    is_constant = any(value.kind is ValueKind.NAME and "_" in value.value for value in values)
    return is_constant or any(value.kind in STRONG_VALUES for value in values)
