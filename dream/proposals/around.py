"""What was said around a quote: the prompt before, the prompt, and the end of the reply.

That is what a person needs to judge a statement; the whole session is read with `drill` or on the page.
"""

from dataclasses import dataclass

from crawler.archive.store import Archive
from crawler.quotes import Quote
from crawler.transcripts.entry import PartKind
from crawler.transcripts.turns import Role, Turn
from memory_server.errors import ContentError

NEAR_CHARS = 600  # of a turn, on each side of the quote; of a reply its end
SPOKEN = frozenset({PartKind.TEXT, PartKind.PLAN})  # what the assistant tells the person


@dataclass(frozen=True, slots=True)
class Heard:
    """Words of one turn."""

    role: Role
    text: str  # cut to what is near, with … where something was left out
    first: int = 0  # where the quote begins in it, and ends; both 0 where it does not stand in it
    end: int = 0


def read_context(archive: Archive, quote: Quote) -> list[Heard]:
    """The words around a quote, in their order. Raises ContentError where the archive has it no longer."""
    turns = list(archive.turns(quote.session_id))
    place = next((at for at, turn in enumerate(turns) if quote.entry in turn.entries), None)
    if place is None or turns[place].text[quote.first : quote.end] != quote.text:
        raise ContentError("the archive does not hold these words any more", where=f"session {quote.session_id[:8]}")
    prompts = [at for at, turn in enumerate(turns) if turn.is_prompt or (at == place and turn.role is Role.PERSON)]
    prompt = max((at for at in prompts if at <= place), default=place)
    before = max((at for at in prompts if at < prompt), default=None)
    following = min((at for at in prompts if at > prompt), default=len(turns))
    replies = [
        at for at in range(prompt + 1, following) if turns[at].role is Role.ASSISTANT and turns[at].kind in SPOKEN
    ]
    places = {*([] if before is None else [before]), prompt, place, *replies[-1:]}
    return [_heard(turns[at], quote if at == place else None) for at in sorted(places)]


def _heard(turn: Turn, quote: Quote | None) -> Heard:
    """A turn near its quote, or the end of it."""
    if quote is None:
        return Heard(turn.role, f"…{turn.text[-NEAR_CHARS:]}" if len(turn.text) > NEAR_CHARS else turn.text)
    first, end = max(0, quote.first - NEAR_CHARS), quote.end + NEAR_CHARS
    lead = "…" if first else ""
    text = f"{lead}{turn.text[first:end]}{'…' if end < len(turn.text) else ''}"
    begin = len(lead) + quote.first - first
    return Heard(turn.role, text, begin, begin + len(quote.text))
