"""Compression by the models that trainers serve: `trainer_client.py` as a client of the compressor.

Which machines are asked, and in which order, says `ONEIROS_TRAINER_URLS`. Nothing is paid for.
"""

from dataclasses import dataclass, field

from crawler.compress.model.budget import Price
from crawler.compress.model.compressor import Busy, Completion
from crawler.compress.model.prompt import Prompt
from memory_server.errors import OneirosError
from oneiros.ingest.trainer_client import TrainerClient


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
