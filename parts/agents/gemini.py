"""Gemini CLI: `session-<time>-<id>.jsonl`, older `.json`, below `~/.gemini/tmp/<project>/chats`.

The file is a log of changes: a message with an id that was there replaces it, `$set` may hold all messages anew, and
`$rewindTo` drops a message and all behind it. A sub-agent's file lies in a folder named after its session.
"""

import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from crawler.sources.agent import read_head
from crawler.sources.conversation import AgentFile
from crawler.transcripts.classify import filter_objects, text_or_empty
from parts.agents.conversation import Conversation, join_texts, mapping
from parts.agents.files import decode_line, records, whole

NAME = "gemini"
TITLE = "Gemini CLI"
MADE_FROM = "0.1 to 0.61"
TYPES = frozenset({"user", "gemini", "model"})
SILENT = frozenset({"info", "error", "warning"})  # what the program told the person
PUT_IN = re.compile(
    r"This is the Gemini CLI\. We are setting up the context|I ran the following shell command:"
    r"|</?(?:session_context|hook_context|environment_context|state_snapshot|extension_context|loaded_context)\b"
)
FILES_BEGIN, FILES_END = "--- Content from referenced files ---", "--- End of content ---"
OWN_SERVER = "(oneiros MCP Server)"
FAILED = frozenset({"error", "cancelled"})


def stores(home: Path, variables: Mapping[str, str]) -> tuple[Path, ...]:
    """Where it keeps its chats."""
    return (Path(variables.get("GEMINI_CLI_HOME") or home) / ".gemini",)


def files(store: Path) -> Iterator[Path]:
    """The chats of a store; of one that was migrated the lines."""
    found = sorted(path for path in store.glob("tmp/*/chats/**/*") if path.suffix in (".json", ".jsonl"))
    there = set(found)
    for path in found:
        is_scratch = path.name.startswith(".tmp-") or ".unreadable-" in path.name
        if not is_scratch and not (path.suffix == ".json" and path.with_suffix(".jsonl") in there):
            yield path


def fits(path: Path, head: bytes) -> bool:
    """Whether a file begins as a chat does."""
    is_named = b'"projectHash"' in head or b'"lastUpdated"' in head
    return path.suffix in (".json", ".jsonl") and b'"sessionId"' in head and is_named


def read(found: AgentFile) -> Iterator[Conversation]:
    """The one conversation of a chat."""
    log = _Log(found)
    lines = records(found) if found.path.suffix == ".jsonl" else iter([mapping(whole(found))])
    for line in lines:
        log.take(line)
    session = text_or_empty(log.head.get("sessionId"))
    if not session:
        return
    child = session if log.head.get("kind") == "subagent" else ""
    above = found.path.parent.name if child and found.path.parent.parent.name == "chats" else ""
    talk = Conversation("gemini", above or session, source=child if above else "main", side_chain=child)
    talk.version = found.saw_version(log.head.get("version"))
    talk.cwd = find_folder(found.path, log.head)
    for step, about in log.steps:
        if step == "rewind":
            talk.rewind(log.places.get(about, talk.entries[0].id))
        elif (message := log.latest.get(about)) is not None and about not in log.places:
            log.places[about] = talk.last
            _say(found, talk, message)
    yield talk


