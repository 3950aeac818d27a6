"""Whose words stand behind a line."""

from pathlib import Path

import pytest

from crawler.archive.append import Ingester
from dream.blame import blame, find_labels
from dream.changes import Event
from dream.evidence import Evidence
from dream.proposals.store import Approval
from dream.records import DirectWords, Update
from memory_server.errors import UsageError
from memory_server.root.paths import MemoryRoot
from oneiros.ingest.settings import open_archive
from tests.crawler.builders import assistant, person, settings_in, write_transcript
from tests.dream.builders import NOW, PERSON, decisions_on, new_topic, proposed, quote
from tests.memories import new_root

STATEMENT = "By the way, the relay listens on port 2526."


def taken_up(root: MemoryRoot, tmp_path: Path) -> list[str]:
    """A memory with one session and one accepted statement of it; the lines of the topic."""
    transcript = write_transcript(tmp_path / "in", person(1, STATEMENT), assistant(2, "Understood."))
    with Ingester(settings_in(root.path)) as ingester:
        ingester.ingest([transcript])
    decisions = decisions_on(root)
    turn = next(iter(open_archive(root).turns("11111111-1111-4111-8111-111111111111")))
    words = quote("the relay listens on port 2526", first=12, end=42, time=turn.time, entry=turn.entries[0])
    update: Update = new_topic("The relay listens on port 2526.", quotes=(words,))
    [hunk] = proposed(decisions, update)
    assert Evidence(open_archive(root)).resolve(words)
    decisions.accept(hunk.id, PERSON)
    return (root.topics / "mail.md").read_text(encoding="utf-8").splitlines()


def unsigned(_: object) -> bool:
    return False


def test_a_line_leads_to_the_very_words(tmp_path: Path) -> None:
    root = new_root(tmp_path / "memory")
    lines = taken_up(root, tmp_path)
    line = next(number for number, text in enumerate(lines, start=1) if "2526" in text)

    [found] = blame("\n".join(lines), line, decisions_on(root).store, open_archive(root), unsigned)

    assert [(source.text, source.is_whole) for source in found.sources] == [("the relay listens on port 2526", True)]


def test_of_a_label_that_a_merge_gave_to_two_lines_each_leads_to_its_own_words(tmp_path: Path) -> None:
    root = new_root(tmp_path / "memory")
    text = "# Mail\n\n- The relay needs TLS.[^1]\n- The relay is blue.[^1]\n\n---\n[^1]: said directly, 2026-03-01\n"
    for number, said in enumerate(("The relay needs TLS.", "The relay is blue.")):
        given = (DirectWords(said, NOW),)
        approval = Approval(Event.ACCEPTED, NOW, (), hunk=str(number), text=said, given=given, nonce=str(number))
        decisions_on(root).store.add_approval(approval)

    behind = [blame(text, line, decisions_on(root).store, open_archive(root), unsigned) for line in (3, 4)]

    assert [one.sources[0].text for [one] in behind] == ["The relay needs TLS.", "The relay is blue."]


def test_a_heading_a_rule_and_a_frontmatter_hold_no_statement(tmp_path: Path) -> None:
    root = new_root(tmp_path / "memory")
    text = "---\nproject: shop\n---\n# Mail\n\nBy hand.\n\n---\n\n```\n# a comment\n```\n"

    for line in (1, 2, 4, 5, 8):
        with pytest.raises(UsageError, match=f"line {line} holds no statement"):
            blame(text, line, decisions_on(root).store, open_archive(root), unsigned)
    for line in (6, 11):
        assert blame(text, line, decisions_on(root).store, open_archive(root), unsigned) == []


def test_without_the_approvals_the_footnote_still_names_day_and_session(tmp_path: Path) -> None:
    root = new_root(tmp_path / "memory")
    lines = taken_up(root, tmp_path)
    root.approvals.unlink()
    line = next(number for number, text in enumerate(lines, start=1) if "2526" in text)

    [found] = blame("\n".join(lines), line, decisions_on(root).store, open_archive(root), unsigned)

    [source] = found.sources
    assert (source.where, source.text, source.is_whole) == ("session 11111111", "", False)
    assert str(source.time).startswith("2026-03-01")


def test_an_item_ends_where_the_next_begins() -> None:
    code = "  ```\n  - x\n\n  # y\n  ```\n"
    text = f"# Mail\n\n- At noon.\n- The relay\n  needs TLS.[^1]\n- Run:\n{code}  [^2]\n\n[^1]: you\n"

    found = {line: find_labels(text, line) for line in (3, 4, 5, 6, 8, 10, 14)}

    assert found == {3: [], 4: ["1"], 5: ["1"], 6: ["2"], 8: ["2"], 10: ["2"], 14: ["1"]}


@pytest.mark.parametrize("line", [0, -1, 3])
def test_a_line_that_is_not_there_has_no_footnote(line: int) -> None:
    with pytest.raises(UsageError, match="the file has 2"):
        find_labels("# Mail\nThe relay needs TLS.[^1]\n", line)
