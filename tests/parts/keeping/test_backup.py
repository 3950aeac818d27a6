"""`oneiros backup` and `--restore`: whole or not at all, on another machine too, and no more than it may claim."""

import hashlib
import json
import shutil
import sqlite3
import subprocess
import tarfile
from collections.abc import Callable, Sequence
from contextlib import closing
from pathlib import Path

import pytest
import zstandard

from dream.decisions.approvals import read_approvals
from memory_server.errors import ContentError
from oneiros.cli.main import main
from oneiros.environment import Environment
from parts.keeping.bundle import BLOCK, header, read_bundle
from tests.crawler.builders import OTHER_SESSION, assistant, person, working_session, write_transcript
from tests.memories import without_daemon

Run = Callable[..., tuple[int, str, str]]
QUESTIONS = ("which port does the relay listen on", "why does the relay lose its connection", "which rollers")


class Machine:
    """A home with a memory; commands run there."""

    def __init__(self, home: Path, capsys: pytest.CaptureFixture[str]):
        self.home, self.capsys = home, capsys
        self.root = home / "memory" / "own"
        variables = {"ONEIROS_ROOT": str(self.root), "XDG_STATE_HOME": str(home / "state")}
        self.environment = Environment(variables, home, home)

    def run(self, *arguments: str) -> tuple[int, str, str]:
        home = self.home
        variables = dict(self.environment.variables)
        code = main(without_daemon(arguments), Environment(variables, home, home))
        out, err = self.capsys.readouterr()
        return code, out, err

    def answers(self) -> list[object]:
        found = [json.loads(self.run("recall", question, "--json")[1])["hits"] for question in QUESTIONS]
        return [[(hit["path"], hit["passage"], hit["unapproved"]) for hit in hits] for hits in found]

    def files(self) -> dict[str, str]:
        """Every file of the root that is not derived, and git's last commit."""
        paths = [path for path in self.root.rglob("*") if path.is_file() and ".oneiros" not in path.parts]
        found = {str(path.relative_to(self.root)): path for path in paths if ".git" not in path.parts}
        own = {
            name: hashlib.sha256(path.read_bytes()).hexdigest() for name, path in found.items() if ".lock" not in name
        }
        log = subprocess.run(
            ["git", "-C", str(self.root), "log", "--format=%H"], capture_output=True, text=True, check=True
        )
        return own | {"log": log.stdout}

    def unexplained(self) -> list[str]:
        return [one.path for one in read_approvals(self.environment.choice.root, "").find_unexplained()]


