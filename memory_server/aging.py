"""What time does to one memory: how alive its sources are, which of them fade, and whether something went missing.

Put together from `lifecycle/` and the indices; it asks them, and notes what can be found alone. A part carries a plan
of `lifecycle/gc.py` out, and the next index run makes the indices as the marks then say.
"""

import datetime as dt
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass

from memory_server.document import SourcePath
from memory_server.index.indices import Indices
from memory_server.index.raw import RawIndex
from memory_server.index.schema import SCHEMA_VERSION
from memory_server.layers.mif import MAX_FRONTMATTER_CHARS, parse_frontmatter
from memory_server.layers.sessions import cut_id8, find_superseded_files, parse_id8
from memory_server.layers.topics import markdown_files, read_text
from memory_server.lifecycle.aliveness import NO_DECAY, Aliveness, Decay
from memory_server.lifecycle.fading import read_marks
from memory_server.lifecycle.findable import note_findable
from memory_server.lifecycle.gc import FadingSource, GcPlan, GcWanted, find_known_since, plan_gc
from memory_server.lifecycle.use import UseLog
from memory_server.machine.files import is_plain_file
from memory_server.root.paths import MemoryRoot
from memory_server.settings import PersonSettings

NOT_ARCHIVED: tuple[str, dt.date | None] = ("", None)  # no session's id and no day


@dataclass(frozen=True, slots=True)
class Aging:
    """The sources of one root under the eyes of time. Nothing here reads a clock."""

    root: MemoryRoot
    indices: Indices
    raw: RawIndex | None
    use: UseLog
    person: PersonSettings
    today: dt.date

    def aliveness(self, paths: Collection[str] = ()) -> Aliveness:
        """What is known of the use of some sources, or of all."""
        return Aliveness.of(self.root, self.use, self.person, self.today, paths)

    def measure_use(self, paths: Collection[SourcePath]) -> Mapping[SourcePath, Mapping[str, float]]:
        """How often some sources were found, opened and drilled into, and how alive they are."""
        if not paths:
            return {}
        aliveness = self.aliveness(paths)
        archived = self._read_archived() if any(map(parse_id8, paths)) else {}
        known = {source.path: (source.date, source.kind) for source in self.indices.snapshot().sources.values()}
        found = {}
        for path in dict.fromkeys(paths):
            use, (day, kind) = aliveness.use(path), known.get(path, (None, ""))
            _, taken_in = archived.get(parse_id8(path), NOT_ARCHIVED)
            since = find_known_since(day, taken_in)
            alive = aliveness.strength(path, since, kind, decay=_read_decay(self._content(path)))
            numbers = {"found": use.found, "opened": use.opened, "drilled": use.drilled}
            found[path] = {**{name: float(count) for name, count in numbers.items()}, "strength": alive.value}
        return found

    def plan(self, citations: Mapping[str, int], wanted: GcWanted | None = None) -> GcPlan:
        """Which sessions and episodes would fade. `citations`: how many statements rest on each subject."""
        wanted = wanted or GcWanted(fade_days=self.person.fade_days)
        marks, opened = read_marks(self.root.marks), self.use.read_opened_lines()
        return plan_gc(list(self._sources()), self.aliveness(), marks, opened, citations, wanted)

    def _sources(self) -> Iterator[FadingSource]:
        """Every session and episode that is not in the attic."""
        archived, ending, snapshot = self._read_archived(), self._ending(), self.indices.snapshot()
        for source in snapshot.sources.values():
            if source.path.startswith(("sessions/", "episodes/")) and self.root.file(source.path).exists():
                content = self._content(source.path)
                session, taken_in = archived.get(parse_id8(source.path), NOT_ARCHIVED)
                yield FadingSource(
                    path=source.path,
                    day=source.date,
                    kind=source.kind,
                    session=session,
                    ended=source.path in ending and self._has_ended(source.path),
                    replaced_by=snapshot.superseded.get(source.path, ""),
                    project=source.project,
                    lines=content.count(b"\n"),
                    decay=_read_decay(content),
                    archived=taken_in,
                )
        for file in sorted(find_superseded_files(markdown_files(self.root.sessions))):
            yield FadingSource(self.root.relative(file), None, "episodic", replaced_by="a newer file of it")

    def _read_archived(self) -> Mapping[str, tuple[str, dt.date | None]]:
        """By the part of a session's id that stands in file names: the id, and the day of its last turns' ingest."""
        days = self.raw.store.read_days() if self.raw is not None else {}
        return {cut_id8(name): (name, day) for name, day in days.items()}

    def _content(self, path: SourcePath) -> bytes:
        file = self.root.file(path)
        return file.read_bytes() if is_plain_file(file) else b""

    def _ending(self) -> Collection[str]:
        """The sources in whose frontmatter an end may stand."""
        like = "select path from source where layer = 'session' and (body like '%ttl%' or body like '%validUntil%')"
        return {path for (path,) in self.indices.ledger.connection.execute(like)}

    def _has_ended(self, path: SourcePath) -> bool:
        last = parse_frontmatter(read_text(self.root.file(path))).interval().last
        return last is not None and last < self.today

    def note_findable(self) -> None:
        """Counts what can be found, for the loss alarm; references are files of others, and come and go.

        The lessons and MEMORY.md are no topics, as in every other count of them.
        """
        counts: dict[str, int] = {}
        rows = self.indices.ledger.connection.execute(
            "select layer, count(distinct source.id), count(text_hash) from source"
            " left join chunk on chunk.source = source.id where layer = 'session'"
            " or (layer = 'topic' and path like 'topics/%') group by layer"
        )
        for layer, sources, passages in rows:
            counts |= {f"{layer}s": sources, f"passages of {layer}s": passages}
        if self.raw is not None and not self.raw.is_empty:
            turns = self.raw.ledger.connection
            counts["archived sessions"] = turns.execute("select count(*) from source").fetchone()[0]
        note_findable(self.root, counts, f"{self.indices.fingerprint} {SCHEMA_VERSION} topics", self.today)

    # -- topics, which never fade -------------------------------------------------------------------------------

    def find_unused_topics(self) -> Sequence[tuple[SourcePath, str]]:
        """Topics that nobody finds, and such as are found and never opened, each with what is known of its use."""
        aliveness, found = self.aliveness(), []
        if (self.today - aliveness.since).days < self.person.fade_days:
            return ()  # too little is known yet
        for source in self.indices.snapshot().sources.values():
            use = aliveness.use(source.path)
            if not source.path.startswith("topics/") or use.accesses or source.path in aliveness.to_keep:
                continue
            if source.date and (self.today - source.date).days >= self.person.fade_days:
                reason = f"found {use.found} times and never opened" if use.found else "found by no question"
                found.append((source.path, f"{reason} since {aliveness.since.isoformat()}"))
        return sorted(found)


def _read_decay(content: bytes) -> Decay:
    """What a file says of its decay; most say nothing, and are not parsed."""
    if b"decay" not in content[:MAX_FRONTMATTER_CHARS]:
        return NO_DECAY
    return Decay.of(parse_frontmatter(content.decode("utf-8", "replace")))
