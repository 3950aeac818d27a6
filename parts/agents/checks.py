"""What `oneiros doctor` says of other agents: what lies here of each, what was read, and what was not understood.

What is read is the person's to say, so of an agent that the settings do not name files are counted and none is opened.
"""

from collections import Counter
from collections.abc import Iterator
from contextlib import closing
from dataclasses import dataclass, field

import msgspec

from crawler.archive.files import Seen
from crawler.sources.agent import AgentSource
from crawler.sources.conversation import version_key
from crawler.transcripts.tail import FileState, TailState, Verdict
from memory_server.escaping import plural
from memory_server.root.paths import MemoryRoot
from oneiros.checks import Check, ok, warning
from oneiros.environment import Environment
from oneiros.ingest.settings import ingest_settings
from parts.agents.table import SOURCES, STORED

MOST_NAMED = 5


@dataclass(slots=True)
class SeenOfAgent:
    """What is known of all files of an agent that were read."""

    files: int = 0
    version: str = ""
    unknown: Counter[str] = field(default_factory=Counter)


def collect_seen(states: Iterator[FileState]) -> dict[str, SeenOfAgent]:
    """The files read of each agent, by its name."""
    found: dict[str, SeenOfAgent] = {}
    for state in states:
        if state.verdict is Verdict.TAKEN and state.reason:
            seen = msgspec.json.decode(state.reason, type=Seen)
            of_agent = found.setdefault(seen.agent, SeenOfAgent())
            of_agent.files += 1
            of_agent.unknown.update(seen.unknown)
            of_agent.version = max(of_agent.version, seen.version, key=version_key)
    return found


def check_agents(environment: Environment, root: MemoryRoot) -> Iterator[Check]:
    """A line an agent that keeps conversations here; one line where none does."""
    settings = ingest_settings(environment, root)
    with closing(TailState(settings.state, settings.machine)) as tail:
        seen = collect_seen(iter(tail.files().values()))
    found = False
    for name in STORED:
        source = SOURCES[name]
        stores = [one for one in source.stores(environment.home, environment.variables) if one.is_dir()]
        if files := sum(1 for store in stores for _ in source.files(store)):
            found = True
            yield _check(environment, source, ", ".join(map(str, stores)), files, seen.get(name, SeenOfAgent()))
    if not found:
        yield ok("no other agent keeps conversations here")


def _check(environment: Environment, source: AgentSource, where: str, files: int, seen: SeenOfAgent) -> Check:
    summary = f"{source.TITLE}: store found, {where}, {plural(files, 'file')}, {seen.files} read"
    if seen.version:
        summary += f", newest version seen {seen.version}, reader made from {source.MADE_FROM}"
    if seen.unknown:
        named = ", ".join(f"{kind} ({count})" for kind, count in seen.unknown.most_common(MOST_NAMED))
        more = f" and {len(seen.unknown) - MOST_NAMED} more" if len(seen.unknown) > MOST_NAMED else ""
        return warning(
            f"{summary}; unknown types: {named}{more}", "What they hold is not read; a newer oneiros may know them"
        )
    if is_newer(seen.version, source.MADE_FROM):
        return warning(summary, "If turns are missing, a newer oneiros may know this version")
    if source.NAME in environment.person.agents and seen.files < files:
        return warning(summary, "oneiros ingest")
    is_off = source.NAME not in environment.person.agents
    return ok(f"{summary}; taken in by `oneiros config agents`" if is_off else summary)


def is_newer(version: str, made_from: str) -> bool:
    """Whether a version is beyond those that a reader was made from, by its first two numbers."""
    return version_key(version)[:2] > version_key(made_from.rpartition(" ")[2])[:2]
