"""The tools by which the running assistant takes part in dream, on the memory that the daemon serves."""

import time
from dataclasses import replace

from mcp.server.mcpserver.tools import Tool

from dream.evidence import Evidence
from dream.mcp_tools import DreamDoor, dream_tools
from dream.progress import DreamProgress
from dream.records import Candidate
from dream.run import Dream, Suggested
from memory_server.memory import Memory
from memory_server.redaction import Redactor
from oneiros.dreaming import decisions_on
from oneiros.environment import Environment, now
from oneiros.ingest.settings import archive_of, over_when


def assistant_tools(environment: Environment, memory: Memory) -> list[Tool]:
    """The tools that read evidence and propose."""
    archive = archive_of(memory.root)

    def suggest(candidate: Candidate) -> Suggested:
        decisions = decisions_on(memory.root, memory.person)
        redactor = Redactor(memory.person.deny_words)
        return Dream(decisions, archive, (), now=now, clock=time.monotonic, redactor=redactor).suggest(candidate)

    def waiting() -> list[str]:
        is_over = over_when(replace(environment), memory.root)  # with the settings as they are
        return [name for name in DreamProgress(memory.root).serve(archive, now()) if is_over(name)]

    return dream_tools(DreamDoor(Evidence(archive), waiting, suggest))