@pytest.fixture(scope="module")
def shared(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("backup")


@pytest.fixture
def first(shared: Path, founded: Path, capsys: pytest.CaptureFixture[str]) -> Machine:
    """A machine with two conversations and one accepted statement, made once and copied to where it was made."""
    machine, made = Machine(shared / "first", capsys), shared / "made"
    if not made.exists():
        take_part(machine, founded)
        machine.home.rename(made)
    shutil.rmtree(machine.home, ignore_errors=True)
    shutil.copytree(made, machine.home, symlinks=True)
    return machine


def take_part(machine: Machine, founded: Path) -> None:
    """What a person did on this machine."""
    machine.root.parent.mkdir(parents=True)
    shutil.copytree(founded, machine.root)
    folder = machine.home / ".claude" / "projects" / "-work-app"
    write_transcript(folder, *working_session())
    said = [
        person(21, "The printer jams.", session=OTHER_SESSION),
        assistant(22, "I ordered rollers.", session=OTHER_SESSION),
    ]
    write_transcript(folder, *said, session=OTHER_SESSION)
    for name, value in (("user.name", "A"), ("user.email", "a@example.org")):
        subprocess.run(["git", "-C", str(machine.root), "config", name, value], check=True)
    machine.run("ingest")
    assert machine.run("remember", "The relay listens on port 2525.", "--topic", "mail")[0] == 0


@pytest.fixture
def second(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> Machine:
    """Another machine, with nothing on it."""
    return Machine(tmp_path / "second", capsys)


def fingerprint_of(output: str) -> str:
    return output.partition("Fingerprint: ")[2].strip()


def test_a_restored_memory_is_the_same_on_another_machine(first: Machine, second: Machine, tmp_path: Path) -> None:
    answers, files, file = first.answers(), first.files(), tmp_path / "a.tar.zst"

    code, _, output = first.run("backup", str(file))
    assert (code, file.stat().st_mode & 0o777) == (0, 0o600), output
    code, _, result = second.run("backup", "--restore", str(file), "--fingerprint", fingerprint_of(output))

    assert code == 0, result
    assert (second.files(), second.answers()) == (files, answers)
    assert second.unexplained() == []
    assert second.run("remember", "The relay needs TLS.", "--topic", "mail")[0] == 0
    assert not second.environment.choice.root.token.exists()


def test_where_a_backup_cannot_lie_is_told(first: Machine, tmp_path: Path) -> None:
    gone = tmp_path / "gone"

    assert first.run("backup", str(gone / "a.tar.zst"))[::2] == (
        2,
        f"{gone} is no folder. Make it first, or choose another one.\n",
    )
    inside = first.environment.choice.root.path / "a.tar.zst"
    assert first.run("backup", str(inside))[::2] == (
        2,
        f"{inside} lies in the memory. Choose a folder outside of it.\n",
    )


def test_without_its_fingerprint_decisions_that_no_commit_holds_explain_nothing(
    first: Machine, second: Machine, tmp_path: Path
) -> None:
    first.run("config", "dream_commit", "false")
    first.run("remember", "The relay needs TLS.", "--topic", "tls")
    file = tmp_path / "a.tar.zst"
    output = first.run("backup", str(file))[2]
    assert first.unexplained() == []

    assert second.run("backup", "--restore", str(file), "--fingerprint", "00000-00000-00000-00000")[0] == 2
    assert second.run("backup", "--restore", str(file))[0] == 0

    assert {"topics/mail.md", "topics/tls.md"} <= set(second.unexplained())
    third = Machine(tmp_path / "third", first.capsys)
    third.run("backup", "--restore", str(file), "--fingerprint", fingerprint_of(output))
    assert third.unexplained() == []


def test_commits_of_a_backup_that_nothing_vouches_for_wait_beside(
    first: Machine, second: Machine, tmp_path: Path
) -> None:
    second.run("backup", "--restore", str(backed_up(first, tmp_path / "a.tar.zst")))

    refs = subprocess.run(["git", "-C", str(second.root), "for-each-ref"], capture_output=True, text=True, check=True)
    [ref] = [line.split("\t")[1] for line in refs.stdout.splitlines()]
    assert ref.startswith("refs/restored/heads/")


def test_approvals_without_a_chain_come_back_for_nobody(first: Machine, second: Machine, tmp_path: Path) -> None:
    first.run("config", "dream_commit", "false")
    first.run("remember", "The relay needs TLS.", "--topic", "tls")
    forged = tmp_path / "a.tar.zst"
    members = of_bundle(backed_up(first, tmp_path / "b.tar.zst"))
    del members["root/proposals/decisions.jsonl"], members["state/decisions-head.json"]
    write_tar(forged, members)

    assert second.run("backup", "--restore", str(forged))[0] == 0
    assert not second.environment.choice.root.approvals.exists()
    assert "topics/tls.md" in second.unexplained()


def test_an_increment_restores_with_what_it_was_made_from(first: Machine, second: Machine, tmp_path: Path) -> None:
    whole, more = tmp_path / "a.tar.zst", tmp_path / "b.tar.zst"
    first.run("backup", str(whole))
    first.run("remember", "The relay needs TLS.", "--topic", "tls")
    (first.root / "topics" / "cats.md").unlink(missing_ok=True)
    output = first.run("backup", str(more), "--since", str(whole))[2]
    files = first.files()

    named = ("--fingerprint", fingerprint_of(output))
    assert more.stat().st_size < whole.stat().st_size
    assert second.run("backup", "--restore", str(more))[0] == 1
    assert not second.root.exists()
    assert second.run("backup", "--restore", str(whole), "--restore", str(more), *named)[0] == 0
    assert second.files() == files


def test_what_was_forgotten_since_stays_out(first: Machine, tmp_path: Path) -> None:
    file = tmp_path / "a.tar.zst"
    first.run("backup", str(file))
    first.run("forget", OTHER_SESSION)
    shutil.rmtree(first.root)

    code, _, output = first.run("backup", "--restore", str(file))

    assert (code, "1 sessions that you forgot since stay out" in output) == (0, True), output
    assert not any(OTHER_SESSION[:8] in str(path) for path in first.root.rglob("*") if ".oneiros" not in path.parts)
    assert first.unexplained() == []  # this machine noted the fingerprint itself


def test_a_root_that_is_not_empty_and_a_file_that_is_there_are_left_alone(first: Machine, tmp_path: Path) -> None:
    file = tmp_path / "a.tar.zst"
    first.run("backup", str(file))
    before = first.files()

    assert first.run("backup", "--restore", str(file))[0] == 2
    assert first.run("backup", str(file))[0] == 2
    assert first.run("backup", str(first.root / "b.tar.zst"))[0] == 2
    assert first.files() == before


# -- files that a stranger made -----------------------------------------------------------------------------------


def backed_up(machine: Machine, file: Path) -> Path:
    assert machine.run("backup", str(file))[0] == 0
    return file


def of_bundle(file: Path) -> dict[str, bytes]:
    with zstandard.open(file) as stream, tarfile.open(fileobj=stream, mode="r|") as tar:
        return {member.name: tar.extractfile(member).read() for member in tar}  # type: ignore[union-attr]


def write_tar(
    file: Path, members: dict[str, bytes], odd: Sequence[tarfile.TarInfo] = (), manifest: bytes = b""
) -> None:
    """A bundle with the manifest that fits its members, unless another is given, and members that fit none."""
    found = json.loads(members.pop("manifest.json"))
    found["files"] = {name: [len(text), hashlib.sha256(text).hexdigest()] for name, text in members.items()}
    whole = {**members, "manifest.json": manifest or json.dumps(found).encode()}
    with zstandard.open(file, "wb") as stream:
        for one in odd:
            is_plain = one.type == tarfile.REGTYPE
            stream.write(header(one.name.encode(), one.size) if is_plain else one.tobuf(tarfile.USTAR_FORMAT))
            stream.write((b"x" * one.size).ljust(-(-one.size // 512) * 512, b"\0"))
        for name, text in whole.items():
            stream.write(header(name.encode(), len(text)) + text + bytes(-len(text) % 512))
        stream.write(bytes(1024))


def member(name: str, kind: bytes = tarfile.REGTYPE, link: str = "", size: int = 0) -> tarfile.TarInfo:
    made = tarfile.TarInfo(name)
    made.type, made.linkname, made.size = kind, link, size
    return made


ODD = {
    "above": member("root/../../evil"),
    "absolute": member("/tmp/evil"),
    "hooks": member("root/.git/hooks/post-checkout"),
    "derived": member("root/.oneiros/ledger.db"),
    "nowhere": member("evil"),
    "link": member("root/topics/a.md", tarfile.SYMTYPE, "/etc/passwd"),
    "hard link": member("root/topics/a.md", tarfile.LNKTYPE, "root/MEMORY.md"),
    "device": member("root/topics/a.md", tarfile.CHRTYPE),
    "pipe": member("root/topics/a.md", tarfile.FIFOTYPE),
    "folder": member("root/topics", tarfile.DIRTYPE),
    "unnamed": member("root/topics/a.md", size=3),
    "twice": member("root/MEMORY.md", size=3),
}


@pytest.mark.parametrize("what", ODD)
def test_a_bundle_with_an_odd_member_writes_nothing(what: str, first: Machine, second: Machine, tmp_path: Path) -> None:
    forged = tmp_path / "forged.tar.zst"
    write_tar(forged, of_bundle(backed_up(first, tmp_path / "a.tar.zst")), [ODD[what]])

    assert second.run("backup", "--restore", str(forged))[0] == 1
    assert not second.root.exists() and not list(second.home.rglob("*"))


@pytest.mark.parametrize("share", [0.1, 0.5, 0.9, 0.999])
def test_a_bundle_that_was_cut_or_changed_is_refused(share: float, first: Machine, tmp_path: Path) -> None:
    whole = backed_up(first, tmp_path / "a.tar.zst").read_bytes()
    place = int(len(whole) * share)
    (tmp_path / "cut").write_bytes(whole[:place])
    (tmp_path / "changed").write_bytes(whole[:place] + bytes([whole[place] ^ 1]) + whole[place + 1 :])

    for name in ("cut", "changed"):
        with pytest.raises(ContentError):
            read_bundle(tmp_path / name, "backup")
    with pytest.raises(ContentError, match="there is no such file"):
        read_bundle(tmp_path / "gone", "backup")
    with pytest.raises(ContentError, match="the file cannot be read \\(Is a directory\\)"):
        read_bundle(tmp_path, "backup")


@pytest.mark.parametrize("place", ["behind a file", "behind the end"])
def test_a_bundle_with_more_than_its_files_is_refused(place: str, first: Machine, tmp_path: Path) -> None:
    whole = zstandard.ZstdDecompressor().stream_reader(backed_up(first, tmp_path / "a.tar.zst").read_bytes()).read()
    changed = bytearray(whole)
    size = int(whole[124:135], 8)
    changed[BLOCK + size if place == "behind a file" else -1] = 1
    assert size % BLOCK and len(whole) == len(changed)
    (tmp_path / "changed").write_bytes(zstandard.compress(bytes(changed)))

    with pytest.raises(ContentError, match="something stands behind"):
        read_bundle(tmp_path / "changed", "backup")


@pytest.mark.parametrize("name", ["state.db", "queries.db", "use.db"])
def test_no_token_no_plan_and_no_acting_database_come_back(
    name: str, first: Machine, second: Machine, tmp_path: Path
) -> None:
    odd = tmp_path / "odd.db"
    with sqlite3.connect(odd) as connection:
        connection.executescript("create table t(a); create trigger x after insert on t begin delete from t; end;")
    members = of_bundle(backed_up(first, tmp_path / "a.tar.zst"))
    members |= {f"state/{name}": b"{}" for name in ("token", "journal.json", "root.json", "index-page")}
    members[f"state/{name}"] = odd.read_bytes()
    write_tar(tmp_path / "forged.tar.zst", members)

    assert second.run("backup", "--restore", str(tmp_path / "forged.tar.zst"))[0] == 0

    state = second.environment.choice.root.state
    with closing(sqlite3.connect(state / "state.db")) as log:  # the restore itself may have begun one
        assert not {"t", "x"} & {row[0] for row in log.execute("select name from sqlite_master")}
    assert not {"token", "journal.json", "queries.db", "use.db"} & {path.name for path in state.iterdir()}
    page = state / "index-page"
    assert not page.exists() or page.read_bytes() != b"{}", "what a bundle says of the page counts for nothing"


def test_a_file_changed_by_hand_under_the_old_manifest_is_refused(
    first: Machine, second: Machine, tmp_path: Path
) -> None:
    members = of_bundle(backed_up(first, tmp_path / "a.tar.zst"))
    manifest = members["manifest.json"]
    members["root/topics/mail.md"] = b"The relay listens on port 1.\n"
    forged = tmp_path / "forged.tar.zst"
    write_tar(forged, members, manifest=manifest)

    assert second.run("backup", "--restore", str(forged))[0] == 1
    assert not second.root.exists()


@pytest.mark.parametrize("manifest", [b"[" * 100_000, b'{"x":' + b"[" * 100_000, b'{"kind":"\xff"}'])
def test_a_manifest_that_cannot_be_read_is_refused(
    manifest: bytes, first: Machine, second: Machine, tmp_path: Path
) -> None:
    write_tar(tmp_path / "forged", of_bundle(backed_up(first, tmp_path / "a.tar.zst")), manifest=manifest)

    assert second.run("backup", "--restore", str(tmp_path / "forged"))[0] == 1
    assert not second.root.exists()


def test_sizes_that_lie_are_refused(first: Machine, second: Machine, tmp_path: Path) -> None:
    whole = zstandard.decompress(backed_up(first, tmp_path / "a.tar.zst").read_bytes(), max_output_size=1 << 26)
    name, size = whole[:100].rstrip(b"\0"), int(whole[124:135], 8)
    for said in (size + 512, 1 << 40, 0):
        forged = tmp_path / "forged.tar.zst"
        forged.write_bytes(zstandard.compress(header(name, said % (8 << 30)) + whole[512:]))

        assert second.run("backup", "--restore", str(forged))[0] == 1
        assert not second.root.exists()


def test_other_programs_read_what_is_written(first: Machine, tmp_path: Path) -> None:
    members = of_bundle(backed_up(first, tmp_path / "a.tar.zst"))

    assert members["root/topics/mail.md"] == (first.root / "topics" / "mail.md").read_bytes()
