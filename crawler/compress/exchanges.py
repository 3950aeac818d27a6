"""What a person asked for and what came of it: the last reply before they moved on."""

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace

from crawler.compress.candidates import MIN_CHARS, DigestCandidate, SectionName
from crawler.compress.decisions import decision
from crawler.reading.signs import bears
from crawler.transcripts.entry import PartKind
from crawler.transcripts.turns import Role, Turn
from memory_server.escaping import clip
from memory_server.language.sentences import FENCE, split_sentences

REPLIES_BEFORE = 2  # in which options are looked for: people ask about them before they choose
MIN_CUT = 60  # characters: less of a request or a reply says nothing
FENCED_CHARS = 200  # of a block that stands in a reply like a sentence; a longer one is a listing
SHARE = 0.7  # of the room, as long as all lines have MIN_CUT; the rest tells how it was done
EXCHANGE_COST = 40  # characters of a line besides request and reply: its words, its references


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
