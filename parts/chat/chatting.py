"""Puts a chat together from the person's settings; nothing is sent anywhere until one of them names a back end."""

from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import partial

from crawler.archived import ArchivedSessions
from crawler.model.budget import Price
from memory_server.errors import OneirosError, UsageError
from memory_server.layers.topics import read_text
from memory_server.machine.files import is_plain_file
from memory_server.redaction import Redactor
from memory_server.root.paths import MemoryRoot
from oneiros.environment import Environment, now
from oneiros.ingest.settings import archive_folder, spending
from parts.chat.backends.openai_compatible import build_messages
from parts.chat.backends.table import BACK_ENDS, ChatService
from parts.chat.context import Recall, build_source_reader
from parts.chat.conversations import Conversations
from parts.chat.records import BackEnd, BackEndFailed, ChatPrompt, Piece
from parts.chat.turn import Chat
from parts.trainers.client import TrainerClient, parse_machines

NO_BACK_END = "no model is set that could answer"


@dataclass(frozen=True, slots=True)
class TrainerBackEnd:
    """The models that trainers serve: the first machine that can answer, and no other behind its first piece."""

    trainers: TrainerClient
    price: Price = field(default_factory=Price)  # machines of our own cost nothing a token
    name: str = "trainer"
    cites: bool = False

    def stream(self, prompt: ChatPrompt) -> Iterator[Piece]:
        try:
            yield from self.trainers.stream(build_messages(prompt), max_tokens=prompt.max_output_tokens)
        except OneirosError as error:
            raise BackEndFailed(f"trainer: {error.what}", remedy=error.remedy) from error


def open_conversations(environment: Environment, root: MemoryRoot) -> Conversations:
    """The conversations with a memory."""
    redactor = Redactor(environment.person.deny_words)
    return Conversations(root.chats, mask=lambda text: redactor.redact(text).text, now=now)


def build_chat(environment: Environment, root: MemoryRoot, recall: Recall) -> Chat:
    """Chats with a memory, by the settings of the environment; where a process lives long, it gives a fresh one."""
    store = ArchivedSessions(archive_folder(root), root.sessions)
    return Chat(
        open_conversations(environment, root),
        recall=recall,
        look=partial(build_source_reader, root, store),
        index_page=lambda: read_text(root.index_page) if is_plain_file(root.index_page) else "",
        back_end=lambda: build_back_end(environment, root),
        budget=lambda: spending(environment, root, now()),
        max_tokens=environment.person.chat_tokens,
    )


def build_back_end(environment: Environment, root: MemoryRoot) -> BackEnd:
    """The back end of the person's settings. Raises UsageError where they name none."""
    person = environment.person
    if not person.chat_backend:
        raise UsageError(NO_BACK_END, remedy="Choose one, such as `oneiros config chat_backend claude-cli`")
    if person.chat_backend == "trainer":
        return TrainerBackEnd(TrainerClient(parse_machines(environment.variables)))
    service = ChatService(
        model=person.chat_model,
        url=person.chat_url,
        api_key=environment.variables.get(person.chat_key_variable, ""),
        price=Price(person.chat_usd_in, person.chat_usd_out),
        folder=root.derived_folder / "claude-cli",
        variables=environment.variables,
    )
    return BACK_ENDS[person.chat_backend](service)
