"""The compressor that asks a model, and never trusts it.

Around any client stand: the budget, asked before each call; retries with growing pauses where the service is busy; the
validation, after which one more attempt is made; and the extractive digest, which is written instead and says so
whenever one of these fails.
"""

import logging
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Protocol

from crawler.archive.store import SessionRecord
from crawler.compress.candidates import candidates_of
from crawler.compress.duties import duties_of
from crawler.compress.extractive import chars_for, compress_extractively
from crawler.compress.model.budget import Budget, Price
from crawler.compress.model.prompt import Prompt, prompt_for
from crawler.compress.model.validation import RejectedDigest, validated
from crawler.facts import SessionFacts
from crawler.transcripts.turns import Turn
from memory_server.layers.sessions import CompressedSession

logger = logging.getLogger(__name__)

ATTEMPTS = 4  # of one call, when the service is busy
FIRST_PAUSE_SECONDS = 2.0  # doubled after each attempt


@dataclass(frozen=True, slots=True)
class Completion:
    """What a model answered, and the tokens it counted."""

    text: str
    input_tokens: int = 0
    output_tokens: int = 0


class Busy(Exception):  # a signal between client and compressor
    """The service could not answer just then: too many requests, overload, no connection."""


class Refused(Exception):  # the same
    """The service will not answer, however often it is asked; the message says why."""


class ModelClient(Protocol):
    """A way to a model. Raises Busy where asking again may help, Refused where it will not."""

    @property
    def name(self) -> str: ...

    @property
    def price(self) -> Price: ...

    def complete(self, prompt: Prompt) -> Completion: ...


class PaidModel:
    """A client with its budget, asked before each call, and with retries where the service is busy.

    `pause` waits a number of seconds.
    """

    def __init__(self, client: ModelClient, budget: Budget, *, pause: Callable[[float], None]):
        self._client = client
        self._budget = budget
        self._pause = pause

    @property
    def name(self) -> str:
        return self._client.name

    @property
    def price(self) -> Price:
        return self._client.price

    def ask(self, prompt: Prompt) -> Completion:
        """The model's answer. Raises Refused where money, patience or the service says no."""
        price = self._client.price
        estimate = price.estimate(prompt.chars, prompt.max_output_tokens)
        if not self._budget.allows(estimate):
            raise Refused(f"the budget does not allow another {estimate:.4f} USD")
        self._budget.spend(estimate)
        try:
            completion = self._with_retries(prompt)
        except Refused:
            self._budget.spend(-estimate)
            raise
        self._budget.spend(price.of(completion.input_tokens, completion.output_tokens) - estimate)
        return completion

    def _with_retries(self, prompt: Prompt) -> Completion:
        seconds = FIRST_PAUSE_SECONDS
        for attempt in range(1, ATTEMPTS + 1):
            try:
                return self._client.complete(prompt)
            except Busy as error:
                if attempt == ATTEMPTS:
                    raise Refused(f"no answer after {ATTEMPTS} attempts: {error}") from error
                self._pause(seconds)
                seconds *= 2
        raise AssertionError("unreachable")


class ModelCompressor:
    """Compresses by a model behind one client. `pause` waits a number of seconds."""

    def __init__(self, client: ModelClient, budget: Budget, *, pause: Callable[[float], None]):
        self._model = PaidModel(client, budget, pause=pause)

    def compress(self, turns: Sequence[Turn], facts: SessionFacts, record: SessionRecord) -> CompressedSession:
        """The model's digest where it holds, the extractive one with the reason in `fallback` otherwise."""
        plain = compress_extractively(turns, facts, record)
        max_chars = chars_for(facts)
        duties = duties_of(turns, facts, candidates_of(turns, facts), max_chars=max_chars)
        complaint = ""
        for _ in range(2):
            try:
                prompt = prompt_for(turns, max_chars=max_chars, duties=duties, complaint=complaint)
                answer = self._model.ask(prompt)
                title, sections = validated(answer.text, turns, max_chars=max_chars, duties=duties)
            except RejectedDigest as error:
                complaint = str(error)
            except Refused as error:
                complaint = str(error)
                break
            else:
                return replace(plain, title=title, sections=sections, compressor=self._model.name)
        logger.warning("session %s: %s; the extractive digest is written", record.session_id, complaint)
        return replace(plain, fallback=f"{self._model.name}: {complaint}")

    def estimate(self, turns: Sequence[Turn], facts: SessionFacts) -> float:
        """The most that a session can cost in US dollars, with the second attempt."""
        max_chars = chars_for(facts)
        duties = duties_of(turns, facts, candidates_of(turns, facts), max_chars=max_chars)
        prompt = prompt_for(turns, max_chars=max_chars, duties=duties)
        return 2 * self._model.price.estimate(prompt.chars, prompt.max_output_tokens)
