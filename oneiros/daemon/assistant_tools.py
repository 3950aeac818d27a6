"""The tools by which the running assistant takes part: in dream, and in what sessions tell each other."""

import time
from collections import Counter
from collections.abc import Sequence
from contextlib import closing
from dataclasses import replace
from functools import partial
from typing import Annotated, Any

from mcp.server.mcpserver.context import Context
from mcp.server.mcpserver.tools import Tool
from pydantic import Field

from crawler.archive.store import SessionRecord
from crawler.reading.repeats import count_failures, group_habits
from dream.evidence import Evidence
from dream.judge.gate import Gate, Refusal
from dream.judge.rejections import Rejections
from dream.mcp_tools import WRITES, DreamDoor, dream_tools
from dream.progress import DreamProgress
from dream.proposals.store import ProposalStore
from dream.records import Candidate
from dream.run import Dream, Suggested
from dream.topics import read_topics
from memory_server.faces.mcp_server import strict_tool
from memory_server.layers.blackboard import NOTE_KINDS
from memory_server.memory import Memory
from memory_server.redaction import Redactor
from memory_server.root.paths import MemoryRoot
from memory_server.settings import PersonSettings
from oneiros.dreaming import build_decisions, find_reading
from oneiros.environment import Environment, now
from oneiros.hooks.whereabouts import name_project, whereabouts
from oneiros.ingest.readings import build_unread, find_project, may_be_read, open_readings, topic_lines
from oneiros.ingest.settings import open_archive, over_when

SESSION_KEY = "oneiros/session"  # of a call's _meta: the session that it comes from; `light/relay.py` puts it there
FOLDER_KEY = "oneiros/folder"  # likewise, its folder: a session that has just begun is in no archive


def assistant_tools(environment: Environment, memory: Memory) -> list[Tool]:
    """The tools that read evidence, propose, and tell other sessions something."""
    archive = open_archive(memory.root)

    def suggest(candidate: Candidate, wrong: str) -> Suggested:
        decisions = build_decisions(memory.root, memory.person)
        redactor = Redactor(memory.person.deny_words)
        return Dream(
            decisions, archive, partial(find_reading, memory.root), now=now, clock=time.monotonic, redactor=redactor
        ).suggest(candidate, wrong)

    def check(candidate: Candidate) -> Sequence[Refusal]:
        with closing(Rejections(ProposalStore(memory.root).rejections())) as rejections:
            gate = Gate(evidence, read_topics(memory.root), rejections, Redactor(memory.person.deny_words))
            return gate.check(candidate)

    def is_wanted(record: SessionRecord) -> bool:
        settled = replace(environment)  # with the settings as they are
        return over_when(settled, memory.root)(record.session_id) and may_be_read(record, settled.person)

    def waiting() -> dict[str, int]:
        return Counter(find_project(record) for record in progress.list_unserved(archive) if is_wanted(record))

    def serve(project: str, is_first: bool) -> list[str]:
        return progress.serve(
            archive, project, is_first=is_first, is_wanted=lambda one: find_project(one) == project and is_wanted(one)
        )

    def pages(session_ids: Sequence[str]) -> list[str]:
        known = list(readings.every())
        habits, met = group_habits(known), count_failures(known)
        return [build_unread(archive, readings, archive.record(name)).page(habits, met) for name in session_ids]

    def own_project(context: Context[Any, Any]) -> str:
        meta = context.request_context.meta or {}
        session, folder = (str(meta.get(key) or "") for key in (SESSION_KEY, FOLDER_KEY))
        if session and archive.holds(session):
            return find_project(archive.record(session))
        beside = next((record for record in archive.records() if folder and record.cwd == folder), None)
        return find_project(beside) if beside else name_project(memory.root, folder)

    evidence, progress, readings = Evidence(archive), DreamProgress(memory.root), open_readings(memory.root)
    door = DreamDoor(
        evidence=evidence,
        archived=archive.session_ids,
        project_of=own_project,
        waiting=waiting,
        serve=serve,
        pages=pages,
        topics=lambda project: topic_lines(memory.root)(project),  # as they are when it asks
        shown=progress.note_shown,
        suggest=suggest,
        check=check,
    )
    return [*dream_tools(door), note_tool(memory)]


def find_calling_project(context: Context[Any, Any], root: MemoryRoot, person: PersonSettings) -> str:
    """The project of the folder that a call comes from; empty where the client does not tell it."""
    meta = context.request_context.meta or {}
    return whereabouts(str(meta.get(FOLDER_KEY) or ""), root, person).project


def note_tool(memory: Memory) -> Tool:
    """The tool by which a session tells others something. The session is the one that the client names, if it does."""

    def note_for_sessions(
        context: Context[Any, Any],
        text: Annotated[str, Field(description="replaces your last of this kind; empty takes it back")],
        kind: Annotated[str, Field(description=", ".join(NOTE_KINDS))] = NOTE_KINDS[0],
        session: str = "",  # its id, where the client does not tell it
    ) -> str:
        """Leaves other sessions a note of at most 4 kB; they read_memory("handoff")."""
        own = (context.request_context.meta or {}).get(SESSION_KEY)
        memory.note_for_sessions(str(own or session), kind, text)
        return "Told. The person sees it in `oneiros status`." if text.strip() else "Taken back."

    return strict_tool(note_for_sessions, WRITES)
