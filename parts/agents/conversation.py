"""What every reader of this part makes: a conversation as a chain of entries, in the shape of Claude Code's.

An entry's parent is the one that was said before it, so that what a rewind left is a dead branch here as it is there.
Ids are the agent's own UUIDs, or hashes of its other ids, else of what was said and when: reading a file again gives
the same ones, the archive keeps each once, and a few characters tell them apart. Names of tools become those of Claude
Code where they do the same, since files touched, commits and questions to this memory are known by them; nothing that
a tool returned can pass for a person.
"""

import re
from collections import Counter
from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Any

import msgspec

from crawler.sources.conversation import AgentConversation, hash_texts
from crawler.transcripts.classify import text_or_empty
from crawler.transcripts.entry import Entry, EntryPart, PartKind, as_id, as_line, is_id
from crawler.transcripts.injected import cut_injected, cut_reminder_span
from crawler.transcripts.tail import is_uuid

SHELLS = frozenset(
    "shell local_shell exec_command shell_command container.exec unified_exec run_shell_command bash Shell"
    " run_terminal_cmd run_terminal_command run_terminal_command_v2".split()
)
EDITS = frozenset("apply_patch edit replace str_replace StrReplace edit_file edit_file_v2 patch search_replace".split())
WRITES = frozenset("write write_file create create_file".split())
PATHS = ("file_path", "filePath", "path", "target_file", "relative_workspace_path")
PATCHED = re.compile(r"^\*\*\* (?:Update|Add) File: (.+)$", re.MULTILINE)
OWN_TOOL = re.compile(r"(?:mcp_+)?oneiros[-_.]+")
ANSWERED_BY_PERSON = frozenset({"AskUserQuestion", "ExitPlanMode"})  # of Claude Code, whose results a person wrote
REFUSAL = "The user doesn't want to"  # how Claude Code words that a person refused a call
NOT_ALNUM = re.compile(r"[^A-Za-z0-9]+")


class Conversation(AgentConversation):
    """One conversation while it is read.

    `is_timed`: whether the agent notes when things were said; elsewhere a time tells the file's age, and no id rests on
    it.
    """

    def __init__(self, agent: str, session_id: str, *, key: str = "", source: str = "main", side_chain: str = ""):
        """`key` names it within a file that holds several; `side_chain`: the sub-agent that speaks in all of it."""
        session_id = make_session_id(session_id)
        super().__init__(agent, session_id, [Entry(id=hash_texts(session_id, source))], key, source)
        self.branch = self.version = ""
        self.is_timed = True
        self._side_chain = side_chain
        self._last = self.entries[0].id
        self._seen: Counter[str] = Counter()
        self._parents: dict[str, str] = {self._last: ""}

    @property
    def last(self) -> str:
        """The id of what was said last, where a rewind may lead back to."""
        return self._last

    def prompt(self, text: str, time: object = "", own_id: object = "") -> None:
        """Words of the person."""
        self._speak(PartKind.PROMPT, text, time, own_id)

    def reply(self, text: str, time: object = "", own_id: object = "", *, agent: str = "") -> None:
        """Words of the assistant, or of its sub-agent of this id."""
        self._speak(PartKind.TEXT, text, time, own_id, agent=agent)

    def other(self, text: str, time: object = "", own_id: object = "") -> None:
        """Words of somebody who is neither the person nor the assistant: no evidence of anything."""
        self._speak(PartKind.TEAMMATE, text, time, own_id)

    def title(self, text: object) -> None:
        """The name that the agent gave the conversation."""
        if isinstance(text, str) and text.strip():
            self.entries.append(self._entry(EntryPart(PartKind.TITLE, as_line(text.strip())), "", "", ""))

    def interruption(self, time: object = "") -> None:
        """The person stopped the assistant."""
        self._speak(PartKind.INTERRUPTION, "[Request interrupted by user]", time, "")

    def call(self, name: object, arguments: object, call_id: object, time: object = "", *, agent: str = "") -> None:
        """The assistant calls a tool."""
        tool, given = translate_tool(self.agent, name, arguments)
        call = EntryPart(PartKind.CALL, tool=tool, call_id=as_id(str(call_id or "")), arguments=json_text(given))
        self._add(call, time, f"{call_id}-call" if call_id else "", agent)

    def result(
        self, text: object, call_id: object, time: object = "", *, is_error: bool = False, agent: str = ""
    ) -> None:
        """What a tool returned."""
        output = cut_injected(text).strip() if isinstance(text, str) else json_text(text)
        if output.startswith(REFUSAL) or (is_error and not output.startswith("Exit code")):
            output = f"Exit code 1\n{output}"  # as Claude Code writes a failure; a person's refusal begins otherwise
        part = EntryPart(PartKind.RESULT, output, call_id=as_id(str(call_id or "")), is_error=is_error)
        self._add(part, time, f"{call_id}-result" if call_id else "", agent)

    def rewind(self, to: str, time: object = "") -> None:
        """The person went back to what was said last at `to`: all behind it is dropped."""
        if to in self._parents and to != self._last:
            self._last = to
            self._add(EntryPart(PartKind.COMMAND, "/rewind"), time, "", "")

    def _speak(self, kind: PartKind, text: str, time: object, own_id: object, *, agent: str = "") -> None:
        if words := cut_reminder_span(cut_injected(text)).strip():
            self._add(EntryPart(kind, words), time, own_id, agent)

    def _add(self, part: EntryPart, time: object, own_id: object, agent: str) -> None:
        entry = self._entry(part, moment(time), own_id, agent)
        self.entries.append(entry)
        self._parents[entry.id] = self._last
        self._last = entry.id

    def _entry(self, part: EntryPart, time: str, own_id: object, agent: str) -> Entry:
        when = time if self.is_timed else self.session_id
        made = hash_texts(part.kind, when, part.text, part.tool, part.arguments, part.call_id)
        if isinstance(own_id, str) and own_id not in self._parents:
            made = own_id if is_uuid(own_id) else hash_texts(own_id) if own_id else made
        self._seen[made] += 1
        speaker = as_id(agent or self._side_chain)
        return Entry(
            id=made if self._seen[made] == 1 else f"{made}-{self._seen[made]}"[:64],
            parent=self._last,
            time=time,
            parts=(part,),
            session_id=self.session_id,
            cwd=as_line(self.cwd),
            branch=as_line(self.branch),
            version=self.version,
            agent=speaker,
            is_sidechain=bool(speaker),
        )


