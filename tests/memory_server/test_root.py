from pathlib import Path

import pytest

from memory_server.errors import NeedsRepair
from memory_server.root.paths import choose_root, find_memories
from memory_server.root.places import require_memory
from tests.memories import root_at


@pytest.fixture
def home(tmp_path: Path) -> Path:
    return make(tmp_path / "home" / ".oneiros" / "memory").parent.parent


def make(memory: Path) -> Path:
    memory.mkdir(parents=True)
    (memory / "MEMORY.md").write_text("# Memory\n", encoding="utf-8")
    return memory


def test_the_memory_of_a_hostile_checkout_takes_no_effect(tmp_path: Path, home: Path) -> None:
    hostile = make(tmp_path / "checkout" / "memory")

    choice = choose_root({}, tmp_path / "checkout", home, trusted=())

    assert choice.root.path == home / ".oneiros" / "memory"
    assert choice.ignored == hostile


def test_a_trusted_memory_is_used_from_anywhere_below_it(tmp_path: Path, home: Path) -> None:
    memory = make(tmp_path / "project" / "memory")
    below = tmp_path / "project" / "src" / "deep"
    below.mkdir(parents=True)

    choice = choose_root({}, below, home, trusted=(memory,))

    assert (choice.root.path, choice.ignored) == (memory, None)


def test_an_untrusted_memory_does_not_switch_off_the_trusted_one_above_it(tmp_path: Path, home: Path) -> None:
    memory = make(tmp_path / "project" / "memory")
    vendored = make(tmp_path / "project" / "vendor" / "thing" / "memory")

    choice = choose_root({}, vendored.parent, home, trusted=(memory,))

    assert (choice.root.path, choice.ignored) == (memory, vendored)


def test_trust_is_of_the_real_folder_not_of_a_name(tmp_path: Path, home: Path) -> None:
    memory = make(tmp_path / "real" / "memory")
    (tmp_path / "link").symlink_to(tmp_path / "real")

    choice = choose_root({}, tmp_path / "link", home, trusted=(memory,))

    assert choice.root.path.resolve() == memory.resolve()


def test_a_root_that_the_environment_names_wins(tmp_path: Path, home: Path) -> None:
    memory = make(tmp_path / "project" / "memory")

    choice = choose_root({"ONEIROS_ROOT": "elsewhere"}, tmp_path / "project", home, trusted=(memory,))

    assert choice.root.path == tmp_path / "project" / "elsewhere"


@pytest.mark.parametrize(("named", "expected"), [("~/mine", "mine"), ("~", "")])
def test_a_tilde_means_the_home_that_was_handed_in(tmp_path: Path, home: Path, named: str, expected: str) -> None:
    choice = choose_root({"ONEIROS_ROOT": named}, tmp_path, home, trusted=())

    assert choice.root.path == home / expected


def test_the_memory_of_the_account_is_never_ignored(home: Path) -> None:
    choice = choose_root({}, home / ".oneiros" / "memory", home, trusted=())

    assert (choice.root.path, choice.ignored) == (home / ".oneiros" / "memory", None)


def test_a_folder_is_a_memory_by_its_index_page_alone(tmp_path: Path) -> None:
    (tmp_path / "memory").mkdir()
    inside = make(tmp_path / "inner")

    assert [*find_memories(inside)] == [inside]
    assert [*find_memories(tmp_path / "memory")] == []


def test_a_missing_memory_is_named_with_the_next_command(tmp_path: Path) -> None:
    with pytest.raises(NeedsRepair, match="oneiros init"):
        require_memory(root_at(tmp_path))


def test_sources_are_named_with_slashes(tmp_path: Path) -> None:
    root = root_at(tmp_path)

    source = root.relative(root.topics / "shop" / "mail.md")

    assert source == "topics/shop/mail.md"
    assert root.file(source) == root.topics / "shop" / "mail.md"