class _Log:
    """A chat's changes in their order, and what stands last of each message."""

    def __init__(self, found: AgentFile):
        self.head: dict[str, Any] = {}
        self.latest: dict[str, Mapping[str, Any]] = {}
        self.steps: list[tuple[str, str]] = []  # ("message" or "rewind", the id that it is about)
        self.places: dict[str, str] = {}  # id of a message -> what was said last before it
        self._live: list[str] = []
        self._found = found

    def take(self, line: Mapping[str, Any]) -> None:
        if isinstance(back := line.get("$rewindTo"), str):
            self._rewind(back)
        elif isinstance(line.get("id"), str):
            self._message(line)
        elif "$set" in line:
            changed = mapping(line["$set"])
            self.head |= {key: value for key, value in changed.items() if key != "messages"}
            self._checkpoint(changed)
        elif "sessionId" in line:
            self.head |= {key: value for key, value in line.items() if key != "messages"}
            self._checkpoint(line)
        else:
            self._found.unknown[text_or_empty(line.get("type")) or "line of another shape"] += 1

    def _message(self, message: Mapping[str, Any]) -> None:
        name = str(message["id"])
        self.latest[name] = message
        if name not in self._live:
            self._live.append(name)
            self.steps.append(("message", name))

    def _rewind(self, to: str) -> None:
        """Drops a message and all behind it; all messages where there is none of that id, as the client does."""
        at = self._live.index(to) if to in self._live else 0
        if self._live[at:]:
            self.steps.append(("rewind", self._live[at]))
            del self._live[at:]

    def _checkpoint(self, changed: Mapping[str, Any]) -> None:
        """All messages as they stand: those of the chain that it does not have are dropped."""
        messages = [one for one in filter_objects(changed.get("messages")) if isinstance(one.get("id"), str)]
        if not messages:
            return
        names = {str(one["id"]) for one in messages}
        dropped = next((name for name in self._live if name not in names), None)
        if dropped is not None:
            self._rewind(dropped)
        for message in messages:
            self._message(message)


def _say(found: AgentFile, talk: Conversation, message: Mapping[str, Any]) -> None:
    kind, time, name = text_or_empty(message.get("type")), message.get("timestamp", ""), message.get("id")
    if kind == "user":
        talk.prompt(find_typed_text(message.get("displayContent") or message.get("content")), time, name)
    elif kind in TYPES:
        talk.reply(join_texts(message.get("content") or message.get("parts")), time, name)
        for call in filter_objects(message.get("toolCalls")):
            _work(talk, call, time)
    elif kind not in SILENT:
        found.unknown[f"message {kind}"] += 1


def _work(talk: Conversation, call: Mapping[str, Any], time: object) -> None:
    """A tool's call with what it returned, once it has."""
    tool, when = text_or_empty(call.get("name")), call.get("timestamp") or time
    has_failed = text_or_empty(call.get("status")) in FAILED
    is_own = OWN_SERVER in text_or_empty(
        call.get("displayName")
    )  # where no other server has such a tool, its name is bare
    talk.call(f"oneiros__{tool}" if is_own else tool, call.get("args"), call.get("id"), time)
    answers = [
        mapping(mapping(part.get("functionResponse")).get("response")) for part in filter_objects(call.get("result"))
    ]
    output = "\n".join(words for one in answers if (words := text_or_empty(one.get("output") or one.get("error"))))
    if answers or has_failed:
        talk.result(output, call.get("id"), when, is_error=has_failed)


def find_typed_text(content: object) -> str:
    """What the person typed: without the files that the client read in for them, and without what it says itself."""
    texts = [join_texts(part) for part in (content if isinstance(content, list) else [content])]
    begun = next((place for place, text in enumerate(texts) if FILES_BEGIN in text), len(texts))
    # the last that says so: a file may say it too
    ended = max((place for place, text in enumerate(texts) if FILES_END in text), default=len(texts))
    before = [text.partition(FILES_BEGIN)[0] for text in texts[: begun + 1]]
    words = list[str]()
    for text in [*before, *texts[max(begun, ended) + 1 :]]:
        if text.strip() and not PUT_IN.match(text.strip()):
            words.append(text.strip())
    return "\n".join(words)


def find_folder(path: Path, head: Mapping[str, Any]) -> str:
    """The project's folder: as the client notes it beside the chats, or for all projects together."""
    directories = head.get("directories")
    if isinstance(directories, list) and directories and isinstance(directories[0], str):
        return directories[0]
    project = next((folder.parent for folder in path.parents if folder.name == "chats"), None)
    if project is None:
        return ""
    noted = project / ".project_root"
    if noted.is_file():
        return read_head(noted, 4096).decode("utf-8", "replace").strip()
    registry = project.parent.parent / "projects.json"
    known = mapping(mapping(decode_line(read_head(registry, 1 << 20)) if registry.is_file() else {}).get("projects"))
    return next((folder for folder, name in known.items() if name == project.name), "")