def make_session_id(name: str) -> str:
    """A name as the id of a session: its own where it is one, else its words and a hash of them."""
    if is_id(name) and name[0].isalnum():
        return name
    return f"{NOT_ALNUM.sub('-', name).strip('-')[:40] or 'session'}-{hash_texts(name)}"


def translate_tool(agent: str, name: object, arguments: object) -> tuple[str, object]:
    """A tool's name and input as Claude Code would have them."""
    tool = as_line(name) if isinstance(name, str) else ""
    given: Any = arguments
    if isinstance(arguments, str):
        given = json_or_text(arguments)
    if OWN_TOOL.match(tool):
        return "mcp__oneiros__" + OWN_TOOL.sub("", tool, count=1), given
    if tool in SHELLS:
        return "Bash", {"command": parse_command(given)}
    if tool in EDITS | WRITES:
        return "Write" if tool in WRITES else "Edit", translate_edit(given)
    return (f"{agent}-{tool}" if tool in ANSWERED_BY_PERSON | {"Bash", "Write", "Edit"} else tool), given


def parse_command(given: object) -> str:
    """The command line of a shell's input; of `bash -lc 'make'` what the shell is told to do."""
    command = given.get("command", given.get("cmd", "")) if isinstance(given, Mapping) else given
    if isinstance(command, list):
        words = [str(word) for word in command]
        return words[2] if len(words) == 3 and words[1] in ("-c", "-lc") else " ".join(words)
    return str(command)


def translate_edit(given: object) -> object:
    """The input of an edit, whose file is called `file_path`."""
    if isinstance(given, Mapping):
        file = next((given[name] for name in PATHS if isinstance(given.get(name), str)), "")
        patch = given.get("input", given.get("patch"))
        found = PATCHED.search(patch) if isinstance(patch, str) and not file else None
        return {**given, "file_path": found[1].strip() if found else file}
    return translate_edit({"input": given}) if isinstance(given, str) else given


def json_or_text(text: str) -> object:
    """What a text of JSON holds; the text itself where it is none."""
    try:
        return msgspec.json.decode(text)
    except (msgspec.MsgspecError, RecursionError, UnicodeEncodeError):
        return text


def json_text(value: object) -> str:
    """A value as JSON; empty for one that says nothing."""
    return msgspec.json.encode(value).decode() if value else ""


def moment(time: object) -> str:
    """A time in ISO 8601: as it was written, or from seconds or milliseconds since 1970; empty where it is none."""
    if isinstance(time, str):
        return as_line(time)
    if isinstance(time, bool) or not isinstance(time, int | float):
        return ""
    try:
        seconds = time / 1000 if abs(time) > 1e11 else time
        return datetime.fromtimestamp(seconds, UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")
    except (OverflowError, OSError, ValueError):
        return ""


def mapping(value: object) -> Mapping[str, Any]:
    """The object that a field should hold; an empty one where it holds something else."""
    return value if isinstance(value, dict) else {}


def join_texts(content: object) -> str:
    """The text of a content that is a string, or a list of parts with texts."""
    if isinstance(content, str):
        return content
    if isinstance(content, list):
        texts = (one if isinstance(one, str) else text_or_empty(mapping(one).get("text")) for one in content)
        return "\n".join(filter(None, texts))
    return text_or_empty(mapping(content).get("text"))
