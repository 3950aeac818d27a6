"""What a program does without the person: refused, or named at the next start of a session and in the report."""

import dataclasses
import datetime as dt
import subprocess
from functools import partial
from pathlib import Path

import msgspec
import pytest

from dream.changes import Event, FileChange, hash_text
from dream.decisions.accept import Decisions
from dream.decisions.approvals import UnapprovedFiles
from dream.decisions.chain import Chain, Head, make_entry
from dream.decisions.journal import Noted, Plan
from dream.decisions.key import fingerprint, sign
from dream.decisions.presence import Consent, How, Process
from dream.proposals.store import Approval
from dream.records import State
from memory_server.document import SourcePath
from memory_server.errors import ContentError, NeedsRepair
from memory_server.machine.files import append_line
from memory_server.root.paths import MemoryRoot
from memory_server.settings import PersonSettings
from oneiros.founding import found_memory
from oneiros.hooks.session_start import read_review
from oneiros.hooks.without_daemon import start_without_daemon
from tests.dream.builders import NOW, PERSON, begin_history, extending, git, new_topic, proposed
from tests.memories import copy_root, new_root, write_topic

CATS = "topics/cats.md"


@pytest.fixture(scope="session")
def key(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A signing key whose passphrase a test need not type."""
    return made_key(tmp_path_factory.mktemp("key") / "key")


def made_key(file: Path) -> Path:
    subprocess.run(["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", str(file)], check=True)
    return file


def public_line(key: Path) -> str:
    public = " ".join(key.with_suffix(".pub").read_text(encoding="utf-8").split()[:2])
    return f"{public} {fingerprint(public)}"


def committed_memory(folder: Path) -> MemoryRoot:
    """A memory in git whose state the person has committed."""
    made = new_root(folder)
    write_topic(made, "mail", "# Mail\n\nThe relay is old.\n")
    (made.path / ".gitignore").write_text("proposals/\n.oneiros/\n", encoding="utf-8")
    begin_history(made.path)
    return made


@pytest.fixture(scope="module")
def told(tmp_path_factory: pytest.TempPathFactory) -> MemoryRoot:
    """A committed memory of which the person was told."""
    made = committed_memory(tmp_path_factory.mktemp("told") / "memory")
    start(made)
    return made


@pytest.fixture
def root(told: MemoryRoot, tmp_path: Path) -> MemoryRoot:
    """That memory, for one test."""
    return copy_root(told, tmp_path / "memory")


def on(root: MemoryRoot, key: Path | None = None, now: dt.datetime = NOW) -> Decisions:
    person = PersonSettings(dream_hunks_a_day=50, signing_key=public_line(key) if key else "")
    return Decisions(root, person, lambda: now, is_true=lambda _: True)


def signed(decisions: Decisions, key: Path) -> Decisions:
    decisions.sign(partial(sign, key))
    return decisions


def start(root: MemoryRoot, key: Path | None = None, days: int = 0) -> str:
    """What the person is told at a session's start, so many days later."""
    return "\n".join(read_review(on(root, key, NOW + dt.timedelta(days=days))).doubts)


def start_alone(root: MemoryRoot, key: Path | None = None) -> str:
    person = PersonSettings(signing_key=public_line(key) if key else "")
    return start_without_daemon(root, person, NOW + dt.timedelta(days=2)).to_person


# -- without a key: decided, and named ------------------------------------------------------------------------------


def test_six_lines_of_python_that_accept_are_named_with_their_process(root: MemoryRoot) -> None:
    [hunk] = proposed(on(root), new_topic("Backups run.", "backups"))
    assert start(root, days=2) == ""

    on(root, now=NOW + dt.timedelta(days=3)).accept(hunk.id, Consent(How.WORD))

    named = "Decided by nobody at a terminal: 1 accepted in topics/backups.md (by word"
    assert named in start_alone(root)
    output = start(root, days=5)
    assert f"If that was not you: `git -C {root.path} log -p -- topics/backups.md` shows it." in output
    assert (named in output and "pytest" in output) or "python" in output
    assert "1 accepted" not in start(root, days=6)


@pytest.mark.parametrize(("above", "is_named"), [(["oneiros", "bash"], False), (["oneiros", "claude"], True)])
def test_what_a_person_accepted_at_a_terminal_is_never_listed(
    root: MemoryRoot, monkeypatch: pytest.MonkeyPatch, above: list[str], *, is_named: bool
) -> None:
    stood = [Process(number, number + 1, name, (), frozenset(), "pts/7") for number, name in enumerate(above)]
    monkeypatch.setattr("dream.decisions.journal.ancestors", lambda _: iter(stood))

    for number in range(1, 8):
        [hunk] = proposed(on(root), new_topic("Backups run.", f"b{number}", number))
        on(root).accept(hunk.id, Consent(How.WORD))

    assert ("7 accepted" in start_alone(root), "7 accepted" in start(root)) == (is_named, is_named)


def test_a_forged_approval_explains_nothing(root: MemoryRoot) -> None:
    write_topic(root, "cats", "# Cats\n\nThe cat is grey.\n")
    text = hash_text((root.topics / "cats.md").read_text(encoding="utf-8"))
    forged = Approval(Event.ACCEPTED, NOW, (FileChange(CATS, "", text, text),), nonce="f" * 16)
    append_line(root.approvals, msgspec.json.encode(forged))

    assert f"Not approved as they stand: {CATS} (new)" in start(root)
    assert UnapprovedFiles(root, "")([SourcePath(CATS)])


def test_a_forged_entry_is_named_and_explains_nothing(root: MemoryRoot) -> None:
    write_topic(root, "cats", "# Cats\n\nThe cat is grey.\n")
    text = hash_text((root.topics / "cats.md").read_text(encoding="utf-8"))
    forged = Approval(Event.ACCEPTED, NOW, (FileChange(CATS, "", text, text),), nonce="f" * 16)
    entry = dataclasses.replace(make_entry(forged, "key"), previous=Chain(root, "").hashes[-2])
    append_line(root.approvals, msgspec.json.encode(forged))
    append_line(root.decisions, msgspec.json.encode(entry))

    output = start(root)

    assert (
        "he chain of decisions holds 1 decision that nobody known added" in output
        and f"Not approved as they stand: {CATS}" in output
    )


def test_decisions_whose_record_went_with_an_uninstall_are_said_to_be_of_another_record(root: MemoryRoot) -> None:
    root.decisions_head.unlink()

    assert "of a record that is not here: oneiros was uninstalled" in Chain(root, "").trouble


@pytest.mark.parametrize("removed", ["approvals", "decisions", "decisions_head", "announced"])
def test_a_new_topic_does_not_hide_behind_a_removed_file(root: MemoryRoot, removed: str) -> None:
    write_topic(root, "cats", "# Cats\n\nThe cat is grey.\n")
    getattr(root, removed).unlink(missing_ok=True)

    assert CATS in start(root) and CATS in start_alone(root)


def test_where_every_record_was_removed_what_is_there_is_named_as_found(root: MemoryRoot) -> None:
    write_topic(root, "cats", "# Cats\n\nThe cat is grey.\n")
    for file in (root.approvals, root.decisions, root.decisions_head, root.announced):
        file.unlink(missing_ok=True)

    assert "No decision about this memory is known" in start_alone(root)
    assert CATS in start(root) and "nobody was asked" in start(root)


def test_records_forged_as_a_whole_are_named_as_unsigned(root: MemoryRoot) -> None:
    """By one who knows the forms: approval, entry and head fit together."""
    write_topic(root, "cats", "# Cats\n\nThe cat is grey.\n")
    text = hash_text((root.topics / "cats.md").read_text(encoding="utf-8"))
    forged = Approval(Event.ADOPTED, NOW + dt.timedelta(days=3), (FileChange(CATS, "", text, text),), nonce="f" * 16)
    append_line(root.approvals, msgspec.json.encode(forged))
    Chain(root, "").add([make_entry(forged, "key", "pts/7", ["oneiros", "bash"])])

    assert f"1 adopted in {CATS} (by key, on pts/7, oneiros < bash)" in start(root, days=4)


@pytest.mark.parametrize(
    ("author", "message"),
    [
        ("Claude <noreply@anthropic.com>", "Tidy"),
        ("A Person <a@example.org>", "Tidy\n\nCo-Authored-By: Claude <noreply@anthropic.com>"),
        ("A Person <a@example.org>", "Tidy\n\nClaude-Session: https://claude.ai/code/session_1"),
    ],
)
def test_a_commit_that_claude_made_is_the_assistants(root: MemoryRoot, author: str, message: str) -> None:
    write_topic(root, "mail", "# Mail\n\nThe relay was sold.\n")
    git(root.path, "commit", "--quiet", "-a", "-m", message, f"--author={author}")

    assert "topics/mail.md (committed by the assistant)" in start(root)


def test_a_commit_of_the_person_explains_and_is_named_once(root: MemoryRoot) -> None:
    write_topic(root, "mail", "# Mail\n\nThe relay was sold.\n")
    git(root.path, "commit", "--quiet", "-a", "-m", "Sold", "--author=Jean-Claude <jc@example.org>")

    assert "Taken over from git commits: topics/mail.md" in start(root)
    assert "git commits" not in start(root, days=1)


def test_a_memory_that_was_just_founded_names_nothing(tmp_path: Path) -> None:
    root = MemoryRoot(tmp_path / "founded", tmp_path / "state")
    assert [*found_memory(root, "packaged", with_example=False)]

    assert start(root) == "" and "Decided" not in start_alone(root)


def test_a_decision_about_a_topic_that_is_gone_is_not_named(root: MemoryRoot) -> None:
    [hunk] = proposed(on(root), new_topic("Backups run.", "backups"))
    start(root, days=2)
    on(root, now=NOW + dt.timedelta(days=3)).accept(hunk.id, Consent(How.WORD))
    assert "topics/backups.md" in start(root, days=4)

    (root.topics / "backups.md").unlink()
    assert "1 accepted in topics/backups.md" in start(root, days=4)
    git(root.path, "add", "-A")
    git(root.path, "commit", "-qm", "gone")

    assert "1 accepted in topics/backups.md" not in start(root, days=4)


def test_a_plan_that_somebody_planted_is_carried_out_in_sight(root: MemoryRoot) -> None:
    change = FileChange(CATS, "", hash_text("The cat."), hash_text("The cat."))
    approval = Approval(Event.ACCEPTED, NOW, (change,), nonce="1")
    plan = Plan({CATS: "The cat."}, (Noted(make_entry(approval, ""), approval),), ())
    root.journal.write_bytes(msgspec.json.encode(plan))

    assert f"Decided by nobody at a terminal: 1 accepted in {CATS} (nobody was asked" in start(root)


def test_a_forged_rejection_silences_nothing(root: MemoryRoot) -> None:
    decisions = on(root)
    real, other = proposed(decisions, new_topic("Backups run.", "backups"), new_topic("Archives stay.", "archives", 2))
    decisions.reject(real.id, PERSON, "no")
    [rejected] = decisions.rejections()
    forged = dataclasses.replace(rejected, hunk=other.id, text=other.text, quotes=other.quotes)
    decisions.store.add_rejection(forged)

    assert decisions.rejections() == [rejected]


def test_a_forged_way_back_is_not_written(root: MemoryRoot) -> None:
    decisions = on(root)
    [hunk] = proposed(decisions, extending(root, "It hums.", "old"))
    decisions.accept(hunk.id, PERSON)
    before = (root.topics / "mail.md").read_bytes()
    root.approvals.write_bytes(root.approvals.read_bytes().replace(b'"old":[]', b'"old":["Obey.\\n"]'))

    with pytest.raises(ContentError, match="is not the one that was decided"):
        decisions.revert(hunk.id, PERSON)

    assert (root.topics / "mail.md").read_bytes() == before


@pytest.mark.parametrize(
    ("wording", "why"),
    [
        ("Backups run\u202e daily.", "cannot see"),
        ("B\u0430ckups run.", "cannot see or tell apart"),
        ("Backups run.\n\n## Rules", "several lines"),
    ],
)
def test_a_wording_passes_the_rules_of_a_statement(root: MemoryRoot, wording: str, why: str) -> None:
    [hunk] = proposed(on(root), new_topic("Backups run.", "backups"))

    with pytest.raises(ContentError, match=why):
        on(root).accept(hunk.id, PERSON, text=wording)

    assert on(root).store.hunk(hunk.id).state is State.PENDING


def test_a_reworded_statement_says_so_in_its_footnote(root: MemoryRoot) -> None:
    first, second = proposed(on(root), new_topic("Backups run.", "backups"), new_topic("Archives stay.", "archives", 2))
    on(root).accept(first.id, PERSON, text="Backups run daily.")
    on(root).accept(second.id, PERSON)

    assert (root.topics / "backups.md").read_text(encoding="utf-8").rstrip().endswith("; reworded in a review")
    assert "reworded" not in (root.topics / "archives.md").read_text(encoding="utf-8")


# -- with a key: what is not signed explains nothing ----------------------------------------------------------------


@pytest.fixture(scope="module")
def signed_once(told: MemoryRoot, key: Path, tmp_path_factory: pytest.TempPathFactory) -> MemoryRoot:
    """The memory after its person made a key."""
    made = copy_root(told, tmp_path_factory.mktemp("signed") / "memory")
    decisions = on(made, key)
    decisions.adopt_explained(Consent(How.KEY))
    signed(decisions, key)
    assert start(made, key) == "" and on(made, key).find_unexplained() == []
    return made


@pytest.fixture
def keyed(signed_once: MemoryRoot, tmp_path: Path) -> MemoryRoot:
    """That memory, for one test."""
    return copy_root(signed_once, tmp_path / "memory")


def test_decisions_that_were_signed_are_explained_on_any_machine(keyed: MemoryRoot, key: Path, tmp_path: Path) -> None:
    decisions = on(keyed, key)
    first, second = proposed(decisions, extending(keyed, "It hums.", "old"), new_topic("Backups run.", "backups", 2))
    for hunk in (first, second):
        decisions.accept(hunk.id, Consent(How.KEY))
    signed(decisions, key)

    assert [entry.event for entry in Chain(keyed, "").entries][-3:] == [Event.ACCEPTED, Event.ACCEPTED, Event.SIGNED]
    assert on(keyed, key).find_unexplained() == [] and start(keyed, key) == ""
    elsewhere = MemoryRoot(keyed.path, tmp_path / "another machine")
    assert on(elsewhere, key).find_unexplained() == []
    assert "The chain of decisions is new to this machine: 6 of them" in start(elsewhere, key)
    assert start(elsewhere, key, days=2) == ""


def test_a_topic_that_a_commit_alone_explains_is_missed_when_it_goes(root: MemoryRoot) -> None:
    write_topic(root, "cats", "# Cats\n\nThe cat is grey.\n")
    git(root.path, "add", "topics")
    git(root.path, "commit", "--quiet", "-m", "Cats")
    start(root)
    (root.topics / "cats.md").unlink()

    assert f"{CATS} (removed)" in start(root)


@pytest.mark.parametrize("way", ["python", "forged", "editor", "commit", "git apply", "signature of another"])
def test_what_the_key_did_not_sign_is_named_until_it_is_adopted(
    keyed: MemoryRoot, key: Path, tmp_path: Path, way: str
) -> None:
    mail = keyed.topics / "mail.md"
    if way in ("python", "signature of another"):
        decisions = on(keyed, key)
        [hunk] = proposed(decisions, extending(keyed, "It hums.", "old"))
        decisions.accept(hunk.id, Consent(How.KEY))
        if way != "python":
            signed(decisions, made_key(tmp_path / "other"))
    else:
        write_topic(keyed, "mail", "# Mail\n\nThe relay was sold.\n")
    if way == "forged":
        text = hash_text(mail.read_text(encoding="utf-8"))
        forged = Approval(Event.ACCEPTED, NOW, (FileChange("topics/mail.md", "", text, text),), nonce="f" * 16)
        old = next(entry for entry in Chain(keyed, "").entries if entry.signature)
        entry = dataclasses.replace(make_entry(forged, "key"), key=old.key, signature=old.signature)
        Chain(keyed, public_line(key)).add([entry])
    elif way in ("commit", "git apply"):
        if way == "git apply":
            diff = git(keyed.path, "diff")
            git(keyed.path, "checkout", "--quiet", "--", "topics")
            (tmp_path / "change.diff").write_text(diff + "\n", encoding="utf-8")
            git(keyed.path, "apply", str(tmp_path / "change.diff"))
        git(keyed.path, "commit", "--quiet", "-a", "-m", "Sold", "--author=A Person <a@example.org>")

    assert "topics/mail.md" in start(keyed, key) and "topics/mail.md" in start_alone(keyed, key)
    named = [one.path for one in on(keyed, key).find_unexplained()]
    assert "topics/mail.md" in named and UnapprovedFiles(keyed, public_line(key))([SourcePath("topics/mail.md")])

    decisions = on(keyed, key)
    decisions.adopt(named, Consent(How.KEY))
    signed(decisions, key)

    assert on(keyed, key).find_unexplained() == []


def test_a_signature_vouches_for_what_it_covers_alone(keyed: MemoryRoot, key: Path) -> None:
    """An entry that a program adds while the person reviews is not signed along."""
    decisions = on(keyed, key)
    first, second = proposed(decisions, extending(keyed, "It hums.", "old"), new_topic("Backups run.", "backups", 2))
    decisions.accept(first.id, Consent(How.KEY))
    on(keyed, key).accept(second.id, Consent(How.KEY))  # another process
    signed(decisions, key)

    assert {one.path for one in on(keyed, key).find_unexplained()} == {"topics/backups.md"}


def test_a_planted_plan_is_not_signed_along(keyed: MemoryRoot, key: Path) -> None:
    change = FileChange(CATS, "", hash_text("The cat."), hash_text("The cat."))
    approval = Approval(Event.ACCEPTED, NOW, (change,), nonce="1")
    plan = Plan({CATS: "The cat."}, (Noted(make_entry(approval, ""), approval),), ())
    decisions = on(keyed, key)
    [hunk] = proposed(decisions, extending(keyed, "It hums.", "old"))
    keyed.journal.write_bytes(msgspec.json.encode(plan))
    decisions.accept(hunk.id, Consent(How.KEY))
    signed(decisions, key)

    assert {one.path for one in on(keyed, key).find_unexplained()} == {CATS}


@pytest.mark.parametrize("changed", ["removed", "swapped"])
def test_another_key_in_the_settings_is_named(keyed: MemoryRoot, key: Path, tmp_path: Path, changed: str) -> None:
    other = made_key(tmp_path / "other") if changed == "swapped" else None

    output = start(keyed, other)

    assert f"Decisions were signed by {fingerprint(public_line(key))}; your settings name" in output


def test_a_change_of_key_is_named(keyed: MemoryRoot, key: Path, tmp_path: Path) -> None:
    other = made_key(tmp_path / "other")
    decisions = on(keyed, other)
    decisions.adopt_explained(Consent(How.KEY))
    signed(decisions, other)

    assert f"The signing key changed from {fingerprint(public_line(key))} to" in start(keyed, other)


def test_without_a_signature_the_decisions_stand_unsigned(keyed: MemoryRoot, key: Path, tmp_path: Path) -> None:
    decisions = on(keyed, key)
    [hunk] = proposed(decisions, new_topic("Backups run.", "backups"))
    decisions.accept(hunk.id, Consent(How.KEY))

    with pytest.raises(NeedsRepair, match="the signing key is not on this machine"):
        decisions.sign(partial(sign, tmp_path / "none"))

    assert "topics/backups.md" in start(keyed, key) and (keyed.topics / "backups.md").exists()


def test_a_head_that_names_fewer_entries_hides_nothing_signed(keyed: MemoryRoot, key: Path) -> None:
    keyed.decisions_head.write_bytes(msgspec.json.encode([Head(0, "")]))

    assert on(keyed, key).find_unexplained() == []
