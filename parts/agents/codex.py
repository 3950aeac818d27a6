"""Codex CLI: `rollout-<time>-<id>.jsonl` below `$CODEX_HOME/sessions` and `archived_sessions`, `.zst` after a week.

What was said stands in `response_item`; `event_msg` repeats it. Role `user` holds what the client put in as well: that
is told by how it begins. A fork replays its parent, whose head is dropped where the parent's file is there. The SQLite
files are derived from the rollouts, and `exec --json` prints another grammar: neither is read.
"""

import re
from collections.abc import Iterable, Iterator, Mapping
from itertools import chain
from pathlib import Path
from typing import Any

from crawler.sources.conversation import AgentFile
from crawler.transcripts.classify import text_or_empty
from parts.agents.conversation import Conversation, join_texts, json_or_text, mapping
from parts.agents.files import records

NAME = "codex"
TITLE = "Codex CLI"
MADE_FROM = "0.50 to 0.169"
ENDINGS = (".jsonl", ".jsonl.zst")
PUT_IN = re.compile(  # how texts begin that the client wrote in the person's place
    r"# AGENTS\.md instructions|Another language model started to solve this problem"
    r"|Warning: (?:The maximum number of unified exec|apply_patch was requested|Your account was flagged)"
    r"|</?(?:environment_context|user_instructions|user_shell_command|turn_aborted|skill|subagent_notification|goal_context"
    r"|hook_prompt|permissions|collaboration_mode|personality_spec|model_switch|realtime_conversation|user_action|image"
    r"|INSTRUCTIONS|external_\w+|\w+_(?:context|instructions))\b"
)
WRAPPED = re.compile(r"<([a-z]+[_-][a-z_-]+)(?:\s[^>]*)?>.*</\1>\s*", re.DOTALL)
EDITOR_REQUEST = "## My request for Codex:"  # behind what the editor extension says of open files
EXITED = re.compile(r"(?:Process exited with code|Exit code:?) (-?\d+)")
KNOWN = frozenset(  # records and items that say nothing which an entry keeps
    "session_meta turn_context compacted world_state inter_agent_communication ghost_snapshot reasoning web_search_call"
    " compaction compaction_trigger context_compaction image_generation_call agent_message tool_search_call"
    " tool_search_output state".split()
)
KNOWN_EVENTS = frozenset(
    "user_message agent_message agent_reasoning agent_reasoning_raw_content token_count task_started task_complete"
    " turn_started turn_complete turn.completed context_compacted entered_review_mode exited_review_mode item_completed"
    " exec_command_begin exec_command_end mcp_tool_call_begin mcp_tool_call_end patch_apply_begin patch_apply_end"
    " patch_apply_updated web_search_begin web_search_end view_image_tool_call image_generation_end"
    " undo_completed error stream_error warning guardian_assessment thread_goal_updated thread_settings_applied"
    " plan_update plan_delta".split()
)
Record = Mapping[str, Any]


def stores(home: Path, variables: Mapping[str, str]) -> tuple[Path, ...]:
    """Where it keeps its rollouts."""
    return (Path(variables.get("CODEX_HOME") or home / ".codex"),)


def files(store: Path) -> Iterator[Path]:
    """The rollouts of a store; of one that is there twice the plain file."""
    for folder in ("sessions", "archived_sessions"):
        found = {path for path in (store / folder).rglob("rollout-*") if path.name.endswith(ENDINGS)}
        yield from sorted(path for path in found if path.suffix != ".zst" or path.with_suffix("") not in found)


def fits(path: Path, head: bytes) -> bool:
    """Whether a file begins as a rollout does."""
    return path.name.endswith(ENDINGS) and (
        b'"session_meta"' in head or b'"response_item"' in head or path.name.startswith("rollout-")
    )


