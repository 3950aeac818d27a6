"""What every digest holds, whoever read the session: goal, lines that hold beyond it, commits, what came of each
request, commands that did what others failed to do, and names letter by letter.

Identifiers are those of what was spoken and of what failed alone: the output of a tool holds thousands of versions that
nobody meant. Commands stand where they failed, among the errors: a line of those run most often (`git status`) made
sessions alike and their search worse, see benchmarks/RESULTS.md.
"""

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace

from crawler.compress.candidates import MIN_CHARS, DigestCandidate, SectionName, count_chars
from crawler.facts import SessionFacts
from crawler.reading.record import LineKind, Reading
from crawler.reading.rules import bears, find_goal
from crawler.transcripts.entry import PartKind
from crawler.transcripts.turns import Role, Turn
from memory_server.language.cues import ignore_case
from memory_server.language.sentences import FENCE, split_sentences, without_markup
from memory_server.language.shortening import clip
from memory_server.language.words import content_words

ROOMY_CHARS = 2_000  # of a digest, from which on identifiers have lines of their own; a short one quotes them at best
COMMITS_SHOWN = 40
MAX_CITED = 4  # entries of one statement
SECTION_OF = {LineKind.FINDING: SectionName.ERRORS, LineKind.LESSON: SectionName.ERRORS}  # others are decisions
REPLIES_BEFORE = 2  # in which options are looked for: people ask about them before they choose
MIN_CUT = 60  # characters: less of a request or a reply says nothing
FENCED_CHARS = 200  # of a block that stands in a reply like a sentence; a longer one is a listing
SHARE = 0.7  # of the room, as long as all lines have MIN_CUT; the rest tells how it was done
EXCHANGE_COST = 40  # characters of a line besides request and reply: its words, its references
OPTION = re.compile(r"^[\s>*-]*(?:\*\*)?(?:Option\s+)?\(?([A-Za-z]|\d{1,2})[).:](?:\*\*)?\s+(.+)$", re.MULTILINE)
OPTION_CHARS = 80
FIRST = ("a", "1")  # labels with which a list begins
LABEL = r"(?:options? |numbers? |#)?([a-z]|\d{1,2})"
LABELS = ignore_case(LABEL + r"(?![\w'])")
CHOICE = ignore_case(
    r"\W*(?:(?:ok(?:ay)?|yes|yeah|hm+|both|just|can you|i(?:'d| would)?|let'?s|like|prefer|want|say|think|do|go with"
    rf"|go for|take|try|use|implement|allow)[\s,]+)*({LABEL}(?:\s*(?:,|and|&|\+|or)\s*{LABEL})*)"
    r"(?=\s*(?:\Z|[.,;:)!]|\b(?:but|then|please|seems?|sounds?|looks?|is|does|would|feels?)\b))"
)
SETTLES = ignore_case(r"\b(?:let'?s|go with|go for|i (?:like|prefer|favou?r)|use|stick with|instead)\b")
SHORT = 200  # characters; a longer answer says by itself what it decides
IN_A_LINE = 4  # as many as a line can name entries
LINES_OF = {"Names": 3}  # one of the other kinds
IDENTIFIER_CHARS = 90  # of one identifier: it stands whole or not at all
SPEAKERS = frozenset({Role.PERSON, Role.ASSISTANT})
KINDS = {
    "Names": re.compile(
        r"(?<![\w/.-])(?:--[a-z][a-z0-9-]{2,}|[A-Z][A-Z0-9]*(?:_[A-Z0-9]+)+)(?![\w/])"
        r"|(?<=`)[a-z]{2}[a-z0-9]*(?:[_.][a-z0-9]+)+(?=[`:= ])"
    ),
    "Addresses": re.compile(
        r"https?://[^\s<>\"'`)\]]+(?<![.,;:!?*])|\b\d{1,3}(?:\.\d{1,3}){3}(?::\d{2,5})?\b"
        r"|\blocalhost:\d{2,5}\b"
    ),
    "Versions": re.compile(
        r"(?<![\w./-])v?\d+\.\d+\.\d+(?:-[A-Za-z][\w.]*)?(?![\w.-]*/)(?!\.?\d)\b|(?<=[Vv]ersion )\d+(?:\.\d+)+\b"
    ),
    "Error codes": re.compile(
        r"\bE(?:ACCES|ADDR|AGAIN|BADF|BUSY|CONN|EXIST|HOST|INVAL|IO|MFILE|NET|NOENT|NOMEM|NOSPC|NOTDIR|PERM|PIPE|TIMED|RR_)"
        r"[A-Z]*\b|\bTS\d{4,5}\b|\bERR_[A-Z_]+\b|\bCVE-\d{4}-\d+\b|\b(?:HTTP|status(?: code)?) [1-5]\d\d\b"
    ),
}


