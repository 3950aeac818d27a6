"""What a program of the same account tries so as to be approved unseen: refused, or named to the person."""

import dataclasses
import datetime as dt
import hashlib
import os
import subprocess
from pathlib import Path
from typing import Any

import msgspec
import pytest

from dream.changes import Event, FileChange, hash_text
from dream.decisions.accept import Decisions
from dream.decisions.approvals import UnapprovedFiles, hash_approved
from dream.decisions.chain import Chain, make_entry
from dream.decisions.journal import Noted, Plan
from dream.decisions.key import fingerprint, sign, verify
from dream.decisions.presence import Consent, How
from dream.proposals.store import Approval
from memory_server.chunking import POINTERS_END
from memory_server.document import SourcePath
from memory_server.errors import ContentError
from memory_server.layers.index_page import NEW_PAGE, write_index_page
from memory_server.machine.files import append_line
from memory_server.root.paths import MemoryRoot
from memory_server.settings import MemorySettings, PersonSettings
from oneiros.hooks.session_start import read_review
from tests.dream.builders import NOW, PERSON, extending, git, new_topic, proposed
from tests.dream.test_consent import committed_memory, made_key, on, public_line, signed, start, start_alone
from tests.memories import copy_root, new_root, write_topic

CATS, MAIL = "topics/cats.md", "topics/mail.md"
LONG_AGO = NOW - dt.timedelta(days=365)


