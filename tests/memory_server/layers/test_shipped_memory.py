"""The memory about oneiros itself, which is the first thing a person searches."""

from pathlib import Path

from memory_server.document import Layer, SourcePath
from memory_server.layers.index_page import with_pointers
from memory_server.layers.topics import SourceFile, find_sources, read_document, topic_heads
from memory_server.layers.validate import ValidationRule, validate_root
from memory_server.settings import MemorySettings, read_memory_settings
from tests.memories import root_at

ROOT = root_at(Path(__file__).parents[3] / "memory")


def test_the_shipped_memory_has_no_problem() -> None:
    assert validate_root(ROOT, read_memory_settings(ROOT.settings)) == []


def test_its_pointers_are_level_with_its_topics() -> None:
    page = ROOT.index_page.read_text(encoding="utf-8")

    assert with_pointers(page, topic_heads(ROOT), MemorySettings()) == page


def test_it_leaves_the_choice_of_a_model_to_init() -> None:
    assert read_memory_settings(ROOT.settings) == MemorySettings()


def test_it_holds_topics_and_sessions_of_which_a_topic_replaces_one() -> None:
    layers = [source.layer for source in find_sources(ROOT)]
    indices = read_document(ROOT, SourceFile(SourcePath("topics/indices.md"), Layer.TOPIC))

    assert layers.count(Layer.TOPIC) >= 10
    assert layers.count(Layer.SESSION) == 2
    assert indices.supersedes == ("sessions/compressed/2026/2026-11-12-filters-in-the-semantic-index-a1227e93.md",)


def test_the_rules_that_it_names_exist() -> None:
    text = (ROOT.topics / "frontmatter.md").read_text(encoding="utf-8")
    named = text.partition("the rules: ")[2].partition(". The")[0]

    assert {word.strip("`\n ") for word in named.split(",")} <= {*ValidationRule}
