"""A plan is read from a file: it writes layer 1 and nothing else, whoever wrote it."""

from pathlib import Path

import msgspec
import pytest

from dream.changes import Event, FileChange, hash_text
from dream.decisions.chain import make_entry
from dream.decisions.journal import Noted, Plan
from dream.proposals.store import Approval
from memory_server.errors import NeedsRepair
from memory_server.machine.files import replace_file
from memory_server.root.paths import MemoryRoot
from tests.dream.builders import NOW, decisions_on, git
from tests.memories import new_root


def leave_plan(root: MemoryRoot, path: str) -> Path:
    """A plan under way that writes one file, as a killed acceptance leaves it."""
    change = FileChange(path, "", hash_text("evil"), hash_text("evil"))
    approval = Approval(Event.ACCEPTED, NOW, (change,), nonce="1")
    plan = Plan({path: "evil"}, (Noted(make_entry(approval, ""), approval),), ())
    file = root.journal
    replace_file(file, msgspec.json.encode(plan))
    return file


def below(folder: Path) -> list[str]:
    return sorted(path.relative_to(folder).as_posix() for path in folder.rglob("*") if path.is_file())


@pytest.mark.parametrize(
    "path",
    [
        "{outside}/.zshenv",
        "../.zshenv",
        "topics/../../.zshenv",
        "topics/linked/.zshenv.md",
        "topics/link.md",
        "oneiros.toml",
        ".git/hooks/post-commit",
        "topics/.hidden.md",
        "topics//x.md",
        "",
    ],
)
def test_a_plan_that_leads_out_of_layer_1_is_refused_before_anything_is_written(tmp_path: Path, path: str) -> None:
    root, outside = new_root(tmp_path / "memory"), tmp_path / "home"
    outside.mkdir()
    (root.topics / "linked").symlink_to(outside)
    (root.topics / "link.md").symlink_to(outside / "made")
    leave_plan(root, path.format(outside=outside))
    before = below(tmp_path)

    with pytest.raises(NeedsRepair, match="cannot be carried out"):
        decisions_on(root).find_unexplained()

    assert [name for name in below(tmp_path) if not name.endswith("dream.lock")] == before


def test_a_plan_that_came_with_a_clone_is_not_carried_out(tmp_path: Path) -> None:
    root = new_root(tmp_path / "memory")
    leave_plan(root, "topics/mail.md")
    (root.path / "proposals").mkdir()
    root.journal.rename(root.path / "proposals" / ".journal.json")
    git(root.path, "init", "--quiet")
    git(root.path, "add", ".")

    decisions_on(root).find_unexplained()

    assert below(root.topics) == [] and not root.journal.exists()


def test_a_plan_for_a_topic_is_carried_out(tmp_path: Path) -> None:
    root = new_root(tmp_path / "memory")
    leave_plan(root, "topics/a name (of a person's own).md")

    decisions_on(root).find_unexplained()

    assert below(root.topics) == ["a name (of a person's own).md"]


def test_a_plan_in_which_nothing_is_decided_is_refused(tmp_path: Path) -> None:
    root = new_root(tmp_path / "memory")
    file = leave_plan(root, "topics/mail.md")
    plan = msgspec.json.decode(file.read_bytes()) | {"noted": [], "message": "Take up nothing"}
    file.write_bytes(msgspec.json.encode(plan))
    (root.topics / "mail.md").write_text("evil", encoding="utf-8")

    with pytest.raises(NeedsRepair, match="cannot be carried out"):
        decisions_on(root).find_unexplained()
