"""Whether the words that somebody said support a statement: what a model read is proved here, without a model.

What is compared: values, new words, negations, conditions of time, modality, quantity, opposites, order, and what was
taken back. The ground is what was quoted, then the speaker's own words around it and what they answer; never what was
pasted, printed by a tool, or offered and not chosen. It does not understand: a statement that keeps every word of its
quote and turns its sense by grammar alone may pass, and an apt wording far from the quote may not. RESULTS.md has both.
"""

import itertools
import re
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass
from enum import StrEnum

import msgspec

from crawler.quotes import Quote, SessionTurns
from crawler.reading import proof_words as words_of
from crawler.reading.ground import Bag, Ground, Sentence, Token, find_root, gather_ground, tokenize
from crawler.reading.record import Line, Reading
from memory_server.escaping import HIDDEN
from memory_server.language.cues import INJECTION
from memory_server.language.words import content_words
from memory_server.search.amending import SAME

NUMBER = re.compile(r"\d+(?:[.,]\d+)?")
GLUED = re.compile(r"(\d+)([A-Za-z]+)")  # `30s`
NAME_INSIDE = re.compile(r"[./:@#_+]|[a-z][A-Z]|\d")
MIN_EXCHANGED, MOST_EXCHANGED = 3, 8  # telling words of a statement in which subject and object are told apart
MOST_COMMON = 0.8  # the share of them that stands in the quoted sentence
MOST_NEW = 1 / 3  # of the telling words of a statement


class ObjectionKind(StrEnum):
    """What is wrong with a statement."""

    FOREIGN = "foreign"
    VALUE = "value"
    NEW = "new words"
    NEGATION = "negation"
    MODALITY = "modality"
    QUANTITY = "quantity"
    PASSING = "passing"
    TENSE = "tense"
    OPPOSITE = "opposite"
    ORDER = "order"
    REFUSED = "refused"
    RETRACTED = "retracted"


@dataclass(frozen=True, slots=True)
class Objection:
    """One reason why the words do not support a statement, and which words it is about."""

    kind: ObjectionKind
    words: tuple[str, ...]

    def describe(self) -> str:
        """What is wrong, in a sentence that a person or a model can act on."""
        return SENTENCES[self.kind].format(", ".join(self.words[:MOST_SHOWN]) or "as it stands")


SENTENCES = {
    ObjectionKind.FOREIGN: "This was pasted, quoted or printed by a tool, not said: {}.",
    ObjectionKind.VALUE: "The quote does not give: {}.",
    ObjectionKind.NEW: "The quote does not say: {}.",
    ObjectionKind.NEGATION: "A negation was left out or added: {}.",
    ObjectionKind.OPPOSITE: "The quote says the opposite: {}.",
    ObjectionKind.MODALITY: "The quote asks, supposes, wishes or plans; it does not state: {}.",
    ObjectionKind.QUANTITY: "The quote does not say it of all, or of every time: {}.",
    ObjectionKind.PASSING: "The quote says it of a while, or of this one alone: {}.",
    ObjectionKind.TENSE: "The quote tells of another time: {}.",
    ObjectionKind.ORDER: "The quote puts it the other way round: {}.",
    ObjectionKind.REFUSED: "The person turned this down, or did not choose it: {}.",
    ObjectionKind.RETRACTED: "This was taken back later: {}.",
}
MOST_SHOWN = 5  # words of an objection


@dataclass(frozen=True, slots=True)
class Claim:
    """A statement beside its ground, each cut into words once."""

    text: str
    tokens: list[Token]
    ground: Ground
    held: Bag  # of all the ground
    quoted: Bag

    @property
    def telling(self) -> list[Token]:
        return [token for token in self.tokens if token.is_telling]

    @property
    def bag(self) -> Bag:
        return Bag(self.tokens)

    @property
    def evidence(self) -> list[Sentence]:
        return [*self.ground.quoted, *self.ground.beside, *self.ground.answered]


def find_objections(text: str, quotes: Sequence[Quote], session: SessionTurns) -> tuple[Objection, ...]:
    """Every reason why the quotes, with what stands around them in their session, do not support a statement.

    Empty: supported, as far as words tell. A sentence of the speaker as it stands is never objected to for its words.
    """
    ground = gather_ground(quotes, session)
    quoted = Bag(token for sentence in ground.quoted for token in sentence.tokens)
    claim = Claim(text, tokenize(text), ground, ground.bag(), quoted)
    checks = OF_VERBATIM if is_verbatim(claim) else CHECKS
    return tuple(found for check in checks if (found := check(claim)))


