"""A model that answers what it is given, for tests of whatever asks one."""

from crawler.model.budget import Price
from crawler.model.client import Completion, Prompt, Refused


class ScriptedModel:
    """A client that gives one answer to every prompt, or refuses where there is none. It keeps the prompts."""

    name = "scripted"

    def __init__(self, answer: str | None, price: Price | None = None):
        self._answer = answer
        self.price = price or Price()
        self.prompts: list[Prompt] = []

    def complete(self, prompt: Prompt) -> Completion:
        self.prompts.append(prompt)
        if self._answer is None:
            raise Refused("the service says no")
        return Completion(self._answer)
