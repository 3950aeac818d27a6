"""What a statement may rest on: the words that somebody said, cut into words that can be compared.

The ground of a quote is its sentence, the others of its turn, and what that turn answers. Never on it: what was pasted,
what a tool printed, what was offered and not chosen.
"""

import itertools
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from functools import cached_property, lru_cache

from crawler.facts import ASKING_TOOL
from crawler.quotes import Quote, SessionTurns
from crawler.reading import proof_words as words_of
from crawler.spoken import OPTION, find_picked, find_spoken, parse_questions, prose_regions
from crawler.transcripts.turns import Role, Turn
from memory_server.language.sentences import Span, sentence_spans

TOKEN = re.compile(r"[^\W_]\w*(?:[./:@#+*'’_-]+\w+)*|[^\s\w]|_")
PART = re.compile(r"[./:@#+*'’_-]+|(?<=[a-z0-9])(?=[A-Z])")
BLOCK = re.compile(r"^[ \t]*(?:```|~~~).*?(?:^[ \t]*(?:```|~~~)[ \t]*$|\Z)|^[ \t]*>.*?$", re.DOTALL | re.MULTILINE)
OPENS, CLOSES = '"“‘«', '"”’»'
LONG_SESSION = 6  # turns, from which on the whole session may name what a statement is about
SESSION_CHARS = 20_000  # of one turn of it
ANSWERED_SENTENCES = 60  # at the end of the reply that a person answers
LATER_SENTENCES = 2  # of the person's next words, in which something may be taken back


# -- words ---------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Token:
    """A word or a sign of a sentence."""

    text: str
    place: int

    @property
    def low(self) -> str:
        return self.text.casefold().replace("’", "'")

    @property
    def root(self) -> str:
        return find_root(self.low) if self.is_word else self.text

    @property
    def is_word(self) -> bool:
        return self.text[0].isalnum()

    @property
    def is_telling(self) -> bool:
        return self.is_word and self.low not in words_of.STOP_WORDS and (len(self.text) > 1 or self.text.isdigit())

    @property
    def parts(self) -> list[str]:
        """The words that an identifier or a joined word is made of."""
        return [part for part in PART.split(self.text) if part]


def tokenize(text: str) -> list[Token]:
    """The words and signs of a text, in order."""
    return [Token(match[0], place) for place, match in enumerate(TOKEN.finditer(text.replace("`", " ")))]


@lru_cache(maxsize=50_000)
def find_root(word: str) -> str:
    """A word without its commonest endings: `deploy`, `deploys` and `deployed` are one."""
    word = word.removesuffix("'s")
    word = words_of.IRREGULAR.get(word, word)
    if not word.isalpha() or len(word) <= 3:
        return word
    for ending, instead in words_of.ENDINGS:
        is_none = ending == "s" and word.endswith(("ss", "us", "is"))
        if word.endswith(ending) and len(word) - len(ending) >= 3 and not is_none:
            word = word.removesuffix(ending) + instead
            break
    if len(word) > 3 and word[-1] == word[-2] and word[-1] not in "aeiouls":
        word = word[:-1]
    word = words_of.IRREGULAR.get(word, word)
    return word[:-1] if len(word) > 3 and word.endswith("e") else word


@lru_cache(maxsize=50_000)
def are_akin(one: str, other: str) -> bool:
    """Whether two roots are forms of one word: `encrypt` and `encryption`."""
    shorter = min(len(one), len(other))
    if one == other or shorter < 5 or not (one.isalpha() and other.isalpha()):
        return one == other
    common = next((at for at, (a, b) in enumerate(zip(one, other, strict=False)) if a != b), shorter)
    return common >= max(5, shorter - 2) and abs(len(one) - len(other)) <= 4


class Bag:
    """What some sentences hold, asked word by word: roots, and parts of identifiers."""

    def __init__(self, tokens: Iterable[Token]):
        self._held: set[str] = set()
        self._by_start: dict[str, set[str]] = {}
        for token in tokens:
            parts, found = token.parts, {token.root, token.low}
            if len(parts) > 1:
                found |= {find_root(part.casefold()) for part in parts} | {"".join(parts).casefold()}
            self._held |= found
            for word in found:
                self._by_start.setdefault(word[:4], set()).add(word)

    def holds(self, token: Token) -> bool:
        """Whether a word is there, in whatever form."""
        if {token.root, token.low} & self._held:
            return True
        parts = [part.casefold() for part in token.parts]
        if len(parts) > 1 and (
            "".join(parts) in self._held or all({part, find_root(part)} & self._held for part in parts)
        ):
            return True
        return any(are_akin(token.root, word) for word in self._by_start.get(token.root[:4], ()))

    def holds_root(self, root: str) -> bool:
        return root in self._held


# -- the ground ----------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Sentence:
    """One sentence of somebody's own."""

    text: str
    tokens: tuple[Token, ...]
    is_behind: bool = False  # whether it follows the quotes of its turn

    @classmethod
    def of(cls, text: str, *, is_behind: bool = False) -> "Sentence":
        return cls(text, tuple(tokenize(text)), is_behind)


