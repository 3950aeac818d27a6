"""A model as its callers see it: a request, an answer, a budget asked before each call, patience with a busy service.

Nothing here believes an answer; whoever asked checks it.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Protocol

from crawler.model.budget import CHARS_PER_TOKEN, Budget, Price

ATTEMPTS = 4  # of one call, when the service is busy
FIRST_PAUSE_SECONDS = 2.0  # doubled after each attempt
MAX_TOKENS = 10**9  # that one call is believed to have taken, in or out
TIME_OVER = "the time is over"


@dataclass(frozen=True, slots=True)
class Prompt:
    """One request: what to do, and the data to do it with."""

    instructions: str
    session: str
    max_output_tokens: int

    @property
    def chars(self) -> int:
        return len(self.instructions) + len(self.session)


@dataclass(frozen=True, slots=True)
class Completion:
    """What a model answered, and the tokens it counted; 0 where the service does not count."""

    text: str
    input_tokens: int = 0
    output_tokens: int = 0

    def count_tokens(self, prompt: Prompt) -> int:
        """What the call took together, estimated where nobody counted."""
        counted = self.input_tokens + self.output_tokens
        return counted or int((prompt.chars + len(self.text)) / CHARS_PER_TOKEN)

    def bound_counts(self) -> "Completion":
        """The same with counts that a call can have: nothing that a service counts gives back what was spent."""
        counts = (min(max(0, count), MAX_TOKENS) for count in (self.input_tokens, self.output_tokens))
        return Completion(self.text, *counts)


class Busy(Exception):  # a signal between client and caller
    """The service could not answer just then: too many requests, overload, no connection."""


class Refused(Exception):  # the same
    """The service will not answer, however often it is asked; the message says why."""


class LimitReached(Refused):
    """A subscription's usage limit, or a budget: nothing more before the next day."""


class ModelClient(Protocol):
    """A way to a model. Raises Busy where asking again may help, Refused where it will not."""

    @property
    def name(self) -> str: ...

    @property
    def price(self) -> Price: ...

    def complete(self, prompt: Prompt) -> Completion: ...


class PaidModel:
    """A client with its budget, asked before each call, and with retries where the service is busy.

    `pause` waits a number of seconds. `is_over`: nothing more is asked then, whoever asks.
    """

    def __init__(
        self,
        client: ModelClient,
        budget: Budget,
        *,
        pause: Callable[[float], None],
        is_over: Callable[[], bool] = lambda: False,
    ):
        self._client = client
        self._budget = budget
        self._pause = pause
        self._is_over = is_over

    @property
    def name(self) -> str:
        return self._client.name

    @property
    def price(self) -> Price:
        return self._client.price

    def ask(self, prompt: Prompt) -> Completion:
        """The model's answer. Raises LimitReached where the time is over, or money or tokens of the day are spent,
        Refused where patience ends or the service says no.
        """
        if self._is_over():
            raise LimitReached(TIME_OVER)
        price = self._client.price
        estimate = price.estimate(prompt.chars, prompt.max_output_tokens)
        if refusal := self._budget.refusal(estimate, int(prompt.chars / CHARS_PER_TOKEN)):
            raise LimitReached(refusal)
        self._budget.spend(estimate)
        try:
            completion = self._with_retries(prompt).bound_counts()
        except LimitReached as error:
            self._budget.spend(-estimate)
            self._budget.stop(str(error))
            raise
        except BaseException:  # also an interruption: what was not answered is not spent
            self._budget.spend(-estimate)
            raise
        cost = price.compute_cost(completion.input_tokens, completion.output_tokens)
        self._budget.spend(cost - estimate, tokens=completion.count_tokens(prompt))
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
