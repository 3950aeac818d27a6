"""The conversations of the chat by the addresses that Anamnesis had for them."""

import datetime as dt
from collections.abc import Sequence
from dataclasses import asdict, replace
from typing import Annotated, Any

from fastapi import Path
from pydantic import AliasChoices, Field

from dream.routes import Secret
from memory_server.faces.body import Body
from oneiros.served import ServedMemory
from parts.aliases.anamnesis import refuse
from parts.chat.chatting import open_conversations
from parts.chat.conversations import ID, ChatConversation, Conversations

NOT_HERE = "a conversation is {done} by the person: at a terminal, or on a page that a terminal opened"
STARTED = "%Y%m%d-%H%M%S"  # the beginning of an id

Name = Annotated[str, Path(pattern=f"^{ID.pattern}$", description="the id that the list gives")]


class SessionTitle(Body):
    """What a conversation is to be called."""

    title: str = Field(min_length=1, max_length=500, validation_alias=AliasChoices("title", "name"))


class ChatSessions:
    """The conversations with the served memory."""

    def __init__(self, served: ServedMemory):
        self._served = served

    def list_sessions(self) -> dict[str, Any]:
        """The conversations with the memory, newest first."""
        return {"sessions": [_session_json(talk) for talk in self._conversations.list()]}

    def load_session(self, name: Name) -> dict[str, Any]:
        """One conversation with all that was said, and what each answer rests on."""
        talk = self._conversations.load(name)
        return {**_session_json(talk), "messages": _messages(talk)}

    def rename_session(self, name: Name, wanted: SessionTitle, secret: Secret = "") -> Any:
        """Gives a conversation another title and keeps the old one. Needs a page that a terminal opened."""
        if not self._served.pages.holds(secret):
            return refuse(NOT_HERE.format(done="renamed"), f"oneiros chat --rename {name} TITLE")
        return _session_json(self._conversations.retitle(name, wanted.title))

    def delete_session(self, name: Name, secret: Secret = "") -> Any:
        """Removes a conversation for good. Needs a page that a terminal opened."""
        if not self._served.pages.holds(secret):
            return refuse(NOT_HERE.format(done="deleted"), f"oneiros chat --delete {name}")
        self._conversations.delete(name)
        return {"deleted": name}

    @property
    def _conversations(self) -> Conversations:
        return open_conversations(replace(self._served.running.environment), self._served.memory.root)


def _session_json(talk: ChatConversation) -> dict[str, Any]:
    begun = dt.datetime.strptime(talk.id[:15], STARTED).replace(tzinfo=dt.UTC)
    return {
        "session_id": talk.id,
        "title": talk.title,
        "previous_titles": list(talk.titles),
        "created_at": begun.isoformat(),
        "message_count": len(_messages(talk)),
    }


def _messages(talk: ChatConversation) -> Sequence[dict[str, Any]]:
    messages = list[dict[str, Any]]()
    for turn in talk.turns:
        messages.append({"role": "user", "content": turn.question, "at": turn.at})
        if turn.answer:
            cited = [asdict(one) for one in turn.citations]
            messages.append({"role": "assistant", "content": turn.answer, "at": turn.at, "citations": cited})
    return messages
