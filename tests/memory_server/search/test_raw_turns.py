import datetime as dt
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from memory_server.document import Answer, ChunkId, Document, Hit, Layer, LineRange, SourcePath, raw_path
from memory_server.index.raw import ArchivedSession, ArchivedTurn, RawIndex
from memory_server.language.words import Stemmer
from memory_server.layers.notes import SessionNote
from memory_server.search.question import parse_query
from memory_server.search.raw_turns import RawSearcher, append_hits, join_hits

DAY = dt.date(2026, 3, 1)
SESSION = "1111aaaa-0000-4000-8000-000000000001"
OTHER = "2222bbbb-0000-4000-8000-000000000002"


class TwoSessions:
    """One about a relay, one about a printer."""

    def marks(self) -> dict[str, str]:
        return {SESSION: "1", OTHER: "1"}

    def read_sizes(self) -> dict[str, int]:
        return {SESSION: 1, OTHER: 1}

    def read_days(self) -> dict[str, dt.date]:
        return {}

    def session(self, session_id: str) -> ArchivedSession:
        texts = {
            SESSION: ["Why does the relay drop connections?", "The idle timeout is 3600 seconds.", "Error E-4711"],
            OTHER: ["The printer jams.", "Clean the rollers of the printer.", "relayed to support"],
        }[session_id]
        document = Document(raw_path(session_id), Layer.RAW, "A day", DAY, "episodic", "app", "laptop")
        return ArchivedSession(document, [ArchivedTurn("person", t) for t in texts])

    def notes(self, session_id: str) -> tuple[str, Sequence[SessionNote]]:
        return "app", ()

    def at_depth(self, session_id: str, depth: str, first: int) -> str:
        return ""


def hit(path: str, layer: Layer, score: float) -> Hit:
    return Hit(ChunkId(path), "passage", SourcePath(path), LineRange(1, 1), layer, "A day", DAY, score)


def searcher(tmp_path: Path) -> RawSearcher:
    index = RawIndex(tmp_path / "raw.db", TwoSessions)
    index.bring_level()
    return RawSearcher(index, Stemmer())


def test_an_identifier_in_a_turn_is_found_with_its_turn_and_neighbours(tmp_path: Path) -> None:
    (found,) = searcher(tmp_path).exact(parse_query("E-4711"), 10)

    assert (found.path, found.lines, found.layer) == (f"sessions/archive/{SESSION}", LineRange(3, 3), Layer.RAW)
    assert "idle timeout is 3600 seconds" in found.passage


def test_the_session_that_speaks_most_of_it_comes_first_with_its_best_turn(tmp_path: Path) -> None:
    first = searcher(tmp_path).recall(parse_query("cleaning printers"), 10)[0]

    assert (first.path, first.lines) == (f"sessions/archive/{OTHER}", LineRange(2, 2))


def test_a_filter_holds_for_turns_too(tmp_path: Path) -> None:
    assert searcher(tmp_path).recall(parse_query("printer machine:laptop"), 10)
    assert searcher(tmp_path).recall(parse_query("printer machine:other"), 10) == []


def test_a_session_that_both_layers_find_is_one_hit_and_rises() -> None:
    statement = hit("sessions/compressed/2026/2026-03-01-a-day-1111aaaa.md", Layer.SESSION, 0.5)
    other = hit("sessions/compressed/2026/2026-03-01-b-day-3333cccc.md", Layer.SESSION, 0.52)
    turns = hit(f"sessions/archive/{SESSION}", Layer.RAW, 0.6)

    found = join_hits(Answer((other, statement)), [turns], [], [], 10)

    assert [one.path for one in found.hits] == [turns.path, other.path]


def test_a_session_that_only_its_turns_speak_of_is_a_raw_hit() -> None:
    turns = hit(f"sessions/archive/{SESSION}", Layer.RAW, 0.6)

    found = join_hits(Answer((), "nothing"), [turns], [], [], 10)

    assert ([one.layer for one in found.hits], found.note) == ([Layer.RAW], "")


def test_turns_behind_an_answer_leave_out_the_sessions_that_it_has() -> None:
    statement = hit("sessions/compressed/2026/2026-03-01-a-day-1111aaaa.md", Layer.SESSION, 0.2)
    same, other = (hit(f"sessions/archive/{name}", Layer.RAW, 0.6) for name in (SESSION, OTHER))

    found = append_hits(Answer((statement,)), [same, other], 10, "weak")

    assert [one.path for one in found.hits] == [statement.path, other.path]
    assert replace(found, hits=()) == Answer((), "weak")


def test_what_is_not_shown_is_not_explained() -> None:
    statement = hit("sessions/compressed/2026/2026-03-01-a-day-1111aaaa.md", Layer.SESSION, 0.2)

    found = append_hits(Answer((statement,)), [hit(f"sessions/archive/{OTHER}", Layer.RAW, 0.6)], 1, "weak")

    assert found == Answer((statement,))


def test_the_scores_of_a_session_add_up_over_all_that_found_it() -> None:
    weaker, stronger = (hit(f"sessions/archive/{name}", Layer.RAW, 0.5) for name in (SESSION, OTHER))
    said = hit(stronger.path, Layer.RAW, 0.2)

    found = join_hits(Answer(()), [weaker, stronger], [said], [], 10)

    assert [one.path for one in found.hits] == [stronger.path, weaker.path]
    assert found.hits[0].score > found.hits[1].score