def is_verbatim(claim: Claim) -> bool:
    """Whether a statement is a quoted sentence as it stands, but for words of the talk ahead of it."""
    plain = [token.low for token in claim.tokens if token.is_word]
    for sentence in claim.ground.quoted:
        words = [token for token in sentence.tokens if token.is_word]
        ahead = words[: len(words) - len(plain)]
        behind = [sentence.tokens[token.place + 1].low for token in ahead if token is not words[-1]]
        is_same = [token.low for token in words[len(ahead) :]] == plain
        if is_same and all(is_ahead(token.low, after) for token, after in zip(ahead, behind, strict=False)):
            return True
    return False


def is_ahead(word: str, behind: str) -> bool:
    """Whether a word is of the talk ahead of a statement, by what follows: `no, the relay`, but not `no secrets`."""
    is_denial = word == "no" and behind[:1].isalnum() and behind not in words_of.UNDENIED
    return word in words_of.OPENERS and not is_denial


def find_new_words(text: str, quotes: Sequence[Quote], session: SessionTurns) -> list[str]:
    """The telling words of a statement that stand neither in its quotes nor around them: marked for the reviewer."""
    ground = gather_ground(quotes, session)
    held = ground.bag()
    new = (token for token in tokenize(text) if token.is_telling and not held.holds(token))
    return [token.text for token in new if token.low.removesuffix("'s") not in ground.names]


def _foreign(claim: Claim) -> Objection | None:
    shown = tuple(sentence.text[:80] for sentence in claim.ground.quoted[:1])
    return Objection(ObjectionKind.FOREIGN, shown) if claim.ground.is_foreign else None


def _values(claim: Claim) -> Objection | None:
    """Numbers, names and identifiers that nobody gave."""
    first = next((token for token in claim.tokens if token.is_word), None)
    missing = [
        token.text
        for token in claim.telling
        if _is_value(token, is_first=token is first)
        and not claim.held.holds(token)
        and not _is_known_name(token, claim.ground)
    ]
    return Objection(ObjectionKind.VALUE, tuple(missing)) if missing else None


def _is_value(token: Token, *, is_first: bool) -> bool:
    text = token.text
    is_name = (text[:1].isupper() and not is_first) or (text.isupper() and len(text) > 1)
    return is_name or bool(NAME_INSIDE.search(text))


def _is_known_name(token: Token, ground: Ground) -> bool:
    """Whether a long session speaks of it elsewhere: what the work is about is named once."""
    is_projects = token.low.removesuffix("'s") in ground.names
    return is_projects or (ground.session is not None and ground.session.holds(token))


def _new(claim: Claim) -> Objection | None:
    telling = claim.telling
    if not telling:
        return Objection(ObjectionKind.NEW, ())
    session = claim.ground.session
    commanding = [token for token in telling if token.root in COMMANDING_ROOTS and not claim.held.holds(token)]
    if ordered := [token.text for token in commanding if session is None or not session.holds(token)]:
        return Objection(ObjectionKind.NEW, tuple(ordered))
    plain = [token for token in telling if not NAME_INSIDE.search(token.text)]
    new = [token for token in plain if not claim.held.holds(token)]
    if len(new) <= MOST_NEW * len(telling):
        return None
    unheard = [token for token in new if session is None or not session.holds(token)]
    if session is not None and len(new) * 2 <= len(telling) and len(unheard) * 6 <= len(telling):
        return None
    return Objection(ObjectionKind.NEW, tuple(token.text for token in new))


def _negations(tokens: Sequence[Token]) -> list[int]:
    """Where words say no, idioms left out."""
    found = []
    for at, token in enumerate(tokens):
        behind = next((one.low for one in tokens[at + 1 : at + 2]), "")
        is_no = token.low in words_of.NEGATIONS or token.low.endswith("n't")
        is_answer = token.low == "no" and (not behind or not behind[0].isalnum())
        is_aside = token.low in ("don't", "dont") and behind in words_of.ASIDE
        if is_no and behind not in words_of.NO_DENIAL_BEHIND and not (is_answer or is_aside):
            found.append(at)
    return found