def read(found: AgentFile) -> Iterator[Conversation]:
    """The one conversation of a rollout."""
    lines = records(found)
    first = next(lines, None)
    if first is None:
        return
    meta = mapping(first.get("payload")) if first.get("type") == "session_meta" else first
    own, source = find_thread_id(found.path, meta), meta.get("source")
    above = text_or_empty(mapping(mapping(mapping(source).get("subagent")).get("thread_spawn")).get("parent_thread_id"))
    is_of_agent = bool(above) or source == "mcp" or "subagent" in mapping(source)
    talk = Conversation("codex", above or own, source=own if above else "main", side_chain=own if is_of_agent else "")
    talk.cwd, talk.version = text_or_empty(meta.get("cwd")), found.saw_version(meta.get("cli_version"))
    talk.branch = text_or_empty(mapping(meta.get("git")).get("branch"))
    parent = find_parent(found.path, text_or_empty(meta.get("forked_from_id")) or above)
    rest = without_replay(lines, list(records(AgentFile(parent)))) if parent else lines
    _Rollout(found, talk, reads_events=not _has_items(found.path)).read(chain([first], rest))
    yield talk


class _Rollout:
    """One rollout while it is read."""

    def __init__(self, found: AgentFile, talk: Conversation, *, reads_events: bool):
        self._found = found
        self._talk = talk
        self._reads_events = reads_events
        self._before_prompts: list[str] = []  # for each prompt on the living branch, what was said before it

    def read(self, lines: Iterable[Record]) -> None:
        for line in lines:
            kind, time = text_or_empty(line.get("type")), line.get("timestamp", "")
            payload = mapping(line.get("payload"))
            if kind == "event_msg":
                self._event(payload, time)
            elif kind == "response_item":
                self._item(payload, time)
            elif kind == "turn_context":
                self._talk.cwd = text_or_empty(payload.get("cwd")) or self._talk.cwd
            elif "payload" not in line and kind not in KNOWN and kind:  # before 0.32 a line was the item itself
                self._item(line, time)
            elif kind not in KNOWN and kind:
                self._found.unknown[kind] += 1

    def _item(self, item: Record, time: object) -> None:
        kind, talk, call_id = text_or_empty(item.get("type")), self._talk, item.get("call_id")
        if kind == "message" or (not kind and item.get("role")):
            self._message(item, time)
        elif kind in ("function_call", "custom_tool_call"):
            name = text_or_empty(item.get("namespace")) + text_or_empty(item.get("name"))
            talk.call(name, item.get("arguments", item.get("input", "")), call_id, time)
        elif kind == "local_shell_call":
            talk.call("local_shell", item.get("action"), call_id, time)
        elif kind in ("function_call_output", "custom_tool_call_output"):
            text, is_error = parse_output(item.get("output"))
            talk.result(text, call_id, time, is_error=is_error)
        elif kind not in KNOWN:
            self._found.unknown[f"item {kind}"] += 1

    def _message(self, item: Record, time: object) -> None:
        role, content = item.get("role"), item.get("content")
        if role == "assistant":
            self._talk.reply(join_texts(content), time, item.get("id"))
        elif role == "user":
            self._prompt(find_typed_text(find_typed_parts(item)), time, item.get("id"))
        elif role not in ("developer", "system"):
            self._found.unknown[f"role {role}"] += 1

    def _prompt(self, words: str, time: object, own_id: object = "") -> None:
        before = self._talk.last
        self._talk.prompt(words, time, own_id)
        if self._talk.last != before:
            self._before_prompts.append(before)

    def _event(self, event: Record, time: object) -> None:
        kind = text_or_empty(event.get("type"))
        turns = event.get("num_turns")
        if kind == "thread_rolled_back" and isinstance(turns, int) and 0 < turns <= len(self._before_prompts):
            self._talk.rewind(self._before_prompts[-turns], time)
            del self._before_prompts[-turns:]
        elif kind == "turn_aborted":
            self._talk.interruption(time)
        elif kind == "thread_name_updated":
            self._talk.title(event.get("thread_name"))
        elif self._reads_events and kind == "user_message":
            self._prompt(find_typed_text(event.get("message")), time)
        elif self._reads_events and kind == "agent_message":
            self._talk.reply(text_or_empty(event.get("message")), time)
        elif kind not in KNOWN_EVENTS and kind != "thread_rolled_back":
            self._found.unknown[f"event {kind}"] += 1


