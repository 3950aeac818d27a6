"""Copilot CLI: `~/.copilot/session-state/<id>/events.jsonl`.

Not all that stands as the person's message is theirs: `source` names a skill or another agent that put it in, and
autopilot goes on by itself. An event with an `agentId` is a sub-agent's. A rewind is an event too.
"""

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from crawler.sources.conversation import AgentFile
from crawler.transcripts.classify import filter_objects, text_or_empty
from parts.agents.conversation import Conversation, join_texts, mapping
from parts.agents.files import records

NAME = "copilot"
TITLE = "Copilot CLI"
MADE_FROM = "0.0.420 to 1.0.11"
TYPED = (None, "", "user")  # sources of what the person typed
KNOWN = frozenset(  # events that say nothing which an entry keeps
    "session.idle session.error session.info session.warning session.model_change session.mode_changed session.shutdown"
    " session.plan_changed session.workspace_file_changed session.handoff session.truncation session.usage_info"
    " session.usage_checkpoint session.compaction_start session.compaction_complete session.task_complete"
    " session.auto_mode_resolved session.background_tasks_changed session.skills_loaded session.mcp_servers_loaded"
    " session.mcp_server_status_changed session.extensions_loaded session.custom_agents_updated session.tools_updated"
    " session.remote_steerable_changed assistant.turn_start assistant.turn_end assistant.intent assistant.reasoning"
    " assistant.reasoning_delta assistant.message_delta assistant.streaming_delta assistant.usage permission.requested"
    " permission.completed subagent.started subagent.completed subagent.failed subagent.selected subagent.deselected"
    " tool.user_requested tool.execution_partial_result tool.execution_progress user_input.requested"
    " user_input.completed elicitation.requested elicitation.completed external_tool.requested external_tool.completed"
    " command.queued command.execute command.completed exit_plan_mode.requested exit_plan_mode.completed"
    " hook.start hook.end system.message system.notification skill.invoked pending_messages.modified".split()
)


def stores(home: Path, variables: Mapping[str, str]) -> tuple[Path, ...]:
    """Where it keeps its logs."""
    return (Path(variables.get("COPILOT_HOME") or home / ".copilot"),)


def files(store: Path) -> Iterator[Path]:
    """The logs of a store."""
    state = store / "session-state"
    yield from sorted({*state.glob("*/events.jsonl"), *state.glob("*.jsonl")})  # the latter before 0.0.380


def fits(path: Path, head: bytes) -> bool:
    """Whether a file begins as a log does."""
    return path.suffix == ".jsonl" and (
        b'"copilot-agent"' in head or (b'"session.start"' in head and b'"data"' in head)
    )


def read(found: AgentFile) -> Iterator[Conversation]:
    """The one conversation of a log."""
    lines = records(found)
    first = next(lines, None)
    if first is None:
        return
    start = mapping(first.get("data"))
    name = found.path.parent.name if found.path.name == "events.jsonl" else found.path.stem
    talk = Conversation("copilot", text_or_empty(start.get("sessionId")) or name)
    events = _Events(found, talk)
    events.take(first)
    for line in lines:
        events.take(line)
    yield talk


class _Events:
    """One log while it is read."""

    def __init__(self, found: AgentFile, talk: Conversation):
        self._found = found
        self._talk = talk
        self._called: set[object] = set()
        self._before: dict[
            object, tuple[int, str, str, str]
        ] = {}  # event -> number, type, said last before, and with it
        self._count = 0

    def take(self, line: Mapping[str, Any]) -> None:
        kind, data, before = text_or_empty(line.get("type")), mapping(line.get("data")), self._talk.last
        if kind == "session.snapshot_rewind":
            self._rewind(data, line.get("timestamp", ""))
            return
        agent = text_or_empty(line.get("agentId")) or text_or_empty(data.get("parentToolCallId"))
        if not line.get("ephemeral"):
            self._event(kind, data, line.get("timestamp", ""), line.get("id"), agent)
            self._count += 1
            if isinstance(line.get("id"), str):
                self._before[line["id"]] = (self._count, kind, before, self._talk.last)

    def _event(self, kind: str, data: Mapping[str, Any], time: object, own_id: object, agent: str) -> None:
        talk, call_id = self._talk, data.get("toolCallId")
        if kind == "user.message":
            self._message(data, time, own_id, agent)
        elif kind == "assistant.message":
            talk.reply(text_or_empty(data.get("content")), time, own_id, agent=agent)
            for request in filter_objects(data.get("toolRequests")):
                self._call(request.get("name"), request.get("arguments"), request.get("toolCallId"), time, agent)
        elif kind == "tool.execution_start":
            server = f"{data['mcpServerName']}-" if isinstance(data.get("mcpServerName"), str) else ""
            tool = text_or_empty(data.get("mcpToolName")) or text_or_empty(data.get("toolName"))
            self._call(server + tool, data.get("arguments"), call_id, time, agent)
        elif kind == "tool.execution_complete":
            output = join_texts(mapping(data.get("result")).get("content")) or join_texts(
                mapping(data.get("error")).get("message")
            )
            talk.result(output, call_id, time, is_error=data.get("success") is False, agent=agent)
        elif kind == "abort":
            talk.interruption(time)
        elif kind in ("session.start", "session.resume", "session.context_changed"):
            self._place(data)
        elif kind == "session.title_changed":
            talk.title(data.get("title"))
        elif kind not in KNOWN:
            self._found.unknown[kind or "without type"] += 1

    def _message(self, data: Mapping[str, Any], time: object, own_id: object, agent: str) -> None:
        words = text_or_empty(data.get("content"))
        if agent:
            self._talk.reply(words, time, own_id, agent=agent)
        elif data.get("source") in TYPED and data.get("isAutopilotContinuation") is not True:
            self._talk.prompt(words, time, own_id)

    def _call(self, name: object, arguments: object, call_id: object, time: object, agent: str) -> None:
        """A call, which stands in the reply and again where it begins."""
        if not isinstance(call_id, str) or call_id not in self._called:
            self._called.add(str(call_id))
            self._talk.call(name, arguments, call_id, time, agent=agent)

    def _place(self, data: Mapping[str, Any]) -> None:
        talk, context = self._talk, mapping(data.get("context")) or data
        talk.cwd = text_or_empty(context.get("cwd")) or talk.cwd
        talk.branch = text_or_empty(context.get("branch")) or talk.branch
        talk.version = self._found.saw_version(data.get("copilotVersion")) or talk.version

    def _rewind(self, data: Mapping[str, Any], time: object) -> None:
        """Goes back to an event, which versions drop or keep: how many events they dropped tells which."""
        known = self._before.get(text_or_empty(data.get("upToEventId")))
        if known is None:
            self._found.unknown["rewind to an unknown event"] += 1
            return
        number, kind, before, last = known
        dropped, behind = data.get("eventsRemoved"), self._count - number
        is_dropped = dropped == behind + 1 or (dropped != behind and kind == "user.message")
        self._talk.rewind(before if is_dropped else last, time)
