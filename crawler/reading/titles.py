"""What a session is called: what it was about, not how it began.

In this order: the client's own title, the heading of a plan that the person accepted, the commit subject whose words
come back most, the first sentence of the person that tells something. What tells little (`fix these`, a bare command)
is followed by the branch or file that the session worked on. Order and numbers were chosen on two projects and measured
on three others; see RESULTS.md.
"""

import math
import re
from collections import Counter
from collections.abc import Iterator, Sequence

from crawler.facts import SessionFacts
from crawler.outcome import find_accepted_plan
from crawler.transcripts.entry import PartKind
from crawler.transcripts.turns import Role, Turn
from memory_server.language.cues import ignore_case
from memory_server.language.sentences import split_sentences
from memory_server.language.shortening import clip
from memory_server.language.words import content_words, stem

MAX_CHARS = 90
PLACE_CHARS = 60
MIN_CHARS = 24  # of a part of a sentence that stands as a title
ENOUGH_WORDS, PLENTY = 2, 3  # of telling words in a title; with fewer than plenty a place is named too
SENTENCES = 3  # of one request: what follows them is detail
ARGUMENT_CHARS = 2_000  # of a tool's call: enough for its names
WITHOUT_WORDS = "Session without words"

WORKFLOW_WORDS = frozenset(
    stem(word)
    for word in """
    activity add address addressed batch branch bug bugs bunch capture change changes check chore coderabbit comment
    comments commit complete context couple create doc docs error errors explain feat feedback few finding findings
    fix fixes generate issue issues item items last latest log main mark master md merge minor note notes pending
    phase plan pr project prs pull push quick read remaining repo repository resolve resolved review reviews run
    session state status stuff task tasks test tests todo todos update updated valid various work write
    """.split()
)  # said of any session's work
ELSEWHERE = re.compile(r"https?://\S+|(?<!\S)[~@]?/\S+")  # an address or a path from the root tells where, not what
HEADING = re.compile(r"^#+\s*(?:(?:implementation )?plan\b\s*[:–—-]\s*)?(.+)$", re.MULTILINE | re.IGNORECASE)
COMMIT_TYPE = re.compile(r"^\w+(?:\([^)]*\))?!?:\s*")
LEAD = ignore_case(
    r"^(?:(?:ok(?:ay)?|hey|hi|hello|claude|so|and|now|also|just|yeah|yes|please|thanks?|thank you)\b[\s,.!:-]*)*"
    r"(?:(?:can|could|would) (?:you|we)\s+|i(?:'d| would) like (?:you )?to\s+|i want (?:you )?to\s+|let'?s\s+"
    r"|(?:we )?need to\s+)?(?:(?:please|also|just|then)\s+)*"
)
ASIDE = re.compile(r"\s*\([^()]*\)")
CLAUSE = re.compile(r", (?:and |but )?| [-–] |: ")
NO_REQUEST = ignore_case(r"(?:you are|you're|act as)\b|[❯$%#>]\s")  # a role to play, a line out of a terminal
POINTING = ignore_case(r"\b(?:it|this|these|those|they|them|there (?:is|are))\b")
END = ".?!:;, …"


def make_title(turns: Sequence[Turn], facts: SessionFacts) -> str:
    """A line of at most MAX_CHARS characters."""
    given = facts.title or next(_plans(turns), "")
    return clip(given, MAX_CHARS) if given else _Wording(turns).title(turns, facts)


def _plans(turns: Sequence[Turn]) -> Iterator[str]:
    """The headings of plans that the person accepted."""
    for turn in turns:
        heading = HEADING.search(turn.text if turn.kind is PartKind.PLAN else find_accepted_plan(turn))
        if heading:
            yield heading[1].strip(" *")