DENYING_ROOTS = frozenset(map(find_root, words_of.DENYING))
COMMANDING_ROOTS = frozenset(map(find_root, words_of.COMMANDING))
UNIT_ROOTS = frozenset(map(find_root, words_of.UNITS))


def _denies(tokens: Iterable[Token]) -> bool:
    """Whether words say no in other words."""
    return any(token.root in DENYING_ROOTS for token in tokens)


def _scope(tokens: Sequence[Token], at: int) -> list[Token]:
    """The telling words that a negation at a place is about."""
    return _take_telling(tokens[at + 1 :], ".;:!?()", ("but", "and", "because", "so", "since", "which"))


def _take_telling(tokens: Iterable[Token], signs: str, words: Collection[str] = ()) -> list[Token]:
    """The first four telling words, up to one of some signs or words."""
    ahead = itertools.takewhile(lambda token: token.text not in signs and token.low not in words, tokens)
    return list(itertools.islice((token for token in ahead if token.is_telling), 4))


def _negation(claim: Claim) -> Objection | None:
    ours = _negations(claim.tokens)
    theirs = [(sentence, at) for sentence in claim.ground.quoted for at in _negations(sentence.tokens)]
    if ours and not theirs and not any(_denies(sentence.tokens) for sentence in claim.ground.quoted):
        is_question = any("?" in sentence.text for sentence in claim.ground.quoted)  # a reproach denies without a no
        if not is_question and not any(_is_denied_in(claim, at) for at in ours):
            return Objection(ObjectionKind.NEGATION, tuple(claim.tokens[at].text for at in ours))
    if theirs and not ours and not _denies(claim.tokens):
        held = claim.bag
        for sentence, at in theirs:
            scope = _scope(sentence.tokens, at)[:2]
            if scope and all(map(held.holds, scope)):
                return Objection(ObjectionKind.NEGATION, tuple(token.text for token in (sentence.tokens[at], *scope)))
    return None


def _is_denied_in(claim: Claim, at: int) -> bool:
    """Whether what a statement denies is denied beside the quotes."""
    scope = _scope(claim.tokens, at)
    for sentence in (*claim.ground.beside, *claim.ground.answered):
        if _negations(sentence.tokens) or _denies(sentence.tokens):
            held = Bag(sentence.tokens)
            if scope and sum(map(held.holds, scope)) * 2 >= len(scope):
                return True
    return False


def _modality(claim: Claim) -> Objection | None:
    if {token.low for token in claim.tokens} & words_of.HEDGES:
        return None
    telling = [one for one in claim.ground.quoted if sum(token.is_telling for token in one.tokens) >= 2]
    quoted = telling or claim.ground.quoted
    if quoted and all(words_of.HEDGED.search(one.text) or _asks(one.text) for one in quoted):
        return Objection(ObjectionKind.MODALITY, tuple(one.text[:80] for one in quoted[:2]))
    return None


def _asks(text: str) -> bool:
    """Whether a sentence is a question rather than a request or a reproach in the form of one."""
    ends = text.rstrip(" *_`)\"'").endswith("?") and '"="' not in text
    return ends and bool(words_of.ASKS.match(text)) and not words_of.REQUESTS.search(text)


def _quantity(claim: Claim) -> Objection | None:
    text = claim.text.casefold().replace("any more", "").replace("any longer", "")
    ours = [token.low for token in tokenize(text) if token.low in words_of.UNIVERSAL]
    theirs = {token.low for sentence in claim.evidence for token in sentence.tokens}
    is_denied = any(_negations(sentence.tokens) for sentence in claim.ground.quoted)
    if ours and not theirs & words_of.UNIVERSAL and not is_denied:
        return Objection(ObjectionKind.QUANTITY, tuple(ours))
    return None


def _passing(claim: Claim) -> Objection | None:
    """What holds for a while, told as if it held for good."""
    found = [match[0] for one in claim.ground.quoted if (match := words_of.PASSING.search(one.text))]
    if found and not words_of.PASSING.search(claim.text) and not words_of.TELLS_TIME.search(claim.text):
        return Objection(ObjectionKind.PASSING, tuple(found))
    return None


