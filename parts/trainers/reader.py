"""Readings by the models that trainers serve."""

from dataclasses import dataclass, field

from crawler.model.budget import Price
from crawler.model.client import Busy, Completion, Prompt
from memory_server.errors import OneirosError
from oneiros.environment import Environment
from parts.trainers.client import TrainerClient, parse_machines


def build_reader(environment: Environment) -> "TrainerModelClient":
    """The trainers that the environment names, as a reader of sessions."""
    return TrainerModelClient(TrainerClient(parse_machines(environment.variables)))


@dataclass(frozen=True, slots=True)
class TrainerModelClient:
    """Asks the first machine that can answer."""

    trainers: TrainerClient
    price: Price = field(default_factory=Price)  # machines of our own cost nothing a token
    name: str = "trainer"

    def complete(self, prompt: Prompt) -> Completion:
        messages = [{"role": "system", "content": prompt.instructions}, {"role": "user", "content": prompt.session}]
        try:
            return Completion(self.trainers.complete(messages, max_tokens=prompt.max_output_tokens))
        except OneirosError as error:
            raise Busy(str(error)) from error