def list_duties(
    turns: Sequence[Turn],
    facts: SessionFacts,
    candidates: Iterable[DigestCandidate],
    reading: Reading,
    *,
    max_chars: int,
) -> list[DigestCandidate]:
    """The lines that a digest of `max_chars` characters owes, of the candidates those with names.

    `reading`: its lines are those that may stand in a memory.
    """
    goal_text, entries = find_goal(turns)
    goal = [DigestCandidate(SectionName.GOAL, reading.goal or goal_text, entries)] if goal_text else []
    lines = [
        *goal,
        *_lines(reading, entries),
        *_commits(facts),
        *(candidate for candidate in candidates if candidate.names),
    ]
    if max_chars >= ROOMY_CHARS:
        lines += list_identifiers(turns)
    in_goal = {line.entries[0] for line in goal}
    exchanges = [replace(one, request="") if one.entries[0] in in_goal else one for one in split_exchanges(turns)]
    return [*lines, *exchange_lines(exchanges, max_chars - sum(map(count_chars, lines)))]


def _lines(reading: Reading, entries: tuple[str, ...]) -> Iterator[DigestCandidate]:
    """What a model noted, and what it saw left open; rules note nothing that the rest of the digest does not hold."""
    for line in reading.lines if reading.is_by_model else ():
        cited = tuple(dict.fromkeys(quote.entry for quote in line.quotes))
        yield DigestCandidate(SECTION_OF.get(line.kind, SectionName.DECISIONS), line.text, cited)
    for text in reading.open:
        yield DigestCandidate(SectionName.OPEN, text, entries[:1])


def _commits(facts: SessionFacts) -> list[DigestCandidate]:
    return [
        DigestCandidate(
            SectionName.OUTCOME,
            f"Committed {commit.hash}: {clip(commit.subject, 120)}",
            commit.entries[-1:],
            names=(commit.hash,),
        )
        for commit in facts.commits[:COMMITS_SHOWN]
    ]


# -- exchanges ------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Exchange:
    """A request and the reply that settled it, each in one line; one of them may be empty."""

    request: str
    reply: str
    entries: tuple[str, ...]  # of the request, then of the reply
    is_decision: bool = False  # an option taken, which stands in the request

    @property
    def size(self) -> int:
        return len(self.request) + len(self.reply)

    def line(self, cut: int) -> str:
        """Both, each in at most `cut` characters."""
        request, reply = clip(self.request, cut), clip(self.reply, cut)
        opening = f"{'Decided' if self.is_decision else 'Asked'}: {request}" if request else ""
        return " → ".join(part for part in (opening, reply) if part)


def split_exchanges(turns: Iterable[Turn]) -> Iterator[Exchange]:
    """The exchanges of a session in their order, without what a rewind left."""
    request: Turn | None = None
    replies: list[Turn] = []
    before: list[str] = []
    for turn in turns:
        if turn.is_live and turn.role is Role.PERSON:
            yield from _exchange(request, replies, before)
            before = [*before, *(reply.text for reply in replies[-1:])][-REPLIES_BEFORE:]
            request, replies = turn, []
        elif turn.is_live and turn.role is Role.ASSISTANT and turn.kind is PartKind.TEXT:
            replies.append(turn)
    yield from _exchange(request, replies, before)


def _exchange(request: Turn | None, replies: Sequence[Turn], before: Sequence[str]) -> Iterator[Exchange]:
    """One or none: an announcement ("Let me look") settles nothing and stands only where there is no other reply."""
    settling = [turn for turn in replies if not bears(turn.text, "narrates")] or replies
    texts = [(turn, condense_text(turn.text)) for turn in (request, *settling[-1:]) if turn]
    decided = decision(request.text, before) if request else ""
    words = decided or (texts[0][1] if request else "")
    reply = texts[-1][1] if settling else ""
    if words or reply:
        entries = tuple(dict.fromkeys(turn.entries[0] for turn, text in texts if text))
        yield Exchange(words, reply, entries, is_decision=bool(decided))


def condense_text(text: str) -> str:
    """A text in one line, with the short blocks of code that belong to it and without what only leads up to it."""
    sentences = list(split_sentences(FENCE.sub(_inline, text)))
    telling = [one for one in sentences if one[0] == "`" or (len(one) >= MIN_CHARS and not bears(one, "narrates"))]
    return " ".join(one if one[-1] in ".!?:;,。！？" else f"{one};" for one in telling or sentences).rstrip(";")


