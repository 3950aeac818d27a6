"""What a prompt names and earlier sessions of the project settled is told by its name, once, and nothing else is."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from memory_server.index.typed_lines import TypedLine
from memory_server.memory import Memory
from oneiros.hooks.call import HookCall
from oneiros.hooks.prompt import answer_prompt, find_settled_name
from tests.conftest import MakeEngine
from tests.memories import new_root, open_memory, write_topic

BUDGET = 2_000
LINES = {"decision": "merge_tags keeps the first of two equal tags", "fact": "load_page reads ShopPage.tsx"}
LINE = "Earlier sessions settled something about `merge_tags`: recall it."


@pytest.fixture(scope="module")
def memory(tmp_path_factory: pytest.TempPathFactory, make_engine: MakeEngine) -> Iterator[Memory]:
    """A session that decided about one function and told a fact about another, and a topic about a third."""
    root = new_root(tmp_path_factory.mktemp("settled") / "memory")
    write_topic(root, "pay", "# Pay\n\nThe function pay_bill of the shop rounds each bill to a cent.\n")
    with open_memory(root, make_engine) as opened:
        opened.reindex()
        lines = [
            TypedLine("s-1", place, kind, text, "", "shop", ()) for place, (kind, text) in enumerate(LINES.items())
        ]
        opened.typed_lines.replace("s-1", "1", "shop", lines)
        yield opened


@pytest.mark.parametrize(
    ("prompt", "project", "name"),
    [
        ("please change merge_tags so that it sorts", "shop", "merge_tags"),
        ("see `merge_tags`.", "shop", "merge_tags"),
        ("change `sort_tags`, then merge_tags", "shop", "merge_tags"),
        ("please change merge_tags so that it sorts", "bakery", ""),  # a project is a border
        ("please change merge_tags so that it sorts", "", ""),
        ("merge the tags of both pages", "shop", ""),  # common words are no name
        ("what does load_page do in ShopPage.tsx", "shop", ""),  # told, but nothing settled
        ("rename merge_tags_twice", "shop", ""),
    ],
)
def test_a_name_is_told_where_a_session_of_the_project_settled_something_about_it(
    memory: Memory, prompt: str, project: str, name: str
) -> None:
    assert find_settled_name(memory, prompt, project) == name


def answer(memory: Memory, text: str, folder: Path, shown: set[str]) -> str:
    return answer_prompt(memory, HookCall("UserPromptSubmit", prompt=text, folder=str(folder)), shown, BUDGET).context


def test_the_line_stands_once_a_session_and_is_the_same_to_the_byte(memory: Memory, tmp_path: Path) -> None:
    folder = tmp_path / "shop"
    folder.mkdir()
    first = answer(memory, "please sort in merge_tags", folder, set())

    assert LINE in first.splitlines()
    assert "first of two equal" not in first  # a session's text is never injected
    assert answer(memory, "please sort in merge_tags", folder, set()) == first
    assert LINE not in answer(memory, "please sort in merge_tags", folder, {"merge_tags"})


def test_nothing_is_told_beside_a_topic_that_bears_on_the_prompt(memory: Memory, tmp_path: Path) -> None:
    folder = tmp_path / "shop"
    folder.mkdir()

    context = answer(memory, "does pay_bill of the shop round each bill to a cent, as merge_tags does", folder, set())

    assert "topics/pay.md" in context and LINE not in context