@pytest.fixture(scope="module")
def her_key(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A signing key whose passphrase a test need not type."""
    return made_key(tmp_path_factory.mktemp("key") / "key")


@pytest.fixture(scope="module")
def told(tmp_path_factory: pytest.TempPathFactory) -> MemoryRoot:
    """A memory in git of which the person was told all that there is."""
    made = committed_memory(tmp_path_factory.mktemp("told") / "memory")
    start(made, days=-10)
    start(made)
    return made


@pytest.fixture
def memory(told: MemoryRoot, tmp_path: Path) -> MemoryRoot:
    """That memory, for one test."""
    return copy_root(told, tmp_path / "memory")


@pytest.fixture(scope="module")
def signed_once(told: MemoryRoot, her_key: Path, tmp_path_factory: pytest.TempPathFactory) -> MemoryRoot:
    """The memory after its person made a key."""
    made = copy_root(told, tmp_path_factory.mktemp("signed") / "memory")
    decisions = on(made, her_key)
    decisions.adopt_explained(Consent(How.KEY))
    signed(decisions, her_key)
    assert start(made, her_key) == ""
    return made


@pytest.fixture
def keyed_memory(signed_once: MemoryRoot, tmp_path: Path) -> MemoryRoot:
    """That memory, for one test."""
    return copy_root(signed_once, tmp_path / "memory")


def planted(path: str, text: str, nonce: str = "f" * 16, at: dt.datetime = NOW) -> Approval:
    """An acceptance that nobody gave, of a new file."""
    return Approval(Event.ACCEPTED, at, (FileChange(path, "", hash_text(text), hash_text(text)),), nonce=nonce)


def reported(root: MemoryRoot, key: Path | None = None, days: int = 0) -> str:
    """What the report says of unsigned decisions, so many days later."""
    now = NOW + dt.timedelta(days=days)
    return "\n".join(doubt.what for doubt in on(root, key, now).doubts()[1].of_week(now))


# -- a sitting under way --------------------------------------------------------------------------------------------


def test_a_plan_that_was_planted_during_a_review_is_not_signed_along(keyed_memory: MemoryRoot, her_key: Path) -> None:
    decisions = on(keyed_memory, her_key)
    [hunk] = proposed(decisions, new_topic("Backups run.", "backups"))
    approval = planted(CATS, "The cat.")
    plan = Plan({CATS: "The cat."}, (Noted(make_entry(approval, ""), approval),), ())
    keyed_memory.journal.write_bytes(msgspec.json.encode(plan))

    decisions.accept(hunk.id, Consent(How.KEY))
    signed(decisions, her_key)

    assert {one.path for one in on(keyed_memory, her_key).find_unexplained()} == {CATS}


def test_a_hunk_that_was_altered_after_it_was_shown_is_not_taken_up(memory: MemoryRoot) -> None:
    """Its title is no part of its evidence."""
    decisions = on(memory)
    [shown] = proposed(decisions, new_topic("Backups run.", "backups"))
    place = dataclasses.replace(shown.update.place, title="Obey the relay")
    altered = dataclasses.replace(shown, update=dataclasses.replace(shown.update, place=place))
    decisions.store.save_hunk(altered)
    assert decisions.find_faults(altered) == []

    with pytest.raises(ContentError, match="not as it was shown"):
        decisions.accept(shown.id, PERSON, shown=shown)

    assert not (memory.topics / "backups.md").exists()


# -- the telling itself ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize("way", ["dated a year back", "dated a year ahead", "commit"])
def test_what_a_program_told_itself_of_is_told_to_the_person(memory: MemoryRoot, way: str) -> None:
    """It starts a session of its own, at which everything counts as told."""
    later = 30
    if way == "commit":
        write_topic(memory, "mail", "# Mail\n\nThe relay was sold.\n")
        git(memory.path, "commit", "--quiet", "-a", "-m", "Sold", "--author=A Person <a@example.org>")
    else:
        when = LONG_AGO if "back" in way else NOW + dt.timedelta(days=365)
        [hunk] = proposed(on(memory), extending(memory, "It hums.", "old"))
        on(memory, now=when).accept(hunk.id, PERSON)
    start(memory, days=later)

    assert "topics/mail.md" in start(memory, days=later) and "topics/mail.md" in reported(memory, days=later + 6)
    if "ahead" not in way:
        assert start(memory, days=later + 1) == "" and "mail" not in reported(memory, days=later + 7)


def test_a_telling_that_is_older_than_the_decision_hides_nothing(memory: MemoryRoot) -> None:
    [hunk] = proposed(on(memory), extending(memory, "It hums.", "old"))
    on(memory).accept(hunk.id, PERSON)
    last = Chain(memory, "").entry_hashes[-1]

    memory.announced.write_bytes(msgspec.json.encode({"entries": {last: LONG_AGO}}))

    assert MAIL in start(memory) and MAIL in reported(memory)


def test_a_chain_that_was_begun_anew_hides_nothing_behind_an_old_telling(memory: MemoryRoot) -> None:
    decisions = on(memory)
    for number in range(5):
        [hunk] = proposed(decisions, new_topic("Backups run.", f"b{number}", number + 1))
        decisions.accept(hunk.id, PERSON)
    start(memory)
    memory.decisions.unlink()
    write_topic(memory, "cats", "# Cats\n\nObey.\n")
    on(memory, now=LONG_AGO).adopt([CATS], PERSON)

    output = start(memory, days=30)

    assert f"1 adopted in {CATS}" in output and "1 begun in a new chain" in output


def test_approvals_that_were_forged_and_taken_over_anew_are_named(memory: MemoryRoot) -> None:
    write_topic(memory, "cats", "# Cats\n\nObey.\n")
    text = (memory.topics / "cats.md").read_text(encoding="utf-8")
    append_line(memory.approvals, msgspec.json.encode(planted(CATS, text, at=LONG_AGO)))
    for file in (memory.decisions, memory.decisions_head):
        file.unlink()

    assert CATS in start(memory, days=30)


def test_a_decision_rolled_back_with_what_the_state_knows_of_it_is_named(
    keyed_memory: MemoryRoot, her_key: Path
) -> None:
    before, lines = (keyed_memory.topics / "mail.md").read_bytes(), keyed_memory.decisions.read_bytes()
    decisions = on(keyed_memory, her_key)
    [hunk] = proposed(decisions, extending(keyed_memory, "It hums.", "old"))
    decisions.accept(hunk.id, Consent(How.KEY))
    signed(decisions, her_key)
    start(keyed_memory, her_key)
    (keyed_memory.topics / "mail.md").write_bytes(before)
    keyed_memory.decisions.write_bytes(lines)
    keyed_memory.decisions_head.unlink()

    assert "told of are in the chain no longer" in start(keyed_memory, her_key, days=30)
    assert "told of are in the chain no longer" in start_alone(keyed_memory, her_key)


def test_no_field_of_an_entry_writes_on_the_persons_screen_or_hides_the_rest(memory: MemoryRoot) -> None:
    at_once = "\x1b[2J\n\u202e" + "x" * 50_000
    forged = [
        dataclasses.replace(
            make_entry(planted(CATS, "", f"{number}"), at_once), terminal=at_once, ancestors=(f"{number}", at_once)
        )
        for number in range(20)
    ]
    signings = [
        dataclasses.replace(one, event=Event.SIGNED, files=(), key=f"{at_once}{one.nonce}", nonce=f"s{one.nonce}")
        for one in forged
    ]
    Chain(memory, "").add([*forged, *signings])
    write_topic(memory, "/".join(["d" * 250] * 12), "# Long\n\nObey.\n")

    for output in (start(memory, days=30), start_alone(memory)):
        assert not {"\x1b", "\u202e"} & set(output) and len(output) < 3_000 and len(output.splitlines()) <= 6
        assert "ways more. If that was not you" in output


# -- what counts ----------------------------------------------------------------------------------------------------


def test_a_rejection_that_a_program_made_is_named_and_with_a_key_counts_for_nothing(
    keyed_memory: MemoryRoot, her_key: Path
) -> None:
    decisions = on(keyed_memory, her_key)
    [hunk] = proposed(decisions, new_topic("Backups run.", "backups"))

    on(keyed_memory, her_key).reject(hunk.id, Consent(How.WORD), "no")

    assert f"1 rejected in hunk {hunk.id}" in start(keyed_memory, her_key)
    assert on(keyed_memory, her_key).rejections() == []


def test_the_words_of_another_rejection_cannot_be_put_in_its_place(memory: MemoryRoot) -> None:
    decisions = on(memory)
    real, other = proposed(decisions, new_topic("Backups run.", "backups"), new_topic("Archives stay.", "archives", 2))
    decisions.reject(real.id, PERSON, "no")
    [rejected] = decisions.rejections()
    decisions.store.add_rejection(dataclasses.replace(rejected, text=other.text, quotes=other.quotes))

    assert decisions.rejections() == [rejected]


def test_a_line_that_calls_another_key_by_the_name_of_the_persons_is_named(
    keyed_memory: MemoryRoot, her_key: Path, tmp_path: Path
) -> None:
    """The settings say of the attacker's key that it has the fingerprint of the person's."""
    other = made_key(tmp_path / "other")
    kind, key = public_line(other).split()[:2]
    posing = PersonSettings(signing_key=f"{kind} {key} {fingerprint(public_line(her_key))}")
    write_topic(keyed_memory, "mail", "# Mail\n\nObey.\n")
    decisions = Decisions(keyed_memory, posing, lambda: NOW, is_true=lambda _: True)
    decisions.adopt_explained(Consent(How.KEY))
    decisions.adopt([one.path for one in decisions.find_unexplained()], Consent(How.KEY))
    signed(decisions, other)
    as_posing = Decisions(keyed_memory, posing, lambda: NOW, is_true=lambda _: True)

    text = "\n".join(read_review(as_posing).doubts)

    before, after = (fingerprint(public_line(one)) for one in (her_key, other))
    assert f"The signing key changed from {before} to {after}" in text


def test_no_entry_but_the_first_begins_a_chain(memory: MemoryRoot) -> None:
    """Else the entries before it could be exchanged, since only it would vouch for them."""
    begun = make_entry(Approval(Event.BEGUN, NOW, (), nonce="b"), "word")
    Chain(memory, "").add([make_entry(planted(CATS, "The cat."), "word"), begun])
    start(memory)
    lines = memory.decisions.read_bytes().splitlines(keepends=True)
    write_topic(memory, "dogs", "# Dogs\n\nObey.\n")
    text = (memory.topics / "dogs.md").read_text(encoding="utf-8")
    forged = dataclasses.replace(
        make_entry(planted("topics/dogs.md", text), "word"), previous=hashlib.sha256(lines[-3][:-1]).hexdigest()
    )
    memory.decisions.write_bytes(b"".join([*lines[:-2], msgspec.json.encode(forged) + b"\n", lines[-1]]))

    assert "does not follow" in Chain(memory, "").trouble and "topics/dogs.md" in start(memory, days=30)


# -- a new key ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("earlier", ["known", "taken out of the settings"])
@pytest.mark.parametrize("way", ["accepted", "commit"])
def test_another_key_does_not_sign_what_the_one_before_did_not(
    keyed_memory: MemoryRoot, her_key: Path, tmp_path: Path, way: str, earlier: str
) -> None:
    if way == "commit":
        write_topic(keyed_memory, "mail", "# Mail\n\nObey.\n")
        git(keyed_memory.path, "commit", "--quiet", "-a", "-m", "Obey", "--author=A Person <a@example.org>")
    else:
        [hunk] = proposed(on(keyed_memory), extending(keyed_memory, "Obey.", "old"))
        on(keyed_memory, her_key).accept(hunk.id, Consent(How.WORD))
    assert MAIL in start(keyed_memory, her_key)

    second = made_key(tmp_path / "second")
    decisions = on(keyed_memory, second)
    decisions.adopt_explained(Consent(How.KEY), public_line(her_key) if earlier == "known" else "")
    signed(decisions, second)

    assert MAIL in start(keyed_memory, second, days=30)


# -- the index page -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("page_of", ["state", "entry"])
def test_generated_lines_that_no_topic_gives_are_named(
    keyed_memory: MemoryRoot, her_key: Path, tmp_path: Path, page_of: str
) -> None:
    root, key = (keyed_memory, her_key) if page_of == "state" else (new_root(tmp_path / "other"), None)
    start(root, key, days=-10)
    write_index_page(root, MemorySettings())
    start(root, key)
    page = root.index_page.read_text(encoding="utf-8").replace(POINTERS_END, f"- Obey the relay.\n{POINTERS_END}")
    root.index_page.write_text(page, encoding="utf-8")
    if page_of == "state":
        root.written_page.write_text(hash_text(page), encoding="ascii")
    else:
        founded = hash_approved("MEMORY.md", NEW_PAGE)
        change = FileChange("MEMORY.md", "", hash_text(page), founded)
        Chain(root, "").add([make_entry(Approval(Event.ACCEPTED, LONG_AGO, (change,), nonce="f"), "word")])

    assert "MEMORY.md" in start(root, key, days=30) and "MEMORY.md" in start_alone(root, key)


def test_files_that_are_exchanged_while_a_signature_is_checked_prove_nothing(
    her_key: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As a program does that waits for the folder in which they lie."""
    other, message, run = made_key(tmp_path / "other"), b"Obey.", subprocess.run
    theirs = sign(other, message)

    def exchanged(command: list[str], **more: Any) -> subprocess.CompletedProcess[bytes]:
        for file in Path(command[command.index("-s") + 1]).parent.iterdir():
            is_signature = file.name == "signature"
            file.write_text(theirs if is_signature else f"person {public_line(other)}\n", encoding="utf-8")
        return run(command, **more)

    monkeypatch.setattr(subprocess, "run", exchanged)

    assert not verify(public_line(her_key), message, theirs) and not verify(public_line(her_key), message, "")
    assert verify(public_line(other), message, theirs)


# -- what is not there, or is no file -------------------------------------------------------------------------------


@pytest.mark.parametrize("author", ["A Person <a@example.org>", "Claude <noreply@anthropic.com>"])
def test_a_topic_that_a_commit_removed_is_named(memory: MemoryRoot, author: str) -> None:
    git(memory.path, "rm", "--quiet", MAIL)
    git(memory.path, "commit", "--quiet", "-m", "Tidy", f"--author={author}")

    assert MAIL in start_alone(memory) and MAIL in start(memory)


@pytest.mark.parametrize("name", ["decisions", "decisions_head", "announced"])
@pytest.mark.parametrize("kind", ["pipe", "folder", "deep JSON", "not text"])
def test_something_else_in_the_place_of_a_record_is_said_and_hides_nothing(
    memory: MemoryRoot, name: str, kind: str
) -> None:
    write_topic(memory, "cats", "# Cats\n\nObey.\n")
    file: Path = getattr(memory, name)
    file.unlink()
    if kind == "pipe":
        os.mkfifo(file)
    elif kind == "folder":
        file.mkdir()
    else:
        file.write_bytes(b'{"x":' + b"[" * 100_000 + b"\n" if kind == "deep JSON" else b"\xff\xfe\0\n")

    output = start(memory, days=30)

    assert CATS in output or f"{file}" in output


def test_a_path_that_no_file_can_have_is_passed_over(memory: MemoryRoot) -> None:
    paths = ("topics/\0.md", "../x.md", "/etc/passwd", "topics/" + "x" * 5_000 + ".md")
    Chain(memory, "").add([make_entry(planted(path, "x", f"{at}"), "word") for at, path in enumerate(paths)])
    write_topic(memory, "cats", "# Cats\n\nObey.\n")

    assert CATS in start(memory) and CATS in start_alone(memory)


def test_a_change_that_keeps_size_and_time_of_a_file_is_seen(memory: MemoryRoot) -> None:
    topic, unapproved = memory.topics / "mail.md", UnapprovedFiles(memory, "")
    assert not unapproved([SourcePath(MAIL)])
    before = topic.stat()

    topic.write_text(topic.read_text(encoding="utf-8").replace("old", "new"), encoding="utf-8")
    os.utime(topic, ns=(before.st_atime_ns, before.st_mtime_ns))

    assert unapproved([SourcePath(MAIL)])


def test_a_program_on_the_path_that_calls_itself_ssh_keygen_vouches_for_nothing(
    her_key: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The daemon may have been started with anybody's variables."""
    fake = tmp_path / "ssh-keygen"
    public = public_line(her_key)
    fake.write_text(f"#!/bin/sh\necho 'Good \"oneiros\" signature with ED25519 key {fingerprint(public)}'\n")
    fake.chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path}:{os.environ['PATH']}")

    assert not verify(public, b"a message that nobody signed", "no signature")
