import datetime as dt
from collections.abc import Mapping, Sequence
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memory_server.document import Document, Layer, raw_path
from memory_server.index.build import Progress
from memory_server.index.raw import PIECE_CHARS, SMALL_BYTES, ArchivedSession, ArchivedTurn, RawIndex, split_pieces
from memory_server.layers.notes import SessionNote


class Sessions:
    """A store of sessions in a dict: id -> texts of the assistant's turns."""

    def __init__(self, texts: dict[str, list[str]]):
        self.texts = texts

    def marks(self) -> Mapping[str, str]:
        return {session_id: str(hash(tuple(turns))) for session_id, turns in self.texts.items()}

    def read_sizes(self) -> Mapping[str, int]:
        return {session_id: sum(map(len, turns)) for session_id, turns in self.texts.items()}

    def read_days(self) -> Mapping[str, dt.date]:
        return {}

    def session(self, session_id: str) -> ArchivedSession:
        turns = [ArchivedTurn("assistant", text) for text in self.texts[session_id]]
        head = Document(
            raw_path(session_id), Layer.RAW, session_id.title(), dt.date(2026, 3, 1), "episodic", "app", "laptop"
        )
        return ArchivedSession(head, turns)

    def notes(self, session_id: str) -> tuple[str, Sequence[SessionNote]]:
        return "app", ()

    def at_depth(self, session_id: str, depth: str, first: int) -> str:
        return f"{session_id} {depth} {first}"


@pytest.fixture
def store() -> Sessions:
    return Sessions({"one": ["the relay listens"], "two": ["the printer jams", "again"]})


def passages(index: RawIndex) -> list[str]:
    return [row[0] for row in index.ledger.connection.execute("select passage from chunk order by source, ordinal")]


def test_every_turn_is_a_passage_that_names_its_role(tmp_path: Path, store: Sessions) -> None:
    index = RawIndex(tmp_path / "raw.db", lambda: store)

    index.bring_level()

    assert passages(index) == ["assistant: the relay listens", "assistant: the printer jams", "assistant: again"]
    assert len(index.snapshot().passages) == 3
    index.close()


def test_only_what_changed_in_the_archive_is_read_again(tmp_path: Path, store: Sessions) -> None:
    index = RawIndex(tmp_path / "raw.db", lambda: store)
    index.bring_level()
    store.texts["two"] = ["the printer prints"]
    del store.texts["one"]

    assert index.changes() == (["two"], ["one"])
    assert index.bring_level() == 2
    assert (passages(index), index.bring_level()) == (["assistant: the printer prints"], 0)
    index.close()


def test_a_new_index_holds_the_same(tmp_path: Path, store: Sessions) -> None:
    index = RawIndex(tmp_path / "raw.db", lambda: store)
    index.bring_level()
    before = passages(index)

    index.drop()
    index.bring_level()

    assert passages(index) == before
    index.close()


def test_an_empty_archive_makes_no_file(tmp_path: Path) -> None:
    index = RawIndex(tmp_path / "raw.db", lambda: Sessions({}))

    assert (index.bring_level(), index.is_empty) == (0, True)
    assert not (tmp_path / "raw.db").exists()


@given(st.text(alphabet=st.sampled_from("ab \n."), max_size=5_000))
def test_pieces_lose_nothing_but_white_space_at_their_ends(text: str) -> None:
    pieces = list(split_pieces(text))

    assert "".join("".join(pieces).split()) == "".join(text.split())
    assert all(len(piece) <= PIECE_CHARS + 200 for piece in pieces)


def test_short_sessions_are_read_first_and_a_search_goes_on_beside_a_long_one(tmp_path: Path) -> None:
    texts = {"a": ["x" * SMALL_BYTES], "b": ["the relay listens"], "c": ["the printer jams"]}
    index = RawIndex(tmp_path / "raw.db", lambda: Sessions(texts))
    seen = []

    def look(_: Progress) -> None:
        seen.append([passage for passage in passages(index) if len(passage) < 100])
        assert index.bring_level(waits=False) == 0  # this thread is at it

    assert index.bring_level(look) == 3
    assert sorted(seen[0]) == ["assistant: the printer jams", "assistant: the relay listens"]
    assert len(seen) == 2
    assert not index.is_small(["a", "b"]) and index.is_small(["b", "c"])
    assert len(index.snapshot().passages) == len(passages(index))
    index.close()
