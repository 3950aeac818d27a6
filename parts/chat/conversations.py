"""Conversations with a memory, a file each below `chats/`: lines are added, none is ever changed.

They are for the person to read again, and for nothing else: no source of the memory lies there, git ignores the folder,
and what is written is masked first. A line that a kill left torn is skipped and counted.
"""

import datetime as dt
import json
import re
import secrets
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from crawler.transcripts.injected import CHAT_MARK, EXPORT_MARK
from memory_server.errors import ContentError, NeedsRepair, UsageError
from memory_server.escaping import escape_line, escape_text
from memory_server.machine.files import append_line, is_plain_file, make_folder, remove_file, replace_file
from parts.chat.citations import Citation
from parts.chat.records import EarlierTurn

TITLE_CHARS = 80
ID = re.compile(r"\d{8}-\d{6}-[0-9a-f]{4}")
IGNORED = "# Conversations with this memory are nobody else's.\n*\n"


@dataclass(frozen=True, slots=True)
class ChatTurn:
    """A question and what came of it."""

    at: str  # ISO 8601
    question: str
    answer: str = ""  # where one of `citations` is cited its mark stands
    citations: tuple[Citation, ...] = ()
    back_end: str = ""
    usd: float = 0.0
    ended: str = ""  # why the answer is not whole; empty where it is


@dataclass(frozen=True, slots=True)
class ChatConversation:
    """One conversation as its file tells it."""

    id: str
    title: str
    titles: tuple[str, ...] = ()  # those that it had before, oldest first
    turns: tuple[ChatTurn, ...] = field(default=())
    damaged: int = 0  # lines that could not be read

    @property
    def history(self) -> Sequence[EarlierTurn]:
        """What was said, for a model; half an answer is told as such."""
        return [
            EarlierTurn(turn.question, turn.answer + ("\n[cut off]" if turn.ended else ""))
            for turn in self.turns
            if turn.answer
        ]


class Conversations:
    """All conversations of a memory. `mask` takes secrets out of what is written."""

    def __init__(self, folder: Path, *, mask: Callable[[str], str], now: Callable[[], dt.datetime]):
        self._folder = folder
        self.mask = mask
        self.now = now

    def begin(self, question: str) -> str:
        """A new conversation, named by its first question; its id."""
        if self._folder.is_symlink():
            raise NeedsRepair("chats is a link", where=self._folder, remedy="Put a folder in its place")
        make_folder(self._folder)
        if not is_plain_file(self._folder / ".gitignore"):
            replace_file(self._folder / ".gitignore", IGNORED)
        name = f"{self.now():%Y%m%d-%H%M%S}-{secrets.token_hex(2)}"
        self._append(name, "begun", title=self._title(question))
        return name

    def add(self, name: str, turn: ChatTurn) -> None:
        """Keeps a turn."""
        cited = [
            {slot: getattr(one, slot) for slot in Citation.__slots__} | {"words": self.mask(one.words)}
            for one in turn.citations
        ]
        fields = {slot: getattr(turn, slot) for slot in ("back_end", "usd", "ended")}
        texts = {"question": self.mask(turn.question), "answer": self.mask(turn.answer)}
        self._append(name, "turn", at=turn.at, **texts, citations=cited, **fields)

    def retitle(self, name: str, title: str) -> ChatConversation:
        """Gives a conversation another title; the old ones stay in its file."""
        if not title.strip():
            raise UsageError("the title is empty", remedy="Write it behind the conversation's id")
        found = self.load(name)
        self._append(found.id, "renamed", title=self._title(title))
        return self.load(found.id)

    def delete(self, name: str) -> None:
        """Removes a conversation's file for good; whoever calls has asked the person."""
        remove_file(self._file(self._id(name)))

    def list(self) -> Sequence[ChatConversation]:
        """All of them, newest first."""
        return [self.load(name) for name in sorted(self._ids(), reverse=True)]

    def load(self, name: str) -> ChatConversation:
        """One conversation, by its id or the beginning or end of it. Raises ContentError where there is none."""
        identity = self._id(name)
        found = ChatConversation(identity, identity)
        titles, turns, damaged = list[str](), list[ChatTurn](), 0
        for line in self._file(identity).read_bytes().splitlines():
            try:
                row = json.loads(line)
                if row["kind"] == "turn":
                    turns.append(_parse_turn(row))
                else:
                    titles.append(str(row["title"]))
            except (ValueError, KeyError, TypeError):
                damaged += bool(line.strip())
        title = titles[-1] if titles else found.title
        return ChatConversation(identity, title, tuple(titles[:-1]), tuple(turns), damaged)

    def _title(self, text: str) -> str:
        return escape_line(self.mask(text))[:TITLE_CHARS]

    def _append(self, name: str, kind: str, **fields: Any) -> None:
        line = {"oneiros": CHAT_MARK, "kind": kind, **fields}
        try:
            append_line(self._file(name), json.dumps(line, ensure_ascii=False).encode("utf-8", "replace"))
        except OSError as error:
            what = f"the conversation cannot be written ({error.strerror})"
            raise NeedsRepair(what, where=self._folder, remedy="Free disk space or mend its rights") from error

    def _file(self, identity: str) -> Path:
        return self._folder / f"{identity}.jsonl"

    def _ids(self) -> Iterator[str]:
        if self._folder.is_symlink():
            return
        for file in self._folder.glob("*.jsonl"):
            if ID.fullmatch(file.stem) and is_plain_file(file):
                yield file.stem

    def _id(self, name: str) -> str:
        fitting = [one for one in self._ids() if name and (one.startswith(name) or one.endswith(name))]
        if len(fitting) != 1:
            count = "more than one conversation" if fitting else "no conversation"
            raise ContentError(f"there is {count} {name[:40]!r}", remedy="`oneiros chat --list` names them")
        return fitting[0]


def _parse_turn(row: Mapping[str, Any]) -> ChatTurn:
    cited = tuple(Citation(**one) for one in row["citations"])
    texts = {slot: str(row[slot]) for slot in ("at", "question", "answer", "back_end", "ended")}
    return ChatTurn(**texts, citations=cited, usd=float(row["usd"]))


def as_markdown(conversation: ChatConversation) -> str:
    """A conversation as a page, with what each answer rests on. Its mark tells that it is no source of a memory."""
    parts = [EXPORT_MARK, f"# {escape_line(conversation.title)}"]
    for turn in conversation.turns:
        parts += [f"## {escape_line(turn.question)}", escape_text(turn.answer).strip() or "(no answer)"]
        if turn.ended:
            parts.append(f"*Not whole: {escape_line(turn.ended)}.*")
        parts += [f"{number}. {citation_line(one)}" for number, one in enumerate(turn.citations, start=1)]
    return "\n\n".join(parts) + "\n"


def citation_line(citation: Citation) -> str:
    """Where it stands and how sure that is, in one line."""
    words = escape_line(citation.words)
    if not citation.verified:
        place = f" in {escape_line(citation.path)}" if citation.path else ""
        return f'NOT VERIFIED: "{words}" was not found{place}'
    kind = "approved topic" if citation.approved else f"{citation.layer}, not approved"
    return f'{escape_line(citation.place)} ({kind}): "{words}"'
