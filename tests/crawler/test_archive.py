from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from crawler.archive.store import Archive, SessionKey
from crawler.transcripts.entry import Entry, EntryPart, PartKind
from memory_server.errors import ContentError
from tests.crawler.builders import OTHER_SESSION, SESSION, entry_id


def entry(number: int, text: str = "") -> Entry:
    return Entry(
        id=entry_id(number), parent=entry_id(number - 1), parts=(EntryPart(PartKind.TEXT, text or f"text {number}"),)
    )


def link(number: int) -> Entry:
    return Entry(id=entry_id(number), parent=entry_id(number - 1))


@pytest.fixture
def archive(tmp_path: Path) -> Archive:
    return Archive(tmp_path / "archive", tmp_path / "hashes")


def test_an_entry_is_found_by_session_and_id_or_the_beginning_of_it(archive: Archive) -> None:
    archive.add(SessionKey(SESSION), [entry(number, "x" * 5000) for number in range(1, 200)])

    assert archive.entry(SESSION, entry_id(150)) == entry(150, "x" * 5000)
    assert archive.entry(SESSION, entry_id(150)[:8]).id == entry_id(150)


@pytest.fixture
def unpacked(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """The bytes of each frame that is unpacked from now on."""
    found: list[int] = []
    decode = Archive._decode

    def counted(self: Archive, packed: bytes) -> Iterator[Entry]:
        found.append(len(packed))
        return decode(self, packed)

    monkeypatch.setattr(Archive, "_decode", counted)
    return found


def test_one_entry_costs_unpacking_one_frame(archive: Archive, unpacked: list[int]) -> None:
    archive.add(SessionKey(SESSION), [entry(number, "x" * 5000) for number in range(1, 200)])
    archive.entry(SESSION, entry_id(150))

    assert len(archive.record(SESSION).segments[0].frames) > 5
    assert len(unpacked) == 1


def test_an_unknown_or_ambiguous_entry_is_an_error_that_says_what_to_do(archive: Archive) -> None:
    archive.add(SessionKey(SESSION), [entry(1), entry(2)])

    with pytest.raises(ContentError, match="not in the archive"):
        archive.entry(SESSION, "ffff")
    with pytest.raises(ContentError, match=r"ambiguous\. Give more of the id"):
        archive.entry(SESSION, "0000000")


def test_an_entry_added_again_is_kept_once(archive: Archive) -> None:
    archive.add(SessionKey(SESSION), [entry(1), link(2), entry(3)])

    assert archive.add(SessionKey(SESSION), [entry(1), link(2), entry(3), entry(4)]) == 1
    assert [e.id for e in archive.entries(SESSION)] == [entry_id(n) for n in (1, 2, 3, 4)]


def test_words_that_follow_a_mere_link_of_the_same_id_are_kept(archive: Archive) -> None:
    archive.add(SessionKey(SESSION), [link(1)])

    assert archive.add(SessionKey(SESSION), [entry(1)]) == 1


def test_a_sealed_session_holds_the_same_in_one_object(archive: Archive) -> None:
    for number in range(1, 9):
        archive.add(SessionKey(SESSION), [entry(number)])
    before = archive.hash_session(SESSION)

    archive.seal(SESSION)

    assert archive.hash_session(SESSION) == before
    assert len(list(archive.folder.rglob("*.zst"))) == 1
    assert archive.verify() == []


def test_a_session_is_unpacked_once_for_its_hash_whoever_asks(
    archive: Archive, tmp_path: Path, unpacked: list[int]
) -> None:
    archive.add(SessionKey(SESSION), [entry(1)])
    before = archive.hash_session(SESSION)
    unpacked.clear()

    assert (Archive(archive.folder, tmp_path / "hashes").hash_session(SESSION), unpacked) == (before, [])
    archive.add(SessionKey(SESSION), [entry(2)])
    assert archive.hash_session(SESSION) != before and len(unpacked) == 2


def test_a_kept_hash_that_is_torn_is_made_again(archive: Archive, tmp_path: Path) -> None:
    archive.add(SessionKey(SESSION), [entry(1)])
    before = archive.hash_session(SESSION)
    (kept,) = (tmp_path / "hashes").iterdir()
    whole = kept.read_bytes()

    for torn in (b"", whole[:40], b"\0" * 60, b"\xff"):
        kept.write_bytes(torn)
        assert archive.hash_session(SESSION) == before and kept.read_bytes() == whole


@pytest.mark.parametrize("damage", [lambda file: file.unlink(), lambda file: file.write_bytes(file.read_bytes()[:-9])])
def test_a_session_whose_object_went_or_was_torn_has_no_hash(archive: Archive, damage: Callable[[Path], None]) -> None:
    archive.add(SessionKey(SESSION), [entry(1)])
    archive.hash_session(SESSION)
    (packed,) = archive.folder.rglob("*.zst")
    damage(packed)

    with pytest.raises(ContentError, match="missing or damaged"):
        archive.hash_session(SESSION)


def test_nothing_of_a_session_that_was_forgotten_or_taken_out_tells_its_hash(archive: Archive, tmp_path: Path) -> None:
    for session_id, number in ((SESSION, 1), (OTHER_SESSION, 2)):
        archive.add(SessionKey(session_id), [entry(number)])
        archive.hash_session(session_id)

    archive.forget(SESSION)
    archive.take_out(OTHER_SESSION)

    assert list((tmp_path / "hashes").iterdir()) == []


@pytest.mark.parametrize("remove", [Archive.forget, Archive.take_out])
def test_nothing_tells_the_hash_of_a_session_that_goes_while_it_is_hashed(
    archive: Archive, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, remove: Callable[[Archive, str], object]
) -> None:
    archive.add(SessionKey(SESSION), [entry(1)])
    hash_entries = Archive._hash_entries

    def hash_and_remove(self: Archive, session_id: str) -> str:
        found = hash_entries(self, session_id)
        remove(archive, session_id)
        return found

    monkeypatch.setattr(Archive, "_hash_entries", hash_and_remove)

    archive.hash_session(SESSION)

    assert list((tmp_path / "hashes").iterdir()) == []


def test_nothing_tells_the_hash_of_a_session_that_is_hashed_while_it_is_forgotten(
    archive: Archive, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    archive.add(SessionKey(SESSION), [entry(1)])
    remove_objects = Archive._remove_objects

    def hash_and_remove(self: Archive, names: set[str], *, without: str = "") -> int:
        self.hash_session(SESSION)
        return remove_objects(self, names, without=without)

    monkeypatch.setattr(Archive, "_remove_objects", hash_and_remove)

    archive.forget(SESSION)

    assert list((tmp_path / "hashes").iterdir()) == []


def test_verify_names_a_damaged_and_a_missing_object(archive: Archive) -> None:
    archive.add(SessionKey(SESSION), [entry(1)])
    archive.add(SessionKey(OTHER_SESSION), [entry(2)])
    first, second = sorted(archive.folder.rglob("*.zst"))
    first.write_bytes(first.read_bytes()[:-3] + b"xyz")
    second.unlink()

    assert [problem.rule for problem in archive.verify()] == ["archive-damaged", "archive-damaged"]


def test_an_object_that_no_session_names_is_reported_and_removed(archive: Archive) -> None:
    archive.add(SessionKey(SESSION), [entry(1)])
    orphan = archive.folder / "objects" / "ab" / ("ab" * 16 + ".zst")
    orphan.parent.mkdir(exist_ok=True)
    orphan.write_bytes(b"x")

    assert [problem.rule for problem in archive.verify()] == ["archive-orphan"]
    assert archive.remove_orphans() == 1
    assert archive.verify() == []


def test_a_forgotten_session_is_gone_and_does_not_come_back(archive: Archive) -> None:
    archive.add(SessionKey(SESSION), [entry(1, "the forgotten words")])

    assert archive.forget(SESSION)

    assert archive.session_ids() == []
    assert list(archive.folder.rglob("*.zst")) == []
    assert archive.add(SessionKey(SESSION), [entry(1)]) == 0
    assert SESSION not in "".join(path.read_text() for path in archive.folder.rglob("*") if path.is_file())


def test_forgetting_keeps_what_another_session_shares(archive: Archive) -> None:
    archive.add(SessionKey(SESSION), [entry(1)])
    archive.add(SessionKey(OTHER_SESSION), [entry(1)])

    archive.forget(SESSION)

    assert archive.verify() == []
    assert archive.entry(OTHER_SESSION, entry_id(1)) == entry(1)


@pytest.mark.parametrize("name", ["../../etc/passwd", "a/b", "", ".hidden", "x" * 200])
def test_a_session_id_cannot_name_a_file_elsewhere(archive: Archive, name: str) -> None:
    with pytest.raises(ContentError, match="is no session id"):
        archive.record(name)
