"""What `oneiros doctor` says of other agents: what lies here of each, what was read, and what was not understood.

What is read is the person's to say, so of an agent that the settings do not name files are counted and none is opened.
"""

from collections.abc import Iterator

from crawler.archive.files import SeenOfAgent, collect_seen
from crawler.sources.agent import AgentSource
from crawler.sources.conversation import version_key
from crawler.transcripts.tail import TailState
from memory_server.escaping import plural
from memory_server.root.paths import MemoryRoot
from oneiros.checks import Check, ok, warning
from oneiros.environment import Environment
from oneiros.ingest.settings import ingest_settings
from parts.agents.table import SOURCES, STORED

MOST_NAMED = 5
NOTHING = SeenOfAgent()


def check_agents(environment: Environment, root: MemoryRoot) -> Iterator[Check]:
    """A line an agent that keeps conversations here; one line where none does."""
    settings = ingest_settings(environment, root)
    with TailState(settings.state, settings.machine) as tail:
        seen = collect_seen(iter(tail.files().values()))
    found = False
    for name in STORED:
        source = SOURCES[name]
        stores = [one for one in source.stores(environment.home, environment.variables) if one.is_dir()]
        if files := sum(1 for store in stores for _ in source.files(store)):
            found = True
            yield _check(environment, source, ", ".join(map(str, stores)), files, seen.get(name, NOTHING))
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
