"""The chain of decisions: whatever is done to its file is found."""

import hashlib
import json
import random
from pathlib import Path

import msgspec
import pytest

from dream.changes import Event
from dream.decisions.chain import Chain, make_entry
from dream.proposals.store import Approval
from memory_server.errors import NeedsRepair
from memory_server.root.paths import MemoryRoot
from tests.dream.builders import NOW, PERSON, decisions_on, extending, new_topic, proposed
from tests.memories import new_root, write_topic

MUTATIONS = 1_000


@pytest.fixture
def root(tmp_path: Path) -> MemoryRoot:
    """A memory with seven decisions of every kind."""
    made = new_root(tmp_path / "memory")
    write_topic(made, "mail", "# Mail\n\nThe relay is old.\n")
    decisions = decisions_on(made)
    decisions.find_unexplained()
    hunks = proposed(
        decisions, extending(made, "It hums.", "old"), *(new_topic("Backups run.", f"b{n}", n) for n in (2, 3, 4))
    )
    for hunk in hunks[:3]:
        decisions.accept(hunk.id, PERSON)
    decisions.reject(hunks[3].id, PERSON, "no")
    decisions.revert(hunks[1].id, PERSON)
    write_topic(made, "mail", "# Mail\n\nThe relay is new.\n")
    decisions.adopt(["topics/mail.md"], PERSON)
    assert Chain(made, "").trouble == "" and len(Chain(made, "").entries) == 7
    return made


def mutated(data: bytes, chance: random.Random) -> bytes:
    """The file after one thing was done to it."""
    lines = data.splitlines(keepends=True)
    at, other = chance.randrange(len(lines)), chance.randrange(len(lines))
    place = chance.randrange(len(data))
    match chance.randrange(8):
        case 0:  # another byte
            return data[:place] + bytes([chance.randrange(256)]) + data[place + 1 :]
        case 1:  # cut
            return data[:place]
        case 2:  # a line less
            return b"".join(lines[:at] + lines[at + 1 :])
        case 3:  # two lines in each other's place
            lines[at], lines[other] = lines[other], lines[at]
        case 4:  # a line twice
            lines.insert(other, lines[at])
        case 5:  # some bytes more
            return data[:place] + chance.randbytes(3) + data[place:]
        case 6:  # another word in a field
            entry = json.loads(lines[at])
            entry[chance.choice(["hunk", "how", "nonce", "terminal", "at", "event"])] = "rejected"
            lines[at] = json.dumps(entry, separators=(",", ":")).encode() + b"\n"
        case _:  # a forged entry at the end, which follows well
            chain = lines[-1].rstrip(b"\n")
            forged = json.loads(lines[at]) | {"previous": hashlib.sha256(chain).hexdigest()}
            lines.append(json.dumps(forged, separators=(",", ":")).encode() + b"\n")
    return b"".join(lines)


def test_a_thousand_random_mutations_are_all_found(root: MemoryRoot) -> None:
    whole, chance = root.decisions.read_bytes(), random.Random(20)
    missed = []
    for _ in range(MUTATIONS):
        while (after := mutated(whole, chance)) == whole:
            pass
        root.decisions.write_bytes(after)
        if not Chain(root, "").trouble:
            missed.append(after)
    assert missed == []


def test_a_chain_that_was_rolled_back_removed_or_written_anew_is_named(root: MemoryRoot, tmp_path: Path) -> None:
    whole, entries = root.decisions.read_bytes(), Chain(root, "").entries
    root.decisions.write_bytes(b"".join(whole.splitlines(keepends=True)[:4]))
    assert "it was cut, and 3 decisions are gone" in Chain(root, "").trouble
    root.decisions.unlink()
    assert "it was removed, and 7 decisions with it" in Chain(root, "").trouble
    other = new_root(tmp_path / "other")
    Chain(other, "").add(entries[::-1])
    root.decisions.write_bytes(other.decisions.read_bytes())
    assert "it was written anew" in Chain(root, "").trouble


def test_a_chain_with_a_fault_explains_nothing_and_takes_nothing_up(root: MemoryRoot) -> None:
    lines = root.decisions.read_bytes().splitlines(keepends=True)
    root.decisions.write_bytes(b"".join(lines[:2] + lines[3:]))
    decisions = decisions_on(root)

    assert {one.path for one in decisions.find_unexplained()} == {"MEMORY.md", "topics/mail.md", "topics/b3.md"}
    with pytest.raises(NeedsRepair, match="does not follow from the one before"):
        Chain(root, "").add([make_entry(Approval(Event.ADOPTED, NOW, (), nonce="x"), "word")])


def test_adopting_begins_a_new_chain_beside_the_one_with_a_fault(root: MemoryRoot) -> None:
    broken = root.decisions.read_bytes()[:-40]
    root.decisions.write_bytes(broken)

    decisions_on(root).adopt(["topics/mail.md", "topics/b3.md", "MEMORY.md"], PERSON)

    begun, adopted = Chain(root, "").entries
    assert (begun.event, adopted.event) == (Event.BEGUN, Event.ADOPTED)
    assert [file.read_bytes() for file in root.decisions.parent.glob("decisions-until-*")] == [broken]
    assert decisions_on(root).find_unexplained() == [] and Chain(root, "").trouble == ""


def test_an_entry_holds_no_word_of_what_was_decided(root: MemoryRoot) -> None:
    held = root.decisions.read_text(encoding="utf-8")

    assert not any(word in held for word in ("hums", "Backups", "relay"))


@pytest.mark.parametrize("written", ["head", "chain"])
def test_a_kill_between_chain_and_state_leaves_a_chain_that_is_known(
    root: MemoryRoot, monkeypatch: pytest.MonkeyPatch, written: str
) -> None:
    before = {file: file.read_bytes() for file in (root.decisions, root.decisions_head)}
    Chain(root, "").add([make_entry(Approval(Event.ADOPTED, NOW, (), nonce="x"), "word")])
    after = {file: file.read_bytes() for file in before}
    [new], [old] = (msgspec.json.decode(one[root.decisions_head]) for one in (after, before))

    root.decisions_head.write_bytes(msgspec.json.encode([new, old]))
    root.decisions.write_bytes((after if written == "chain" else before)[root.decisions])

    assert Chain(root, "").trouble == ""