def _tense(claim: Claim) -> Objection | None:
    """What was so told as what is so, and what is wanted as what is done."""
    quoted, every = (" ".join(one.text for one in part) for part in (claim.ground.quoted, claim.evidence))
    if (former := words_of.FORMER.search(quoted)) and not words_of.IS_FORMER.search(claim.text):
        return Objection(ObjectionKind.TENSE, (former[0],))
    done = words_of.CLAIMS_DONE.search(claim.text)
    is_new = done is not None and done[0].casefold() == "already" and "already" not in every.casefold()
    if done and (is_new or not words_of.TELLS_DONE.search(every)):
        return Objection(ObjectionKind.TENSE, (done[0],))
    completed, is_past = words_of.COMPLETED.search(claim.text), words_of.PAST.search(quoted)
    if completed and not words_of.COMPLETES.search(quoted):
        return Objection(ObjectionKind.TENSE, (completed[0],))
    present = words_of.PRESENT.search(claim.text) if not words_of.TELLS_PAST.search(claim.text) else None
    if present and is_past and not words_of.NOT_PAST.search(quoted):
        return Objection(ObjectionKind.TENSE, (is_past[0],))
    return None


def _cause(claim: Claim) -> Objection | None:
    """A reason, where none was given. People put a comma in its place: both sides stand in one quoted sentence."""
    found, quoted = words_of.CAUSAL.search(claim.text), " ".join(one.text for one in claim.evidence)
    if not found or words_of.CAUSAL.search(quoted) or words_of.GIVES_REASON.search(quoted):
        return None
    ahead, behind = (
        [token for token in tokenize(text) if token.is_telling]
        for text in (claim.text[: found.start()], claim.text[found.end() :])
    )
    bags = [Bag(sentence.tokens) for sentence in claim.ground.quoted]
    if behind and any(all(map(bag.holds, behind)) and any(map(bag.holds, ahead)) for bag in bags):
        return None
    return Objection(ObjectionKind.NEW, (found[0],))


def _opposites() -> dict[str, frozenset[str]]:
    found: dict[str, set[str]] = {}
    for pair in re.split(r"[|\n]", words_of.OPPOSITES.strip()):
        one, other = map(find_root, pair.split())
        found.setdefault(one, set()).add(other)
        found.setdefault(other, set()).add(one)
    return {word: frozenset(others) for word, others in found.items()}


OPPOSITE_OF = _opposites()


def _opposite(claim: Claim) -> Objection | None:
    """A word whose opposite was said. Where one side alone says no, both say the same."""
    ours = {token.root for token in claim.tokens}
    if bool(_negations(claim.tokens)) is not any(_negations(one.tokens) for one in claim.ground.quoted):
        return None
    for token in claim.tokens:
        if not (token.is_telling or token.low in words_of.SMALL_OPPOSITES) or claim.quoted.holds_root(token.root):
            continue
        if claim.held.holds_root(token.root) and token.low not in ("before", "after"):
            continue
        for other in OPPOSITE_OF.get(token.root, ()):
            if claim.quoted.holds_root(other) and other not in ours:
                return Objection(ObjectionKind.OPPOSITE, (token.text, other))
    return _check_prefixes(claim, ours)


def _check_prefixes(claim: Claim, ours: set[str]) -> Objection | None:
    if _negations(claim.tokens) or any(_negations(one.tokens) for one in claim.ground.quoted):
        return None
    theirs = [token for one in claim.ground.quoted for token in one.tokens if token.is_telling]
    roots = {token.root for token in theirs}
    for added, tokens, others in ((True, claim.telling, roots), (False, theirs, ours)):
        for token in tokens:
            for prefix in words_of.TURNING:
                bare = find_root(token.low.removeprefix(prefix))
                is_turned = token.low.startswith(prefix) and len(token.low) - len(prefix) >= 4 and bare in others
                if is_turned and not (claim.held.holds(token) if added else claim.bag.holds(token)):
                    return Objection(ObjectionKind.OPPOSITE, (token.text, bare))
    return None


# -- which comes first, which is chosen ----------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Pair:
    """Two groups of words and what stands between them."""

    kind: str  # chosen, earlier, from
    one: frozenset[str]
    other: frozenset[str]


