"""The logged questions asked again: what moved."""

from pathlib import Path

import pytest

from memory_server.errors import ContentError
from memory_server.memory import Memory
from parts.models.replay import replay_answers, save_answers
from tests.memories import search_exact, searches_of, write_topic


def test_nothing_moves_where_nothing_changed(memory: Memory, tmp_path: Path) -> None:
    write_topic(memory, "mail", "# Mail\n\nThe relay listens on port 2525.\n")
    memory.reindex()
    for ask in searches_of(memory):
        ask("relay port")

    assert save_answers(memory, tmp_path / "before.json") == 3
    found = replay_answers(memory, tmp_path / "before.json")

    assert (found.questions, found.same, found.same_first, found.overlap, found.moved) == (3, 3, 3, 1.0, ())
    assert len(memory.list_queries()) == 3


def test_what_moved_is_named(memory: Memory, tmp_path: Path) -> None:
    write_topic(memory, "mail", "# Mail\n\nThe relay listens on port 2525.\n")
    memory.reindex()
    search_exact(memory, "relay")
    save_answers(memory, tmp_path / "before.json")
    (memory.root.topics / "mail.md").unlink()
    write_topic(memory, "post", "# Post\n\nThe relay listens on port 2525.\n")
    memory.reindex()

    found = replay_answers(memory, tmp_path / "before.json")

    assert (found.same, found.overlap) == (0, 0.0)
    assert found.moved[0].gone == ("topics/mail.md:3-3",) and found.moved[0].come == ("topics/post.md:3-3",)


@pytest.mark.parametrize(
    "text", ["", "[]", '{"version": 1, "model": "x", "answers": [{"tool": "rm", "query": "x", "hits": []}]}']
)
def test_another_file_is_a_clear_error(memory: Memory, tmp_path: Path, text: str) -> None:
    file = tmp_path / "before.json"
    file.write_text(text, encoding="utf-8")

    with pytest.raises(ContentError, match="oneiros queries --save"):
        replay_answers(memory, file)
