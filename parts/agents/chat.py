"""Plain conversations: text with speaker lines, `messages` in JSON, and what ChatGPT and claude.ai export.

Who spoke is told by a name alone. Role `user` of an export is the person whose export it is; in a text they are known
by a word such as `User`, or as one of their own names (the setting `speakers`, `--me`). Everybody else but the
assistant is somebody else, whose words are no evidence. What an export hides or puts
in (instructions, memories) is not read.
"""

import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from crawler.sources.agent import read_head
from crawler.sources.conversation import AgentFile, hash_texts
from crawler.transcripts.classify import filter_objects, text_or_empty
from crawler.transcripts.injected import is_own_chat
from parts.agents.conversation import Conversation, join_texts, mapping
from parts.agents.files import records, whole

NAME = "chat"
TITLE = "a plain conversation"
MADE_FROM = "exports of 2026"
ENDINGS = (".json", ".jsonl", ".md", ".txt", ".markdown")
PERSON = frozenset({"user", "human", "me", "you", "person", "you said"})
ASSISTANT = frozenset(
    "assistant ai bot model chatgpt gpt gpt-4 gpt-5 claude gemini copilot codex cursor grok llama mistral".split()
) | {"ai assistant", "chatgpt said", "claude said", "gemini said"}
UNSAID = frozenset({"system", "developer", "function"})  # roles that say nothing to a person
LABELS = frozenset(  # what stands before a colon and is nobody
    "note notes warning error errors todo example examples question answer update edit ps subject from to re fix result"
    " results output input step summary title date time url http https tip important caution hint context goal task"
    " file files path problem solution reason option steps usage version code command expected actual".split()
)
WHO = r"(?P<name>[^\W\d_][\w.'-]*(?: [\w.'()-]+){0,3})"
STAMP = r"(?:\[?\d[\d:./, -]*(?:[ap]m)?\]?(?: ?[-–] ?| ))?"
STYLES = (  # of a line on which somebody begins to speak; the first one found is that of the whole text
    re.compile(rf"#{{1,6}}[^\w\n]*{WHO}[^\w\n]*(?P<rest>)", re.IGNORECASE),
    re.compile(rf"{STAMP}(?:\*\*|__){WHO}(?:\*\*|__)(?P<rest>)", re.IGNORECASE),
    re.compile(rf"{STAMP}(?:\*\*|__){WHO}(?::(?:\*\*|__)|(?:\*\*|__):)\s*(?P<rest>.*)", re.IGNORECASE),
    re.compile(rf"{STAMP}{WHO}:(?: +(?P<rest>\S.*)| *)", re.IGNORECASE),
)
FENCE = re.compile(r" {0,3}(?:```|~~~)")
MAX_TEXT_BYTES = 20_000_000
READ_CONTENTS = frozenset({"text", "multimodal_text"})  # of a message of ChatGPT


def stores(_home: Path, _variables: Mapping[str, str]) -> tuple[Path, ...]:
    """None: a conversation is named by its file."""
    return ()


def files(_store: Path) -> Iterator[Path]:
    """Nothing by itself: a conversation is named by its file."""
    yield from ()


def fits(path: Path, head: bytes) -> bool:
    """Whether a file may be a conversation."""
    if is_own_chat(head.decode("utf-8", "replace")):
        return False
    if path.suffix in (".json", ".jsonl"):
        return any(mark in head for mark in (b'"messages"', b'"mapping"', b'"chat_messages"', b'"role"'))
    return path.suffix in ENDINGS


def read(found: AgentFile) -> Iterator[Conversation]:
    """The conversations of a file."""
    if found.path.suffix == ".jsonl":
        values: list[Any] = list(records(found))
        if values and all("role" in value for value in values):
            values = [values]  # a message a line
    elif found.path.suffix == ".json":
        value = whole(found)
        values = value if isinstance(value, list) and not is_messages(value) else [value]
    else:
        yield from _of_text(found)
        return
    for number, value in enumerate(values):
        talk = _of_value(found, value, number)
        if talk:
            yield talk


def is_messages(value: list[Any]) -> bool:
    return bool(value) and all("role" in mapping(one) for one in value)


def _of_value(found: AgentFile, value: Any, number: int) -> Conversation | None:
    """The conversation that a value of an export is; None where it is none, which is counted."""
    given = mapping(value)
    name = next((given[key] for key in ("conversation_id", "uuid", "id") if isinstance(given.get(key), str)), "")
    if isinstance(value, list) and is_messages(value):
        given = {"messages": value}
    kinds = {"mapping": _chatgpt, "chat_messages": _claude, "messages": _messages}
    kind = next((key for key in kinds if key in given), "")
    if not kind:
        found.unknown["value without messages"] += 1
        return None
    made = f"{found.path.stem}-{hash_texts(found.path.stem, str(number))}"
    talk = Conversation("chat", name or made, key=name or str(number))
    talk.title(given.get("title") or given.get("name"))
    kinds[kind](found, talk, given)
    return talk


def _chatgpt(found: AgentFile, talk: Conversation, given: Mapping[str, Any]) -> None:
    """The branch that is shown: from its last message upwards, the other way round."""
    nodes, chain = mapping(given.get("mapping")), list[Mapping[str, Any]]()
    name, seen = given.get("current_node") or last_leaf(nodes), set[object]()
    while isinstance(name, str) and name in nodes and name not in seen:
        seen.add(name)
        node = mapping(nodes[name])
        chain.append(mapping(node.get("message")))
        name = node.get("parent")
    for message in reversed(chain):
        content, about = mapping(message.get("content")), mapping(message.get("metadata"))
        is_shown = not (about.get("is_visually_hidden_from_conversation") or about.get("is_user_system_message"))
        kind = text_or_empty(content.get("content_type"))
        if is_shown and kind in READ_CONTENTS:
            role = mapping(message.get("author")).get("role")
            parts = [part for part in content.get("parts") or () if isinstance(part, str)]
            _say(found, talk, role, "\n".join(parts), message.get("create_time"), message.get("id"))


