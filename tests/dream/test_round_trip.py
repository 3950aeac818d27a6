"""Properties over random topics: apply then revert gives the same bytes, what git applies is what accepting writes."""

import shutil
import tempfile
from pathlib import Path

from hypothesis import assume, given, settings
from hypothesis import strategies as st

from dream.changes import find_splices, take_out, undone
from dream.proposals.placing import Manner, anchor_hunk, place_hunk
from dream.proposals.rendering import diff_steps, make_diff
from dream.records import Kind, Place, Relation, Update
from memory_server.chunking import split_lines
from memory_server.document import LineRange, SourcePath
from memory_server.layers.footnotes import find_footnotes
from memory_server.layers.mif import parse_frontmatter
from memory_server.root.paths import MemoryRoot
from tests.dream.builders import PERSON, TODAY, candidate, decisions_on, files_of, git, proposed
from tests.memories import new_root

WORDS = st.sampled_from(
    "relay port server queue ledger vector cache lock token archive panel 2525 10.0.0.7 `x` é".split()
)
SENTENCE = st.lists(WORDS, min_size=2, max_size=8).map(lambda words: " ".join(words).capitalize() + ".")
BLOCK = st.one_of(
    SENTENCE,
    SENTENCE.map(lambda text: f"## {text[:-1]}"),
    st.lists(SENTENCE, min_size=1, max_size=4).map(lambda items: "\n".join(f"- {item}" for item in items)),
    st.lists(SENTENCE, min_size=1, max_size=3).map(
        lambda items: "\n".join(f"{n}. {item}" for n, item in enumerate(items, 1))
    ),
    SENTENCE.map(lambda text: f"```\n{text}\n\n- {text}\n```"),
    SENTENCE.map(lambda text: f"{text[:-1]}[^a].\n\n[^a]: {text}"),
    SENTENCE.map(lambda text: f"| a | b |\n|---|---|\n| {text} | 1 |"),
)
HEAD = "---\nid: mail\ntype: semantic\ncreated: 2026-01-01\nmodified: 2026-01-01\ntags: [a, b]\n---\n\n"


@st.composite
def topics(draw: st.DrawFn) -> str:
    """A topic, tidy or not: with or without frontmatter, last line end, CRLF."""
    blocks = draw(st.lists(BLOCK, min_size=0, max_size=6))
    text = draw(st.sampled_from(["", HEAD])) + "# Mail\n\n" + "\n\n".join(blocks)
    text += draw(st.sampled_from(["", "\n", "\n\n"]))
    return text.replace("\n", "\r\n") if draw(st.booleans()) else text


@st.composite
def updates_of(draw: st.DrawFn, text: str) -> Update:
    """An update that goes anywhere in the text: behind a line, or in the place of some."""
    count = len(split_lines(text))
    after = draw(st.integers(0, count))
    statement = draw(SENTENCE)
    kind = draw(st.sampled_from([Kind.FACT, Kind.LESSON]))
    quoted = candidate(statement, draw(st.integers(1, 99)), kind=kind)
    path = SourcePath("topics/mail.md")
    first = parse_frontmatter(text).body_line
    if draw(st.booleans()) or first > count:
        return Update(quoted, Relation.EXTENDS, Place(path, after), "near")
    low = draw(st.integers(first, count))
    lines = LineRange(low, draw(st.integers(low, min(count, low + 2))))
    old = "".join(split_lines(text)[lines.first - 1 : lines.last])
    return Update(quoted, Relation.SUPERSEDES, Place(path, lines.last, replaces=lines, old_text=old), "other value")


class Folder:
    """A memory of one example."""

    def __init__(self, text: str, *, with_git: bool = False):
        self.path = Path(tempfile.mkdtemp(prefix="oneiros-"))
        self.root: MemoryRoot = new_root(self.path / "memory")
        (self.root.topics / "mail.md").write_bytes(text.encode())
        if with_git:
            git(self.root.path, "init", "--quiet")

    def __enter__(self) -> MemoryRoot:
        return self.root

    def __exit__(self, *_: object) -> None:
        shutil.rmtree(self.path)


@given(st.data())
@settings(max_examples=40)
def test_apply_then_revert_gives_the_same_bytes(data: st.DataObject) -> None:
    text = data.draw(topics())
    with Folder(text) as root:
        decisions = decisions_on(root, dream_commit=False, dream_history=data.draw(st.sampled_from(["git", "topic"])))
        hunks = proposed(decisions, *(data.draw(updates_of(text)) for _ in range(data.draw(st.integers(1, 3)))))
        before = [files_of(root.path)]
        accepted = []
        for hunk in hunks:
            old = (root.topics / "mail.md").read_bytes().decode()
            if anchor_hunk(old, hunk) is not None:
                decisions.accept(hunk.id, PERSON)
                accepted.append(hunk)
                before.append(files_of(root.path))

        for hunk in reversed(accepted):
            assert files_of(root.path) == before.pop()
            decisions.revert(hunk.id, PERSON)

        assert files_of(root.path) == before.pop()


@given(st.data())
@settings(max_examples=80)
def test_a_placed_statement_stands_there_once_with_its_footnote(data: st.DataObject) -> None:
    text = data.draw(topics())
    with Folder(text) as root:
        hunks = proposed(decisions_on(root), data.draw(updates_of(text)))
        assume(hunks)
        [hunk] = hunks
        place = anchor_hunk(text, hunk)
        assert place == hunk.update.place

        new = place_hunk(text, hunk, place, Manner(TODAY))

    notes, old_notes = find_footnotes(new), find_footnotes(text)
    [label] = set(notes.defined) - set(old_notes.defined)
    assert len(notes.defined[label]) == 1 and len(notes.used[label]) == 1
    assert hunk.text in new and undone(new, find_splices(text, new)) == text
    fields = parse_frontmatter(new).fields
    assert fields.get("modified", "2026-03-02") == "2026-03-02"
    if hunk.update.place.replaces is None and text.endswith("\n"):
        texts = [line for line in split_lines(text) if line.strip() and "modified:" not in line]
        rest = iter(split_lines(new))
        assert all(line in rest for line in texts), "a line was lost or moved"


@given(st.data())
@settings(max_examples=15)
def test_git_applies_what_accepting_would_write(data: st.DataObject) -> None:
    text = data.draw(topics())
    updates = [data.draw(updates_of(text)) for _ in range(data.draw(st.integers(1, 3)))]
    with Folder(text, with_git=True) as root:
        decisions = decisions_on(root)
        assume(proposed(decisions, *updates))
        [proposal] = decisions.store.proposals()
        steps = diff_steps(root, proposal.hunks, Manner(TODAY))

        git(root.path, "apply", f"proposals/{proposal.name}/changes.diff")

        assert (root.topics / "mail.md").read_bytes().decode() == steps[-1].after
        assert make_diff("topics/mail.md", text, text) == ""


@given(st.data())
@settings(max_examples=40)
def test_an_earlier_hunk_is_taken_out_from_below_a_later_one(data: st.DataObject) -> None:
    text = data.draw(topics())
    with Folder(text) as root:
        first, second = (data.draw(updates_of(text)) for _ in "ab")
        hunks = proposed(decisions_on(root, dream_commit=False), first, second)
        steps = diff_steps(root, hunks, Manner(TODAY))
    if len(steps) < 2:
        return

    left = take_out(steps[1].after, find_splices(text, steps[0].after))

    if left is not None:
        assert "[^1]" not in left and "[^2]" in left