def _pairs(tokens: Sequence[Token]) -> Iterator[Pair]:
    """What a sentence puts before something else: `X instead of Y`, `X before Y`, `from X to Y`."""
    low = [token.low for token in tokens]

    def near(part: Sequence[Token], signs: str) -> frozenset[str]:
        return frozenset(token.root for token in _take_telling(part, signs))

    def find_left(at: int) -> frozenset[str]:
        return near(tokens[:at][::-1], ".;:!?")

    def find_right(at: int) -> frozenset[str]:
        return near(tokens[at:], ".;:!?,")

    for at, word in enumerate(low):
        behind = low[at + 1] if at + 1 < len(low) else ""
        if (word, behind) in (("instead", "of"), ("rather", "than")):
            yield Pair("chosen", find_left(at), find_right(at + 2))
        elif word == "not" and low[at - 1 : at] == [","]:
            yield Pair("chosen", find_left(at - 1), find_right(at + 1))
        elif word == "over" and words_of.FAVOURS & set(low[max(0, at - 6) : at]):
            yield Pair("chosen", find_left(at), find_right(at + 1))
        elif word == "before":
            yield Pair("earlier", find_left(at), find_right(at + 1))
        elif word == "after":
            yield Pair("earlier", find_right(at + 1), find_left(at))
        elif word == "from" and "to" in low[at + 1 : at + 9]:
            to = low.index("to", at + 1)
            yield Pair("from", near(tokens[at + 1 : to], ".;:!?"), find_right(to + 1))


def _order(claim: Claim) -> Objection | None:
    theirs = [pair for one in (*claim.ground.quoted, *claim.ground.beside) for pair in _pairs(one.tokens)]
    for ours in _pairs(claim.tokens):
        for pair in theirs:
            crossed = len((ours.one - pair.one) & pair.other) + len((ours.other - pair.other) & pair.one)
            straight = len(ours.one & pair.one) + len(ours.other & pair.other)
            is_exchanged = bool(ours.one & pair.other and ours.other & pair.one and not straight)
            if ours.kind == pair.kind and (is_exchanged or (crossed >= 2 and crossed > straight)):
                return Objection(ObjectionKind.ORDER, (*sorted(ours.one), *sorted(ours.other)))
    return None


def _check_order(claim: Claim) -> Objection | None:
    """The words of a quoted sentence in another order: what does something, put for what it is done to."""
    if any(token.low == "by" for token in claim.tokens):  # a passive
        return None
    ours = [token.root for token in claim.telling]
    if len(ours) > MOST_EXCHANGED:  # long sentences are told in an order of their own
        return None
    for sentence in claim.ground.quoted:
        theirs = [token.root for token in sentence.tokens if token.is_telling]
        common = [theirs.index(root) for root in ours if root in theirs]
        is_active = all(token.low != "by" for token in sentence.tokens)
        if is_active and len(set(common)) == len(common) >= MIN_EXCHANGED and len(common) >= MOST_COMMON * len(ours):
            pairs = list(itertools.combinations(common, 2))
            falls = sum(one > other for one, other in itertools.pairwise(common))
            is_fronted = falls == 1 and common[-1] < common[0]  # one stretch moved ahead, as it was
            if not is_fronted and sum(one > other for one, other in pairs) * 2 >= len(pairs):
                return Objection(ObjectionKind.ORDER, tuple(token.text for token in claim.telling))
    return None


def _counts(tokens: Iterable[Token]) -> list[tuple[str, str, str]]:
    """Every number with the telling word before and behind it: `phase 12`, `30 seconds`."""
    texts = list[str]()
    for token in tokens:
        glued = GLUED.fullmatch(token.text)
        parts = (
            [*glued.groups()] if glued else token.parts if token.is_word and token.text[0].isdigit() else [token.text]
        )
        texts += parts
    found = []
    for at, text in enumerate(texts):
        low = text.casefold()
        number = text if NUMBER.fullmatch(text) else words_of.NUMBERS.get(low)
        if number is not None and low not in words_of.NO_COUNT:
            before = (find_root(one.casefold()) for one in reversed(texts[max(0, at - 2) : at]) if _names(one))
            behind = (find_root(one.casefold()) for one in texts[at + 1 : at + 3] if _names(one))
            found.append((number, next(before, ""), next(behind, "")))
    return found


def _names(text: str) -> bool:
    return text[0].isalpha() and text.casefold() not in words_of.STOP_WORDS


