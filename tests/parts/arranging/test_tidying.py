"""Older topics in today's form: no word changes, and the way back is exact."""

import re
from pathlib import Path

import pytest
from hypothesis import given

from dream.records import split_words
from memory_server.errors import UsageError
from memory_server.layers.footnotes import find_footnotes
from memory_server.layers.mif import parse_frontmatter
from parts.arranging.tidying import tidy, tidy_all
from tests.dream.builders import PERSON, decisions_on, files_of, git
from tests.dream.test_round_trip import topics
from tests.memories import new_root

OLD = """\
---
id: 31d68d46-c118-46a0-9225-aeee99f295bf
type: semantic
title: Builds
created: 2026-01-01
modified: 2026-03-01
project: shop
provenance:
  sourceType: user_explicit
  trustLevel: verified
---

# Builds

Release builds use musl.[^d1a2b3c4d]

They are signed by Ada;
she has the key.[^d99999999]

A remark of mine.

- One more.[^d00000000]

[^d1a2b3c4d]: person in session 5f0c2a9e-0000-4000-8000-000000000000, entry e1, 2026-03-01
[^d99999999]: assistant in session 5f0c2a9e-0000-4000-8000-000000000000, entry e2, 2026-03-02; person in session \
5f0c2a9e-0000-4000-8000-000000000000, entry e3, 2026-03-02
[^d00000000]: docs/build.md:12 of shop, 2026-02-01; cites docs/x.md
"""
NEW = """\
---
project: shop
---
# Builds
- Release builds use musl.[^1]
- They are signed by Ada;
  she has the key.[^2]

A remark of mine.

- One more.[^3]

---
[^1]: you, 2026-03-01, session 5f0c2a9e
[^2]: you agreed, 2026-03-02, session 5f0c2a9e
[^3]: docs/build.md:12 of shop, 2026-02-01; cites docs/x.md
"""


def test_an_older_topic_gets_todays_form() -> None:
    assert tidy(OLD) == NEW
    assert tidy(NEW) == NEW


def test_an_id_stays_where_something_names_it() -> None:
    texts = {"topics/builds.md": OLD, "topics/b.md": "# B\n\nSee 31d68d46-c118-46a0-9225-aeee99f295bf.\n"}

    found = tidy_all(texts, ["topics/builds.md"], has_folders=True)

    assert (found.files["topics/shop/builds.md"] or "").startswith("---\nid: 31d68d46")
    assert found.files["topics/builds.md"] is None


def test_what_has_todays_form_is_not_touched() -> None:
    with pytest.raises(UsageError, match="form already"):
        tidy_all({"topics/shop/builds.md": NEW}, ["topics/shop/builds.md"], has_folders=True)


def test_tidying_is_one_commit_and_the_way_back_gives_every_byte(tmp_path: Path) -> None:
    root = new_root(tmp_path / "memory")
    (root.topics / "builds.md").write_text(OLD, encoding="utf-8")
    (root.topics / "see.md").write_text("# See\n\n[Builds](builds.md)\n", encoding="utf-8")
    git(root.path, "init", "--quiet")
    git(root.path, "add", "topics")
    git(root.path, "commit", "--quiet", "-m", "Begin")
    decisions = decisions_on(root)
    decisions.find_unexplained()
    before = files_of(root.path)

    done = decisions.arrange(lambda texts: tidy_all(texts, ["topics/builds.md"], has_folders=True), PERSON)

    after = files_of(root.path)
    assert after["topics/shop/builds.md"].decode() == NEW and "topics/builds.md" not in after
    assert after["topics/see.md"] == b"# See\n\n[Builds](shop/builds.md)\n" and decisions.find_unexplained() == []
    undo = decisions.find_arrangement(done.name)
    assert undo is not None
    decisions.put_back(undo, PERSON)
    assert files_of(root.path) == before


@given(topics())
def test_no_word_is_lost_and_a_second_time_changes_nothing(text: str) -> None:
    new = tidy(text)

    def words(expected: str) -> list[str]:
        body = parse_frontmatter(expected).body
        return split_words(re.sub(r"(?m)^ {0,3}(?:\[\^[^\]]+\]:.*|-{3,}\s*)$", "", body))

    assert words(new) == words(text)
    assert tidy(new) == new
    notes = find_footnotes(new)
    assert set(notes.used) <= set(notes.defined) | set(find_footnotes(text).used) - set(find_footnotes(text).defined)