def find_typed_parts(item: Record) -> object:
    """The parts of a message without those that the client itself marks as put in, where it marks them."""
    content = item.get("content")
    kinds = mapping(item.get("internal_chat_message_metadata_passthrough")).get("content_item_kinds")
    if not (isinstance(content, list) and isinstance(kinds, list) and len(kinds) == len(content)):
        return content
    return [part for part, kind in zip(content, kinds, strict=True) if str(kind).startswith("user.")]


def find_typed_text(content: object) -> str:
    """What of a message in the person's role they typed."""
    parts = content if isinstance(content, list) else [content]
    return "\n".join(filter(None, map(_drop_injected, map(join_texts, parts))))


def _drop_injected(words: str) -> str:
    words = words.rpartition(EDITOR_REQUEST)[2].strip()
    return "" if PUT_IN.match(words) or WRAPPED.fullmatch(words) else words


def parse_output(output: object) -> tuple[str, bool]:
    """What a tool returned, and whether it failed."""
    inner = json_or_text(output) if isinstance(output, str) and output.startswith('{"output"') else output
    if isinstance(inner, dict):
        words = join_texts(inner.get("output", inner.get("content")))
        code = mapping(inner.get("metadata")).get("exit_code", 0)
        return words, bool(code) or inner.get("success") is False
    words = join_texts(inner)
    exited = EXITED.search(words[:400])
    return words, bool(exited and exited[1] != "0")


def find_thread_id(path: Path, meta: Record) -> str:
    """The id of the thread that a rollout holds."""
    name = path.name.removesuffix(".zst").removesuffix(".jsonl")
    return (
        text_or_empty(meta.get("id"))
        or text_or_empty(meta.get("session_id"))
        or name.removeprefix("rollout-")[20:]
        or name
    )


# -- forks ------------------------------------------------------------------------------------------------------------


def find_parent(path: Path, thread: str) -> Path | None:
    """The rollout of the thread that another one was forked from or spawned by, where it is there."""
    if not re.fullmatch(r"[\w-]{8,64}", thread):
        return None
    above = next((folder for folder in path.parents if folder.name in ("sessions", "archived_sessions")), None)
    roots = [above.parent / "sessions", above.parent / "archived_sessions"] if above else [path.parent]
    found = (one for root in roots for one in sorted(root.rglob(f"*{thread}.jsonl*")) if one != path)
    return next((one for one in found if one.name.endswith(ENDINGS)), None)


def without_replay(lines: Iterable[Record], parent: list[Record]) -> Iterator[Record]:
    """The lines behind those that a fork repeats of its parent: up to a turn or words that the parent does not have."""
    turns = {turn for line in parent if (turn := find_turn_id(line))}
    theirs = iter([key for line in parent if (key := make_key(line))])
    is_replay = True
    for line in lines:
        if is_replay and (turn := find_turn_id(line)):
            is_replay = turn in turns
        if is_replay and (key := make_key(line)):
            is_replay = key in theirs  # which goes on behind the one found
        if not is_replay:
            yield line


def find_turn_id(line: Record) -> str:
    return text_or_empty(mapping(line.get("payload")).get("turn_id"))


def make_key(line: Record) -> tuple[str, ...]:
    """What a line says, the same in a fork; empty where it says nothing of the conversation."""
    item = mapping(line.get("payload"))
    if line.get("type") != "response_item":
        return ()
    if item.get("type") == "message":
        words = find_typed_text(item.get("content")) if item.get("role") == "user" else join_texts(item.get("content"))
        return (str(item.get("role")), words) if words and item.get("role") in ("user", "assistant") else ()
    return (str(item.get("type")), str(item["call_id"])) if item.get("call_id") else ()


def _has_items(path: Path) -> bool:
    """Whether what was said stands in items, and not in events alone."""
    return any(
        line.get("type") in ("response_item", "message")
        and mapping(line.get("payload", line)).get("role") in ("user", "assistant")
        for line in records(AgentFile(path))
    )