def _check_counts(claim: Claim) -> Objection | None:
    """A number of one thing given to another, or in another unit."""
    ours = _counts(claim.tokens)
    theirs = [one for sentence in claim.evidence for one in _counts(sentence.tokens)] if ours else []
    for number, before, behind in ours:
        same = [one for one in theirs if one[0] == number]
        has_unit = behind in UNIT_ROOTS and any(one[2] in UNIT_ROOTS for one in same)
        if has_unit and not any(behind in one[1:] for one in same):
            return Objection(ObjectionKind.VALUE, (number, behind))
        for side, word in ((2, behind), (1, before)):
            others = any(one[side] == word and one[0] != number for one in theirs)
            is_alone = sum(one[side] == word for one in ours) < 2
            if word and others and is_alone and not any(one[side] == word for one in same):
                return Objection(ObjectionKind.VALUE, (number, word))
    return None


# -- what was not chosen, what was taken back ----------------------------------------------------------------------


def _check_refused(claim: Claim) -> Objection | None:
    """What the person turned down, or did not pick."""
    ground, telling = claim.ground, claim.telling
    own = Bag(token for part in (ground.quoted, ground.beside) for one in part for token in one.tokens)
    if ground.is_persons and ground.quoted and words_of.REFUSES.match(ground.quoted[0].text):
        offered = [token.text for token in telling if claim.held.holds(token) and not own.holds(token)]
        if len(offered) * 2 >= len(telling) > 0 and not _negations(claim.tokens):
            return Objection(ObjectionKind.REFUSED, tuple(offered))
    if ground.is_denied and not _negations(claim.tokens):
        return Objection(ObjectionKind.REFUSED, tuple(token.text for token in telling))
    passed_over = Bag(token for one in ground.not_chosen for token in one.tokens)
    taken = [token.text for token in telling if passed_over.holds(token) and not claim.held.holds(token)]
    return Objection(ObjectionKind.REFUSED, tuple(taken)) if taken else None


def _check_retracted(claim: Claim) -> Objection | None:
    ground, held = claim.ground, claim.bag
    behind = [one for one in ground.beside if one.is_behind and ground.is_persons]
    for sentence in (*behind, *ground.later):
        if words_of.RETRACTS.search(sentence.text):
            return Objection(ObjectionKind.RETRACTED, (sentence.text[:80],))
    for sentence in behind:
        telling = [token for token in sentence.tokens if token.is_telling]
        is_about = len(telling) <= 14 and any(map(held.holds, telling))
        if words_of.CORRECTS.match(sentence.text) and is_about:
            return Objection(ObjectionKind.RETRACTED, (sentence.text[:80],))
    for sentence in ground.quoted if ground.is_persons else ():
        match = words_of.RETRACTS.search(sentence.text)
        if match and match.start() > 10:
            return Objection(ObjectionKind.RETRACTED, (match[0],))
    return None


Check = Callable[[Claim], Objection | None]
CHECKS: tuple[Check, ...] = (
    _foreign,
    _values,
    _check_counts,
    _new,
    _negation,
    _modality,
    _quantity,
    _passing,
    _tense,
    _cause,
    _opposite,
    _order,
    _check_order,
    _check_refused,
    _check_retracted,
)
OF_VERBATIM: tuple[Check, ...] = (_foreign, _modality, _check_refused, _check_retracted)


# -- the lines of a reading -----------------------------------------------------------------------------------------


def keep_proved(reading: Reading, session: SessionTurns) -> Reading:
    """The reading with those lines alone that their quotes in the session support; of what else they end, nothing."""
    proved = (line for line in reading.lines if is_safe(line) and not find_objections(line.text, line.quotes, session))
    return msgspec.structs.replace(reading, lines=tuple(map(_end_the_same, proved)))


def _end_the_same(line: Line) -> Line:
    """A line that takes back nothing but what speaks of the same: nobody said what that is."""
    own = set(content_words(" ".join((line.text, *(quote.text for quote in line.quotes)))))
    is_same = len(own & set(content_words(line.takes_back))) >= SAME
    return line if is_same else msgspec.structs.replace(line, takes_back="")


def is_safe(line: Line) -> bool:
    """Whether nothing in a line is hidden or reads as if it were said to an assistant."""
    texts = (line.text, line.takes_back, *line.questions, *(quote.text for quote in line.quotes))
    return all(map(is_safe_text, texts))


def is_safe_text(text: str) -> bool:
    """Whether a text hides nothing and does not speak to an assistant."""
    return not (INJECTION.search(text) or HIDDEN.search(text.replace("\n", " ")))
