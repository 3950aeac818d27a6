"""Hooks of one memory: each event to its answer, with the receipt of what was injected.

Nothing here may stand in a session's way: whatever goes wrong becomes one line of the log and an empty answer.

Hooks of Claude Code also come by a tool, over the MCP connection that the session has anyway. It is not listed, so that
no model is offered it and it costs no token; the client calls it by its name alone, and puts each value in as text.
"""

import logging
from collections.abc import Callable
from pathlib import Path

import anyio
from anyio.to_thread import run_sync
from mcp.server.mcpserver.tools import Tool

from crawler.closed import note_end
from crawler.transcripts.tail import is_uuid
from memory_server.faces.mcp_server import strict_tool
from memory_server.memory import Memory
from oneiros.environment import now
from oneiros.hooks.call import NOTHING, HookAnswer, HookCall, parse_call
from oneiros.hooks.prompt import answer_prompt, asks_to_remember
from oneiros.hooks.receipts import Receipts
from oneiros.hooks.session_start import ReviewLines, answer_session_start
from oneiros.hooks.tool_use import answer_after_tool, answer_before_tool
from oneiros.hooks.whereabouts import whereabouts
from oneiros.ingest.queue import IngestQueue, Note

logger = logging.getLogger(__name__)

ONCE_A_SESSION = {
    "UserPromptSubmit": answer_prompt,
    "PreToolUse": answer_before_tool,
    "PostToolUse": answer_after_tool,
    "PostToolUseFailure": answer_after_tool,
}
CHARS_A_TOKEN = 4  # by the usual estimate
LOSES_CONTEXT = ("clear", "compact")  # of SessionStart: what was injected is gone with the conversation
NAME = "hook"
SILENCE = "{}"  # of an empty text the client would note that the hook succeeded
SECONDS = 2.5  # in all; the client gives up after 3


class Hooks:
    """Answers the hooks of every session of one memory. Safe to share between threads."""

    def __init__(
        self,
        memory: Memory,
        home: Path,
        queue: IngestQueue,
        review: Callable[[], ReviewLines],
        client: Path | None = None,
    ):
        """`client`: the folder of Claude Code, where that is not `~/.claude`."""
        self._memory = memory
        self._home = home
        self._queue = queue
        self._review = review
        self._client = client
        memory.root.derived_folder.mkdir(exist_ok=True)
        self._receipts = Receipts(memory.root.sessions_database)

    def close(self) -> None:
        self._receipts.close()

    def answer(self, event: str, payload: object) -> str:
        """What the hook prints; empty where there is nothing to say."""
        try:
            call = parse_call(event, payload)
            answer = self._answer_call(call)
            if answer.context and not self._is_repeated(call, answer):
                self._receipts.note(call.session_id, call.event, answer.keys, -(-len(answer.context) // CHARS_A_TOKEN))
            return answer.as_json(call.event)
        except Exception as error:  # noqa: BLE001  the outermost frame of a hook
            logger.warning("the hook %s had no answer: %r", event, error)
            return ""

    def _answer_call(self, call: HookCall) -> HookAnswer:
        budget = self._memory.person.hook_bytes
        if call.event == "SessionStart":
            return self._start(call, budget)
        if call.event in ("Stop", "PreCompact", "SessionEnd"):
            has_ended = call.event == "SessionEnd"
            if has_ended and is_uuid(call.session_id):
                note_end(self._memory.root.ended_sessions, call.session_id, now())
            self._note(call, has_ended=has_ended)
            return NOTHING  # an answer to Stop would make the model go on
        if call.event == "UserPromptSubmit" and asks_to_remember(call.prompt):
            self._note(call, has_ended=False)
        answer = ONCE_A_SESSION.get(call.event)
        where = whereabouts(call.folder, self._memory.root, self._memory.person)
        if answer is None or not budget or where.is_quiet(self._memory.person):
            return NOTHING
        muted = {key for path in where.list_muted(self._memory.person) for key in (path, f"error:{path}")}
        return answer(self._memory, call, self._receipts.list_shown(call.session_id) | muted, budget)

    def _is_repeated(self, call: HookCall, answer: HookAnswer) -> bool:
        """Whether a session that is resumed is given the bytes it was given before, of which the client adds none."""
        return call.event == "SessionStart" and set(answer.keys) <= self._receipts.list_shown(call.session_id)

    def _start(self, call: HookCall, budget: int) -> HookAnswer:
        if call.source in LOSES_CONTEXT:
            self._receipts.forget_shown(call.session_id)
        self._receipts.prune()
        self._queue.note_all()
        return answer_session_start(self._memory, call, self._home, budget, self._review(), self._client)

    def _note(self, call: HookCall, *, has_ended: bool) -> None:
        if call.session_id and call.transcript:
            self._queue.note(Note(call.session_id, call.transcript, has_ended, call.client_pid))
        elif has_ended:
            self._queue.note_all()


def hook_tool(answer: Callable[[str, object], str]) -> Tool:
    """The tool over what answers an event."""

    async def hook(
        hook_event_name: str = "",
        session_id: str = "",
        transcript_path: str = "",
        cwd: str = "",
        prompt: str = "",
        tool_name: str = "",
        tool_input: str = "",
        tool_response: str = "",
        error: str = "",
        source: str = "",
    ) -> str:
        """What oneiros says to an event of the client."""
        payload = {
            "session_id": session_id,
            "transcript_path": transcript_path,
            "cwd": cwd,
            "prompt": prompt,
            "tool_name": tool_name,
            "tool_input": tool_input,
            "tool_response": tool_response,
            "error": error,
            "source": source,
        }
        reply = ""
        with anyio.move_on_after(SECONDS):
            reply = await run_sync(answer, hook_event_name, payload, abandon_on_cancel=True)
        return reply or SILENCE

    return strict_tool(hook)
