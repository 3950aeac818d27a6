"""One record of a transcript, freed from everything that is not conversation.

This is what the archive keeps and what turns are joined from. It holds no image, no thinking, no prompt snapshot; its
texts are what was said, called or returned. Judging *several* entries together (who repeats whom, which branch is
live) is the work of `turns.py`.
"""

from datetime import datetime
from enum import StrEnum

import msgspec


class PartKind(StrEnum):
    """What a piece of an entry is, as far as the entry alone can tell."""

    PROMPT = "prompt"  # words of the person
    QUEUED = "queued"  # words of the person, typed while the client was busy; a later entry may repeat them
    TAKEN_BACK = "taken_back"  # queued words that went back into the person's prompt: what they send is told then
    BESIDE_RESULT = "beside_result"  # words of the person in the entry of a tool result
    COMMAND = "command"  # a slash command or skill that the person called, as "/name arguments"
    SHELL = "shell"  # a `!` line of the person
    INTERRUPTION = "interruption"  # the person stopped the assistant
    TEXT = "text"  # words of the assistant
    PLAN = "plan"  # a plan of the assistant that comes back as the first prompt of a session
    TEAMMATE = "teammate"  # a report of another agent
    CALL = "call"  # the assistant calls a tool
    RESULT = "result"  # what the tool returned
    TITLE = "title"  # the session's name


# msgspec.Struct stands here instead of a dataclass: the archive decodes these by the hundred thousand, and leaves
# out what equals its default.
class EntryPart(msgspec.Struct, frozen=True, omit_defaults=True, gc=False):
    """A piece of an entry. `arguments` is the JSON text of a tool call's input."""

    kind: PartKind
    text: str = ""
    tool: str = ""
    call_id: str = ""
    arguments: str = ""
    is_error: bool = False


class Entry(msgspec.Struct, frozen=True, omit_defaults=True):
    """One record. Without parts it is a mere link, kept so that the chain of parents stays whole."""

    id: str  # the uuid; for records without one a hash that a copy shares
    parent: str = ""
    time: str = ""  # ISO 8601 as the client wrote it
    parts: tuple[EntryPart, ...] = ()
    message_id: str = ""  # shared by all entries of one reply
    session_id: str = ""
    cwd: str = ""
    branch: str = ""
    version: str = ""
    agent: str = ""  # id of the sub-agent whose side-chain this is
    is_sidechain: bool = False
    input_tokens: int = 0
    output_tokens: int = 0

    @property
    def is_link(self) -> bool:
        """Whether nothing but the place in the chain of parents is left of this record."""
        return not self.parts


def in_side_chain(entry: Entry, agent: str) -> Entry:
    """The entry as one of a sub-agent's file, where some clients leave out the mark that says so."""
    if entry.is_link:
        return entry
    return msgspec.structs.replace(entry, is_sidechain=True, agent=entry.agent or agent)


def parse_time(entry: Entry) -> datetime | None:
    """The entry's time, aware; None where the client wrote none or something else."""
    try:
        moment = datetime.fromisoformat(entry.time)
    except ValueError:
        return None
    return moment if moment.tzinfo else None
