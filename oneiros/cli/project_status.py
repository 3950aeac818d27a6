"""`status --project`: what the memory holds of one project, and what waits of it."""

from collections import Counter
from collections.abc import Iterator, Mapping
from typing import Any

from dream.proposals.rendering import waiting_for_person
from dream.proposals.store import ProposalStore
from dream.records import State
from memory_server.escaping import escape_line, plural
from memory_server.layers.lessons import read_lessons
from memory_server.layers.topics import is_topic, topic_heads
from memory_server.root.places import require_memory
from oneiros.cli.terminal.output import moment_text
from oneiros.environment import Environment
from oneiros.ingest.readings import find_project, open_readings, waiting_projects
from oneiros.ingest.settings import open_archive


def project_status(environment: Environment, project: str) -> dict[str, Any]:
    """What the memory holds of one project, and what waits of it, from its files alone."""
    root = require_memory(environment.choice.root)
    readings, store = open_readings(root), ProposalStore(root)

    def is_ours(name: str) -> bool:
        return name.casefold() == project.casefold()

    records = [record for record in open_archive(root).records() if is_ours(find_project(record))]
    known = [readings.load(record.session_id) for record in records]
    hunks = [hunk for hunk in store.hunks() if is_ours(hunk.update.candidate.project)]
    waiting = waiting_projects(environment, root) if environment.person.reader != "rules" else Counter()
    return {
        "project": project,
        "topics": sum(is_topic(head.path) and is_ours(head.project) for head in topic_heads(root)),
        "lessons": sum(is_ours(lesson.project) for lesson in read_lessons(root)),
        "sessions": len(records),
        "last_session": max((record.ended for record in records), default=""),
        "by_model": sum(reading is not None and reading.is_by_model for reading in known),
        "waiting": sum(count for name, count in waiting.items() if is_ours(name)),
        "proposed": len(waiting_for_person(hunks)),
        "queued": sum(hunk.state is State.QUEUED for hunk in hunks),
    }


def project_lines(found: Mapping[str, Any]) -> Iterator[str]:
    """How a project stands, for a person."""
    yield f"project   {escape_line(found['project'])}"
    yield f"topics    {found['topics']}, and {plural(found['lessons'], 'lesson')}"
    last = f", the last {moment_text(found['last_session'])}" if found["last_session"] else ""
    yield f"sessions  {found['sessions']} archived{last}"
    yield f"readings  {found['by_model']} by a model, {found['waiting']} wait for one"
    yield f"proposals {found['proposed']} to review, {found['queued']} wait for another day"