class _Wording:
    """Which words of a session tell what it is about: those that come back in another turn."""

    def __init__(self, turns: Sequence[Turn]):
        self._counts = Counter(
            word
            for turn in turns
            for word in set(content_words(turn.arguments[:ARGUMENT_CHARS] if turn.role is Role.TOOL else turn.text))
        )

    def title(self, turns: Sequence[Turn], facts: SessionFacts) -> str:
        requests = [turn for turn in turns if turn.role is Role.PERSON and turn.is_live]
        commits = [clip(COMMIT_TYPE.sub("", commit.subject), MAX_CHARS) for commit in facts.commits]
        telling = [line for line in commits if len(self._telling(line)) >= ENOUGH_WORDS]
        line = max(telling, key=self._weight, default="") or next(self._find_sentences(requests), "")
        if len(self._telling(line)) >= PLENTY:
            return line
        if line:
            return self._with_place(line, facts) or line
        line = next(iter([*commits, *_first(requests)]), "")
        if placed := self._with_place(line, facts, cut=True):
            return placed
        return line if self._telling(line) else self._with_reply(line, turns)

    def _telling(self, line: str) -> set[str]:
        words = set(content_words(ELSEWHERE.sub("", line))) - WORKFLOW_WORDS
        return {word for word in words if self._counts[word] > 1 and not word.isdigit()}

    def _weight(self, line: str) -> float:
        """How much a line tells for its length."""
        words = len(set(content_words(line)))
        return sum(math.log(self._counts[word]) for word in self._telling(line)) / math.sqrt(max(words, 4))

    def _find_sentences(self, requests: Sequence[Turn]) -> Iterator[str]:
        """Sentences of the person, or parts of them, that tell something; one that points elsewhere must tell more."""
        for request in requests:
            text = request.text.partition(" ")[2] if request.text.startswith("/") else request.text
            for sentence in list(split_sentences(text))[:SENTENCES]:
                lines = [] if NO_REQUEST.match(sentence) else list(_parts(sentence))
                lines = [x for x in lines if len(self._telling(x)) >= ENOUGH_WORDS + len(POINTING.findall(x))]
                if lines:
                    yield next((x for x in lines if len(self._telling(x)) >= PLENTY), lines[0])

    def _with_place(self, line: str, facts: SessionFacts, *, cut: bool = False) -> str:
        """The line with the branch or file that tells most beside it; empty where none tells more, or without room."""
        places = [facts.branch.rpartition("/")[2], *("/".join(one.path.split("/")[-2:]) for one in facts.touched)]
        place = clip(max(places, key=lambda one: len(self._telling(one))), PLACE_CHARS)
        short, room = line.rstrip(END), MAX_CHARS - len(place) - 2
        if self._telling(place) <= self._telling(line) or (len(short) > room and not cut):
            return ""
        return f"{clip(short, room)}: {place}" if short else place

    def _with_reply(self, line: str, turns: Sequence[Turn]) -> str:
        """What tells nothing of its own, with the sentence of the answers that tells most."""
        replies = [turn.text for turn in turns if turn.role is Role.ASSISTANT and turn.kind is PartKind.TEXT]
        reply = max((one for text in replies for one in split_sentences(text)), key=self._weight, default="")
        joined = ": ".join(part for part in (line.rstrip(END), reply) if part)
        return clip(joined, MAX_CHARS) or WITHOUT_WORDS


def _parts(sentence: str) -> Iterator[str]:
    """A sentence without what leads up to it; of one too long its clauses too."""
    whole = _without_lead(sentence.rstrip("\\"))
    yield clip(whole if len(whole) <= MAX_CHARS else ASIDE.sub("", whole), MAX_CHARS)
    if len(whole) > MAX_CHARS:
        ends = (edge.end() for edge in CLAUSE.finditer(whole))
        yield from (clip(_without_lead(whole[end:]), MAX_CHARS) for end in ends if len(whole) - end >= MIN_CHARS)


def _without_lead(text: str) -> str:
    return LEAD.sub("", text) or text


def _first(requests: Sequence[Turn]) -> list[str]:
    """The first words of the person that are more than a greeting, a command as it stands."""
    sentences = [next(split_sentences(turn.text), " ".join(turn.text.split())) for turn in requests]
    return [_without_lead(sentence) for sentence in sentences if len(sentence) >= 8 or sentence[:1] == "/"][:1]
