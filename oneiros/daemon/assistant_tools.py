"""The tools by which the running assistant takes part in dream, on the memory that the daemon serves."""

import time
from collections.abc import Sequence
from contextlib import closing
from dataclasses import replace

from mcp.server.mcpserver.tools import Tool

from dream.evidence import Evidence
from dream.judge.gate import Gate, Refusal
from dream.judge.rejections import Rejections
from dream.mcp_tools import DreamDoor, dream_tools
from dream.progress import DreamProgress
from dream.proposals.store import ProposalStore
from dream.records import Candidate
from dream.run import Dream, Suggested
from dream.topics import read_topics
from memory_server.memory import Memory
from memory_server.redaction import Redactor
from oneiros.dreaming import decisions_on
from oneiros.environment import Environment, now
from oneiros.ingest.settings import archive_of, over_when


def assistant_tools(environment: Environment, memory: Memory) -> list[Tool]:
    """The tools that read evidence and propose."""
    archive = archive_of(memory.root)

    def suggest(candidate: Candidate, wrong: str) -> Suggested:
        decisions = decisions_on(memory.root, memory.person)
        redactor = Redactor(memory.person.deny_words)
        return Dream(decisions, archive, (), now=now, clock=time.monotonic, redactor=redactor).suggest(candidate, wrong)

    def check(candidate: Candidate) -> Sequence[Refusal]:
        with closing(Rejections(ProposalStore(memory.root).rejections())) as rejections:
            gate = Gate(evidence, read_topics(memory.root), rejections, Redactor(memory.person.deny_words))
            return gate.check(candidate)

    def waiting() -> list[str]:
        is_over = over_when(replace(environment), memory.root)  # with the settings as they are
        return [name for name in progress.serve(archive, now()) if is_over(name)]

    evidence, progress = Evidence(archive), DreamProgress(memory.root)
    return dream_tools(DreamDoor(evidence, archive.session_ids, waiting, progress.note_shown, suggest, check))