def _inline(fenced: re.Match[str]) -> str:
    lines = [line.strip() for line in fenced[0].strip("`").splitlines()[1:]]
    code = "; ".join(line for line in lines if line)
    return f"\n`{code}`\n" if code and len(code) <= FENCED_CHARS else "\n"


def exchange_lines(exchanges: Sequence[Exchange], max_chars: int) -> list[DigestCandidate]:
    """A line an exchange, the last as the outcome, cut at the greatest length that fits SHARE of `max_chars`.

    A short request or reply is whole and a long one gives way. Where there are too many, those that say least go.
    """
    most = max(1, max_chars // (2 * MIN_CUT + EXCHANGE_COST))
    longest = sorted(sorted(range(len(exchanges)), key=lambda i: -exchanges[i].size)[:most])
    chosen = [exchanges[i] for i in longest]
    sizes = [len(text) for exchange in chosen for text in (exchange.request, exchange.reply)]
    cut = greatest_cut(sizes, int(max_chars * SHARE) - EXCHANGE_COST * len(chosen))
    sections = [SectionName.DECISIONS if one.is_decision else SectionName.EXCHANGES for one in chosen]
    lines = [DigestCandidate(at, one.line(cut), one.entries) for at, one in zip(sections, chosen, strict=True)]
    lines[-1:] = [replace(line, section=SectionName.OUTCOME) for line in lines[-1:]]
    return [line for line in lines if line.text]


def greatest_cut(sizes: Sequence[int], room: int) -> int:
    """The length at which texts must be cut to take `room` characters together; MIN_CUT at least."""
    left = room
    for done, size in enumerate(ordered := sorted(sizes)):
        share = left // (len(ordered) - done)
        if size > share:
            return max(share, MIN_CUT)
        left -= size
    return max([MIN_CUT, *sizes])


# -- what a short answer decided ------------------------------------------------------------------------------------


def decision(request: str, replies: Sequence[str]) -> str:
    """The answer with the option that it took, or among which; empty where it takes none of those offered last."""
    options = next((found for reply in reversed(replies) if len(found := parse_options(reply)) > 1), {})
    if not options or len(request) > SHORT:
        return ""
    answer = without_markup(request)
    if chosen := CHOICE.match(request):
        taken = [options[label] for label in map(str.lower, LABELS.findall(chosen[1])) if label in options]
        return f"{'; '.join(taken)} ({answer})" if taken else ""
    if "?" in request or not SETTLES.search(request):
        return ""
    words = set(content_words(request))
    named = [one for one in options.values() if words & set(content_words(one))]
    return f"{answer} (of: {'; '.join(options.values())})" if 0 < len(named) < len(options) else ""


def parse_options(reply: str) -> dict[str, str]:
    """The options of the last list of a reply that asks, by their letter or number."""
    options: dict[str, str] = {}
    if "?" not in reply:
        return options
    for label, text in OPTION.findall(FENCE.sub("", reply)):
        if label.lower() in FIRST:
            options = {}
        options[label.lower()] = clip(without_markup(text), OPTION_CHARS)
    return options


# -- identifiers ----------------------------------------------------------------------------------------------------


def list_identifiers(turns: Sequence[Turn]) -> Iterator[DigestCandidate]:
    """Lines of each kind with those named last, the last first, and the entries in which they were."""
    spoken = [turn for turn in turns if turn.role in SPEAKERS or (turn.role is Role.TOOL and turn.is_error)]
    for kind, pattern in KINDS.items():
        # the entry that the text of a turn stands in, or begins in: of a tool that is its result
        places = ((turn, turn.entries[-1] if turn.role is Role.TOOL else turn.entries[0]) for turn in spoken)
        named = ((match[0], entry) for turn, entry in places for match in pattern.finditer(turn.text))
        yield from _group_names(kind, named)


def _group_names(kind: str, found: Iterator[tuple[str, str]]) -> Iterator[DigestCandidate]:
    named: dict[str, str] = {}  # in the order of the last mention
    for name, entry in found:
        if len(name) <= IDENTIFIER_CHARS:
            named.pop(name, None)
            named[name] = entry
    names = list(reversed(named))[: LINES_OF.get(kind, 1) * IN_A_LINE]
    for start in range(0, len(names), IN_A_LINE):
        group = tuple(names[start : start + IN_A_LINE])
        entries = tuple(dict.fromkeys(named[name] for name in group))
        yield DigestCandidate(SectionName.IDENTIFIERS, f"{kind}: {', '.join(group)}", entries, names=group)
