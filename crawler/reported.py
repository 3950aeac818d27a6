"""A pair of turns as somebody reports it: kept in the archive, and evidence of nothing.

Whoever holds the token may report whatever it likes, so neither half is taken for words of the person or of the
assistant: both are somebody else's, as those of a team mate are. Pairs of one session follow each other; one that is
reported again is the one that is there.
"""

from dataclasses import dataclass
from datetime import datetime

from crawler.archive.append import Ingester, IngestSettings
from crawler.archive.store import SessionKey
from crawler.sources.conversation import hash_texts
from crawler.transcripts.entry import Entry, EntryPart, PartKind
from crawler.transcripts.injected import cut_injected, cut_reminder_span
from memory_server.errors import UsageError

AGENT = "reported"  # as `agent:` filters by it


@dataclass(frozen=True, slots=True)
class ReportedPair:
    """What was asked and answered, by hearsay."""

    prompt: str
    reply: str
    time: datetime  # aware
    session: str = ""  # the reporter's name for it; without one, what is of a project, an instance and a day is one
    project: str = ""  # its name or path
    instance: str = ""  # which agent or machine reports it


@dataclass(frozen=True, slots=True)
class TakenPair:
    """Where a pair stands; `entries` is 0 where it was there already."""

    session_id: str
    entries: int


def take_reported(pair: ReportedPair, settings: IngestSettings, *, is_timed: bool) -> TakenPair:
    """Archives a pair, masked. `is_timed`: whether its time was told, and tells it from the same words said before.

    Raises UsageError where the person's choice leaves it out, NeedsRepair where another process keeps the archive.
    """
    if settings.choice.is_excluded_by(pair.prompt):
        raise UsageError("a line of the prompt leaves this conversation out", remedy="Nothing of it was kept")
    if not settings.choice.takes(pair.project, pair.project):
        raise UsageError("the settings leave out its project", remedy="`oneiros config ingest_allow` shows which count")
    time = pair.time.isoformat(timespec="milliseconds")
    name = pair.session or "\0".join((pair.project, pair.instance, time[:10]))
    session_id, pair_id = hash_texts(AGENT, name), hash_texts(time if is_timed else "", pair.prompt, pair.reply)
    entries = [Entry(id=hash_texts(session_id, "main"))]  # the root of the chain
    halves = {"prompt": f"The person, as reported: {pair.prompt}", "reply": f"The assistant, as reported: {pair.reply}"}
    for half, text in halves.items():
        part = EntryPart(PartKind.TEAMMATE, cut_reminder_span(cut_injected(text)).strip())
        own_id, parent = hash_texts(f"{pair_id}-{half}"), entries[-1].id
        entries.append(Entry(id=own_id, parent=parent, time=time, parts=(part,), session_id=session_id))
    key = SessionKey(session_id, machine=pair.instance, project=pair.project, agent=AGENT)
    with Ingester(settings) as ingester:
        return TakenPair(session_id, ingester.append(key, entries))