@dataclass
class Ground:
    """What a statement may rest on."""

    quoted: list[Sentence] = field(default_factory=list)  # the sentences that the quotes stand in
    beside: list[Sentence] = field(default_factory=list)  # the others of their turns
    answered: list[Sentence] = field(default_factory=list)  # of what these turns answer
    later: list[Sentence] = field(default_factory=list)  # how the person's next words begin
    not_chosen: list[Sentence] = field(default_factory=list)  # options that were offered and not picked
    is_denied: bool = False  # whether the person answered no to the client's question that is quoted
    is_persons: bool = False  # whether the first quote is the person's
    is_foreign: bool = False  # whether the quotes are mostly nobody's own words here
    spoken: Sequence[Turn] = ()  # the whole session
    names: frozenset[str] = frozenset()  # of the project

    @cached_property
    def session(self) -> Bag | None:
        """Of a long session, all that was said in it: gathered where it is asked for."""
        if len(self.spoken) <= LONG_SESSION:
            return None
        return Bag(token for turn in self.spoken for token in tokenize(turn.text[:SESSION_CHARS]))

    def bag(self) -> Bag:
        return Bag(token for part in (self.quoted, self.beside, self.answered) for one in part for token in one.tokens)


def gather_ground(quotes: Sequence[Quote], session: SessionTurns) -> Ground:
    """The ground under some quotes of a session."""
    spoken = list(session.spoken_turns)
    places: dict[int, list[Quote]] = {}
    for quote in quotes:
        for place, turn in enumerate(spoken):
            if quote.entry in turn.entries:
                places.setdefault(place, []).append(quote)
    project = session.project.casefold()
    ground = Ground(
        is_persons=quotes[0].role is Role.PERSON,
        is_foreign=not places,
        spoken=spoken,
        names=frozenset({project, project.replace("-", ""), *re.split(r"[\W_]+", project)} - {""}),
    )
    own = whole = 0
    for place, cited in sorted(places.items()):
        turn, spans = spoken[place], find_own_spans(spoken[place])
        for first, end in _sentences(turn.text, spans):
            is_quoted = any(first < quote.end and quote.first < end for quote in cited)
            sentence = Sentence.of(turn.text[first:end], is_behind=all(first >= quote.end for quote in cited))
            (ground.quoted if is_quoted else ground.beside).append(sentence)
        for quote in cited:
            own += sum(max(0, min(end, quote.end) - max(first, quote.first)) for first, end in spans)
            whole += quote.end - quote.first
            ground.is_foreign |= is_reported(turn, quote)
        _add_question(ground, turn, cited)
        if place and place - 1 not in places:
            _add_answered(ground, spoken[place - 1], turn)
        following = next((one for one in range(place + 1, len(spoken)) if spoken[one].role is Role.PERSON), place)
        if following not in places:
            text = spoken[following].text
            spans = _sentences(text, find_own_spans(spoken[following]))[:LATER_SENTENCES]
            ground.later += [Sentence.of(text[first:end]) for first, end in spans]
    ground.is_foreign |= bool(whole) and own * 2 < whole
    return ground


def find_own_spans(turn: Turn) -> list[Span]:
    """Where whoever speaks in a turn speaks in their own words: not what was pasted, quoted or shown as code."""
    if turn.role is not Role.PERSON:
        edges = [(0, 0), *(match.span() for match in BLOCK.finditer(turn.text)), (len(turn.text), len(turn.text))]
        between = ((before[1], after[0]) for before, after in itertools.pairwise(edges))
        return [(first, end) for first, end in between if first < end]
    found = list[Span]()
    for part in find_spoken(turn):
        if part.is_chosen or part.question:
            found.append((part.first, part.end))
        else:
            regions = prose_regions(turn.text[part.first : part.end])
            found += [(part.first + first, part.first + end) for first, end in regions]
    return found


def _sentences(text: str, spans: Iterable[Span]) -> list[Span]:
    return [(start + first, start + end) for start, stop in spans for first, end in sentence_spans(text[start:stop])]


def _add_answered(ground: Ground, reply: Turn, answer: Turn) -> None:
    """What an answer answers: of a list that it picks from, what it picked."""
    picked = list(find_picked(reply.text, answer.text)) if answer.role is Role.PERSON else []
    options = [match.span("text") for match in OPTION.finditer(reply.text)] if picked else []
    for first, end in _sentences(reply.text, find_own_spans(reply))[-ANSWERED_SENTENCES:]:
        is_option, is_picked = (any(a < end and first < b for a, b in part) for part in (options, picked))
        sentence = Sentence.of(reply.text[first:end])
        (ground.not_chosen if is_option and not is_picked else ground.answered).append(sentence)


def _add_question(ground: Ground, turn: Turn, cited: Sequence[Quote]) -> None:
    """What the client asked, where its answer is quoted: the options that were not chosen, and whether it was a no."""
    labels = dict(parse_questions(turn))
    for part in find_spoken(turn) if turn.tool == ASKING_TOOL else ():
        if part.question and any(part.first < quote.end and quote.first < part.end for quote in cited):
            answer = turn.text[part.first : part.end].rpartition(part.question)[2]
            others = (label for label in labels.get(part.question, ()) if label not in answer)
            ground.not_chosen += [Sentence.of(label) for label in others]
            ground.is_denied |= words_of.REFUSES.match(answer) is not None


def is_reported(turn: Turn, quote: Quote) -> bool:
    """Whether a quote stands in quotation marks within a line: what somebody or something else says."""
    line = turn.text[turn.text.rfind("\n", 0, quote.first) + 1 : quote.first].rstrip()
    behind = turn.text[quote.end - 1 : quote.end + 2]
    is_short = len(quote.text.split()) < 4 or len(line.split()) < 2
    is_marked = bool(line) and line[-1] in OPENS and any(mark in behind for mark in CLOSES)
    return is_marked and not is_short and turn.tool != ASKING_TOOL
