"""The reader that asks a model: some sessions a call, each answer kept as soon as it is there.

What a session holds beside lines (requests that come back, failures) the program counts itself, so it is taken from the
reading by rules. An answer that is no list is asked for once more, with what was wrong; what it then passes over stays
unread, and is not asked for again in this run.
"""

import logging
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType

import msgspec

from crawler.facts import SessionFacts
from crawler.model.budget import CHARS_PER_TOKEN
from crawler.model.client import PaidModel
from crawler.quotes import SessionTurns
from crawler.reading.answer import UnreadableAnswer, parse_readings
from crawler.reading.lines import is_safe_text
from crawler.reading.page import render_page
from crawler.reading.prompt import MAX_OUTPUT_TOKENS, VERSION, build_prompt, group_pages
from crawler.reading.record import Outcome, Reading, Request
from memory_server.redaction import Redactor

logger = logging.getLogger(__name__)

OUTPUT_TOKENS = 450  # of a session's answer, as measured; see RESULTS.md


@dataclass(frozen=True, slots=True)
class Unread:
    """A session that no model has read in its present state."""

    session: SessionTurns
    facts: SessionFacts
    plain: Reading  # by rules

    def page(self, habits: Sequence[Sequence[Request]], met: Mapping[str, int]) -> str:
        """What a reader is shown of it; of the `habits` of all sessions it is asked about those that came last here."""
        own = [group for group in habits if group[0].quote.session_id == self.session.session_id]
        return render_page(self.session, self.facts, self.plain.outcome, own, met)


class ModelReader:
    """Reads by one model. What it answers is masked before it is kept."""

    def __init__(self, model: PaidModel, redactor: Redactor):
        self._model = model
        self._redactor = redactor

    @property
    def name(self) -> str:
        return self._model.name

    def read(
        self,
        unread: Sequence[Unread],
        habits: Sequence[Sequence[Request]] = (),
        met: Mapping[str, int] = MappingProxyType({}),
        topics: str = "",
    ) -> Iterator[Reading]:
        """The readings of these sessions, in their order as far as they are answered.

        `habits` and `met` are counted over all sessions (`repeats.py`); `topics`: a line each, of the same project.
        Raises Refused or LimitReached where the model is not to be had; what was read before is out by then.
        """
        pages = [one.page(habits, met) for one in unread]
        for one, page in zip(unread, pages, strict=True):
            if not page:  # nobody said anything that could be read
                yield msgspec.structs.replace(one.plain, reader=self.name, version=VERSION, lines=())
        readable = [place for place, page in enumerate(pages) if page]
        for group in group_pages([pages[place] for place in readable]):
            places = [readable[number] for number in group]
            yield from self._read([unread[place] for place in places], [pages[place] for place in places], topics)

    def _read(self, unread: Sequence[Unread], pages: Sequence[str], topics: str) -> Iterator[Reading]:
        complaint = ""
        for _ in range(2):
            prompt = build_prompt(pages, topics, complaint)
            answer = self._model.ask(prompt)
            try:
                found = {one.session_id: one for one in parse_readings(answer.text, [one.session for one in unread])}
            except UnreadableAnswer as error:
                complaint = str(error)
                continue
            read, written = answer.input_tokens or prompt.chars / CHARS_PER_TOKEN, answer.output_tokens
            for one, page in zip(unread, pages, strict=True):
                if reading := found.get(one.session.session_id):
                    share = len(page) / sum(map(len, pages))
                    yield self._finish_reading(reading, one, round(read * share), round(written * share))
            return
        names = ", ".join(one.session.session_id[:8] for one in unread)
        logger.warning("sessions %s: %s; they stay as rules read them", names, complaint)

    def _finish_reading(self, reading: Reading, one: Unread, read: int, written: int) -> Reading:
        lines = (
            msgspec.structs.replace(
                line,
                text=self._mask(line.text),
                takes_back=self._mask(line.takes_back),
                questions=tuple(map(self._mask, line.questions)),
                topic=self._mask(line.topic),
            )
            for line in reading.lines  # their quotes are words of the archive, masked before
        )
        is_proved = reading.outcome is not Outcome.SHIPPED or bool(reading.proof)
        return msgspec.structs.replace(
            reading,
            mark=one.plain.mark,
            reader=self.name,
            version=VERSION,
            title=self._safe(reading.title) or one.plain.title,
            goal=self._safe(reading.goal),
            outcome=reading.outcome if is_proved else one.plain.outcome,
            open=tuple(filter(None, map(self._safe, reading.open))),
            lines=tuple(lines),
            unfounded=tuple(map(self._mask, reading.unfounded)),
            requests=one.plain.requests,
            failures=one.plain.failures,
            input_tokens=read,
            output_tokens=written,
        )

    def _safe(self, text: str) -> str:
        """A text that stands in digests as it is; empty where it speaks to an assistant or hides something."""
        return self._mask(text) if is_safe_text(text) else ""

    def _mask(self, text: str) -> str:
        return self._redactor.redact(text).text


@dataclass(frozen=True, slots=True)
class Cost:
    """What reading some sessions takes, before a model is asked."""

    sessions: int
    calls: int
    input_tokens: int
    output_tokens: int

    @property
    def tokens(self) -> int:
        return self.input_tokens + self.output_tokens


def estimate_cost(unread: Sequence[Unread]) -> Cost:
    """What reading these sessions takes, the instructions of each call included."""
    pages = [page for one in unread if (page := one.page((), {}))]
    groups = list(group_pages(pages))
    chars = sum(build_prompt([pages[place] for place in group]).chars for group in groups)
    written = min(len(pages) * OUTPUT_TOKENS, len(groups) * MAX_OUTPUT_TOKENS)
    return Cost(len(pages), len(groups), int(chars / CHARS_PER_TOKEN), written)