def last_leaf(nodes: Mapping[str, Any]) -> str:
    """Where the branch ends that was written last, in an export that does not say which one is shown."""
    parents = {mapping(node).get("parent") for node in nodes.values() if isinstance(mapping(node).get("parent"), str)}
    return next((name for name in reversed(list(nodes)) if name not in parents), "")


def _claude(found: AgentFile, talk: Conversation, given: Mapping[str, Any]) -> None:
    for message in filter_objects(given.get("chat_messages")):
        blocks = [block for block in filter_objects(message.get("content")) if block.get("type") == "text"]
        words = join_texts(blocks) or text_or_empty(message.get("text"))
        _say(found, talk, message.get("sender"), words, message.get("created_at"), message.get("uuid"))


def _messages(found: AgentFile, talk: Conversation, given: Mapping[str, Any]) -> None:
    talk.is_timed = False
    for message in filter_objects(given.get("messages")):
        time = message.get("timestamp", message.get("created_at")) or _when(found)
        for call in filter_objects(message.get("tool_calls")):
            function = mapping(call.get("function"))
            talk.call(function.get("name"), function.get("arguments"), call.get("id"), time)
        role, words = message.get("role"), join_texts(message.get("content"))
        if role == "tool":
            talk.result(words, message.get("tool_call_id"), time)
        else:
            _say(found, talk, role, words, time, message.get("id"), name=message.get("name"))


def _say(
    found: AgentFile, talk: Conversation, role: object, words: str, time: object, own_id: object, *, name: object = ""
) -> None:
    """What one role said; `name`: who that was, where the message tells."""
    time = time or _when(found)
    role = text_or_empty(role)
    if role in ("user", "human"):
        if isinstance(name, str) and name and not is_person(name, found):
            talk.other(f"{name}: {words}", time, own_id)
        else:
            talk.prompt(words, time, own_id)
    elif role in ("assistant", "model"):
        talk.reply(words, time, own_id)
    elif role not in UNSAID and role != "tool":
        found.unknown[f"role {role}"] += 1


def is_person(name: str, found: AgentFile) -> bool:
    """Whether a name stands for the person."""
    return name.casefold() in PERSON | found.speakers


def _when(found: AgentFile) -> float:
    """When what carries no time was written, as far as its file tells."""
    return found.path.stat().st_mtime


# -- text with speaker lines -------------------------------------------------------------------------------------------


def _of_text(found: AgentFile) -> Iterator[Conversation]:
    raw = read_head(found.path, MAX_TEXT_BYTES)
    spoken = list(speeches(raw.decode("utf-8", "replace"), found.speakers))
    if not spoken:
        found.unknown["text without speakers"] += 1
        return
    talk = Conversation("chat", f"{found.path.stem}-{hash_texts(found.path.stem, *spoken[0])}")
    talk.is_timed = False
    for name, words in spoken:
        if is_person(name, found):
            talk.prompt(words, _when(found))
        elif name.casefold() in ASSISTANT:
            talk.reply(words, _when(found))
        elif name.casefold() not in UNSAID:
            talk.other(f"{name}: {words}", _when(found))
    yield talk


def speeches(text: str, speakers: frozenset[str] = frozenset()) -> Iterator[tuple[str, str]]:
    """Who said what, in order. What stands before the first speaker is nobody's."""
    lines = text.splitlines()
    style = next((one for one in STYLES if _is_style(one, lines, speakers)), None)
    if style is None:
        return
    named = {
        name for line in lines if (name := _name(style, line)).casefold() in PERSON | ASSISTANT | UNSAID | speakers
    }
    are_roles = bool({name.casefold() for name in named} & PERSON) and bool({n.casefold() for n in named} & ASSISTANT)
    who, words, is_code = "", list[str](), False
    for above, line in zip(["", *lines], lines, strict=False):
        is_code ^= bool(FENCE.match(line))
        name = "" if is_code else _name(style, line)
        begins_anew = style is STYLES[-1] and not above.strip()
        if name and (name in named or begins_anew or not are_roles):
            if who:
                yield who, "\n".join(words).strip()
            found = style.fullmatch(line)
            who, words = name, [found["rest"] or "" if found else ""]
        else:
            words.append(line)
    if who:
        yield who, "\n".join(words).strip()


def _is_style(style: re.Pattern[str], lines: list[str], speakers: frozenset[str]) -> bool:
    """Whether speakers are written so: one of them is known, or two of them are none's label."""
    names = {name.casefold() for line in lines if (name := _name(style, line))}
    return bool(names & (PERSON | ASSISTANT | speakers)) or (style is STYLES[-1] and len(names) > 1)


def _name(style: re.Pattern[str], line: str) -> str:
    """Who begins to speak on a line; empty where nobody does. Names begin with a capital; those of roles need not."""
    found = style.fullmatch(line.rstrip())
    name = found["name"].rstrip(":") if found else ""
    is_role = name.casefold() in PERSON | ASSISTANT | UNSAID
    return name if is_role or (name[:1].isupper() and name.casefold().split()[0] not in LABELS) else ""
