"""Accidents that hide something, each with the word that says so: none passes an answer, status or report in silence.

One accident is one row: how it comes about, who is asked, and what must be said.
"""

import os
import shutil
import subprocess
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from crawler.archive.waiting import Waiting, count_waiting
from memory_server.index.ledger import Ledger
from memory_server.search.pipeline import NOTHING
from memory_server.search.question import Search
from oneiros.cli.main import main
from oneiros.environment import Environment
from oneiros.ingest import settings
from tests.crawler.builders import OTHER_SESSION, SESSION, assistant, person, to_lines
from tests.memories import root_at, without_daemon
from tests.parts.agents.builders import make_message, rollout

GIT = ("-c", "user.email=me@here", "-c", "user.name=me")
QUESTION = ("recall", "on which port does the relay listen")
NO_ANSWER = ("exact", "zeppelin")
STATUS, DOCTOR, REPORT, VALIDATE = ("status",), ("doctor",), ("report",), ("validate",)
CLEAN = "---\ntitle: Mail\nproject: shop\n---\n# Mail\n\nThe relay listens on port 2525.\n"


@dataclass
class Home:
    """A person's home with a memory of one topic and one session, both taken in."""

    path: Path
    capture: pytest.CaptureFixture[str]
    variables: dict[str, str] = field(default_factory=dict)

    @property
    def memory(self) -> Path:
        return self.path / ".oneiros" / "memory"

    @property
    def projects(self) -> Path:
        return self.path / ".claude" / "projects"

    @property
    def session(self) -> Path:
        return self.projects / "-srv-app" / f"{SESSION}.jsonl"

    @property
    def environment(self) -> Environment:
        return Environment({"HOME": str(self.path), **self.variables}, self.path, self.path)

    def run(self, *arguments: str) -> str:
        """All that a command says, on one line."""
        self.capture.readouterr()
        main(without_daemon(arguments), self.environment)
        return " ".join("".join(self.capture.readouterr()).split())

    def topic(self, text: str | bytes, name: str = "relay.md") -> Path:
        return self.write(self.memory / "topics" / name, text)

    def head(self, head: str) -> Path:
        return self.topic(f"---\n{head}---\n# Relay\n\nThe relay is in rack nine.\n")

    def report(self) -> str:
        """The whole review, of which a terminal shows a screen."""
        self.run("report")
        return " ".join(next((self.memory / "reports").glob("*.md")).read_text(encoding="utf-8").split())

    def write(self, file: Path, text: str | bytes) -> Path:
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_bytes(text if isinstance(text, bytes) else text.encode())
        return file

    def say(
        self, folder: Path, session: str = OTHER_SESSION, text: str = "The zeppelin is grey.", **more: object
    ) -> Path:
        """A transcript."""
        return self.write(folder / f"{session}.jsonl", to_lines(person(1, text, session=session, **more)))

    def settle(self, line: str) -> None:
        file = self.path / ".config" / "oneiros" / "config.toml"
        self.write(file, (file.read_text(encoding="utf-8") if file.exists() else "") + line + "\n")

    def git(self, *words: str) -> None:
        subprocess.run(["git", "-C", str(self.memory), *GIT, *words], check=True, capture_output=True)


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A home as the tests find theirs: its memory is committed, indexed, and level with one transcript."""
    home = tmp_path_factory.mktemp("home") / "me"
    home.mkdir()
    memory, environment = home / ".oneiros" / "memory", Environment({"HOME": str(home)}, home, home)
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("HOME", str(home))
        assert main(["init"], environment) == 0
        (memory / "topics" / "mail.md").write_text(CLEAN, encoding="utf-8")
        transcript = home / ".claude" / "projects" / "-srv-app" / f"{SESSION}.jsonl"
        transcript.parent.mkdir(parents=True)
        transcript.write_bytes(to_lines(person(1, "We paint the door green.")))
        assert main(["ingest"], environment) == 0
    for words in (["init", "--quiet"], ["add", "topics", "MEMORY.md"], ["commit", "--quiet", "--message", "mine"]):
        subprocess.run(["git", "-C", str(memory), *GIT, *words], check=True, capture_output=True)
    return home.rename(home.with_name("template"))


@pytest.fixture
def home(built: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> Home:
    """That home in its place; its transcripts are the same files, as the table of files read knows them."""
    place = built.with_name("me")
    shutil.rmtree(place, ignore_errors=True)
    shutil.copytree(
        built, place, copy_function=lambda old, new: (os.link if old.endswith(".jsonl") else shutil.copy2)(old, new)
    )
    for name in ("PATH", "GIT_TEST_ASSUME_DIFFERENT_OWNER"):
        monkeypatch.setenv(name, os.environ.get(name, ""))  # as they are, to be as they were
    monkeypatch.setenv("HOME", str(place))
    return Home(place, capsys)


def test_of_a_clean_memory_nothing_is_said(home: Home) -> None:
    assert "Read on" in home.run(*QUESTION) and "oneiros validate" not in home.run(*QUESTION)
    assert home.run(*NO_ANSWER) == NOTHING[Search.EXACT]
    status = home.run(*STATUS)
    assert "archive every session of this machine readings" in status
    assert "lacking" not in status and "problem" not in status
    assert "indices level with the disk" in status
    doctor = home.run(*DOCTOR)
    assert "warning" not in doctor and "failed" not in doctor
    assert "none of this machine is missing" in doctor and "every approved file is as you" in doctor
    assert "roblems of the indices" not in home.run(*REPORT)


def test_a_conversation_of_another_agent_waits_until_it_is_taken_in(home: Home) -> None:
    of_codex(home)
    home.run("ingest")

    assert "Read on" in home.run("recall", "what colour is the zeppelin")
    assert "archive every session of this machine readings" in home.run(*STATUS)


def test_a_merge_that_is_not_finished_settles_nothing(home: Home, monkeypatch: pytest.MonkeyPatch) -> None:
    text = "# Invoices\n\n- Invoices are numbered per {}.\n"
    home.topic(text.format("month"), "invoices.md")
    home.git("add", ".")
    home.git("commit", "-qm", "Begin")
    home.git("checkout", "-qb", "trial")
    home.topic(text.format("year"), "invoices.md")
    home.git("commit", "-qam", "Try")
    home.git("checkout", "-q", "-")
    home.topic(text.format("week"), "invoices.md")
    home.git("commit", "-qam", "Change")
    with pytest.raises(subprocess.CalledProcessError):
        home.git("merge", "trial")
    asked: list[object] = []
    monkeypatch.setattr("oneiros.cli.dreaming.ask_person", asked.append)

    answer = home.run("recall", "how are invoices numbered")

    assert "A merge is not finished in topics/invoices.md" in answer
    assert "dream adopt" not in answer and "sure" not in answer and "<<<" not in answer and ">>>" not in answer
    assert "a merge is under way in 1 file, finish it" in home.run()
    assert "a merge is under way" in home.run("dream", "adopt", "topics/invoices.md") and not asked


def test_what_was_adopted_is_pointed_to_at_once(home: Home, monkeypatch: pytest.MonkeyPatch) -> None:
    home.run("dream", "adopt", "topics/mail.md")
    home.topic("# Door\n\nThe door is green.\n", "door.md")
    home.run("reindex")
    page = home.memory / "MEMORY.md"
    assert "door.md" not in page.read_text(encoding="utf-8")

    home.run("dream", "adopt", "topics/door.md")

    assert "door.md" in page.read_text(encoding="utf-8")


def test_status_looks_at_the_transcripts_once(home: Home, monkeypatch: pytest.MonkeyPatch) -> None:
    looks: list[Iterable[Path]] = []

    def counted(paths: Iterable[Path], *further: Any, **more: Any) -> Waiting:
        looks.append(paths)
        return count_waiting(paths, *further, **more)

    monkeypatch.setattr(settings, "count_waiting", counted)
    home.run(*STATUS)

    assert looks == [[home.projects]]


@dataclass(frozen=True)
class Accident:
    what: str
    happens: Callable[[Home], object]
    arguments: tuple[str, ...]
    expected: str


def unfinished(home: Home) -> None:
    """A run that a kill ended between words and meaning."""
    ledger = Ledger(root_at(home.memory).ledger)
    with ledger.transaction():
        ledger.connection.execute("update chunk set is_semantic = 0")
    ledger.close()


def linked(real: Path, link: Path) -> None:
    link.parent.mkdir(parents=True, exist_ok=True)
    link.symlink_to(real)


def config_folder(home: Home, name: str = ".claude-work") -> Path:
    home.variables["CLAUDE_CONFIG_DIR"] = str(home.path / name)
    return home.path / name


def say_broken(home: Home, *lines: bytes) -> None:
    """A second session with broken lines, taken in."""
    records = to_lines(person(1, "The kiln is hot.", session=OTHER_SESSION))
    home.write(home.projects / "-srv-app" / f"{OTHER_SESSION}.jsonl", records + b"".join(lines))
    home.run("ingest")


def indexed(home: Home, text: str | bytes) -> None:
    """A topic that a run has looked at."""
    home.topic(text)
    home.run("reindex")


def session_file(home: Home) -> Path:
    return next((home.memory / "sessions" / "compressed").rglob("*.md"))


def other(home: Home) -> Path:
    """The place of a second transcript."""
    return home.projects / "-srv-app" / f"{OTHER_SESSION}.jsonl"


def moved(home: Home, folder: Path) -> Path:
    """What lay somewhere lies elsewhere, and a link leads there."""
    place = home.path / f"moved-{folder.name}"
    folder.rename(place)
    folder.symlink_to(place)
    return place


def lessons_as_link(home: Home) -> None:
    home.write(home.memory / "lessons.md", "# Lessons\n")
    moved(home, home.memory / "lessons.md")


def no_folder(home: Home) -> None:
    """A file in the place of the folder of episodes."""
    shutil.rmtree(home.memory / "episodes", ignore_errors=True)
    home.write(home.memory / "episodes", "")


def odd_name(home: Home) -> None:
    home.write(Path(os.fsdecode(os.fsencode(home.memory / "topics") + b"/caf\xe9.md")), "# A\n")


def many_topics(home: Home) -> None:
    for number in range(60):
        home.topic(f"# T {number}\n", f"t{number}.md")


def archived_alone(home: Home) -> None:
    """A session in the archive whose turns went from the index."""
    (home.memory / ".oneiros" / "raw.db").unlink()


def of_one_project(home: Home) -> None:
    """The memory lies in a project's repository, whose sessions alone are its own."""
    shutil.rmtree(home.memory / ".git")
    (home.memory.parent / ".git").mkdir()
    home.run("ingest")


def damaged_archive(home: Home) -> None:
    next((home.memory / "sessions" / "archive").rglob("*.json")).write_text("{", encoding="utf-8")


def seen_before(home: Home) -> None:
    home.say(config_folder(home) / "projects" / "a")
    home.run("topics")
    home.variables.clear()


def cloned_folder(home: Home) -> None:
    folder = config_folder(home, "clone/claude")
    (home.path / "clone" / ".git").mkdir(parents=True)
    home.say(folder / "projects" / "a")


def linked_project(home: Home) -> None:
    home.say(home.path / "disk" / "b")
    linked(home.path / "disk" / "b", home.projects / "-srv-b")


def moved_projects(home: Home) -> None:
    home.say(moved(home, home.projects) / "b")


def left_out(home: Home) -> None:
    """A session of a project that the settings leave out."""
    home.settle('ingest_deny = ["/srv/secret"]')
    home.say(home.projects / "-srv-secret", cwd="/srv/secret")
    home.run("ingest")


def marked(home: Home) -> None:
    """A session that its person left out."""
    home.say(home.projects / "-srv-b", text="#no-memory")
    home.run("ingest")


def of_another_account(home: Home) -> None:
    os.environ["GIT_TEST_ASSUME_DIFFERENT_OWNER"] = "1"  # git's own way to try that


def uncommitted(home: Home) -> None:
    """A person adopts a change while the repository is elsewhere."""
    home.run("dream", "adopt", "topics/mail.md")
    home.topic(CLEAN.replace("2525", "2526"), "mail.md")
    away = (home.memory / ".git").rename(home.memory.parent / "away")
    home.run("dream", "adopt", "topics/mail.md")
    away.rename(home.memory / ".git")


def locked(home: Home) -> None:
    """A person adopts a change while a lock of git, that a crash left, lies there."""
    home.topic(CLEAN.replace("2525", "2526"), "mail.md")
    home.write(home.memory / ".git" / "index.lock", "")
    home.run("dream", "adopt", "topics/mail.md")


def lost_objects(home: Home) -> None:
    shutil.rmtree(home.memory / "sessions" / "archive" / "objects")


def of_laptop(home: Home) -> None:
    home.settle(f'crawl_roots = ["laptop={home.path}/backup"]')
    home.say(home.path / "backup" / "-srv-b")


def of_codex(home: Home) -> None:
    home.settle('agents = ["codex"]')
    rollout(home.path / ".codex", make_message("user", 1, "The zeppelin is grey."))


def beside_lost_disk(home: Home) -> None:
    home.settle('crawl_roots = ["/mnt/x"]')
    home.say(home.projects / "-srv-b")


def damaged_list(home: Home) -> None:
    home.write(home.memory / ".oneiros" / "sessions.db", b"SQLite format 3\0" + b"no database" * 100)


BROKEN = "1 broken frontmatter read key by key: `oneiros validate`"
UNREADABLE = "1 file cannot be read: `oneiros validate`"
LINK = "1 link not followed: `oneiros validate`"
OTHER = "1 other file left out: `oneiros validate`"
TRANSCRIPT = "1 transcript or folder cannot be read: `oneiros ingest`"
LINE = "1 line of a transcript cannot be read: `oneiros doctor`"
ELSEWHERE = "1 look at this machine's transcripts failed: `oneiros doctor`"
WAITING = "1 transcript not archived yet: `oneiros ingest`"
END = to_lines(assistant(2, "It cools.", session=OTHER_SESSION))
LONG = b'{"type":"user","message":{"content":"' + b"x" * 6_100_000 + b'"}}\n'
ACCIDENTS = [
    # topics whose frontmatter is broken
    Accident("a colon in a title", lambda home: home.head("title: Relay: rack\n"), NO_ANSWER, BROKEN),
    Accident("a tab in a head", lambda home: home.head("title:\tRelay\n\tproject: x\n"), NO_ANSWER, BROKEN),
    Accident("a key twice", lambda home: home.head("title: a\ntitle: b\n"), NO_ANSWER, BROKEN),
    Accident("a list that is never closed", lambda home: home.head("tags: [a, b\n"), NO_ANSWER, BROKEN),
    Accident("a quote that is never closed", lambda home: indexed(home, "---\ntitle: 'a\n---\n"), STATUS, BROKEN),
    Accident("a quote that is never closed", lambda home: indexed(home, "---\ntitle: 'a\n---\n"), REPORT, "key by key"),
    Accident("a mark of YAML", lambda home: home.head("title: @relay\n"), DOCTOR, "topics/relay.md:2: the frontmatter"),
    Accident("an alias of nothing", lambda home: home.head("title: *relay\n"), NO_ANSWER, BROKEN),
    Accident("a control character", lambda home: home.head("title: a\x07b\n"), VALIDATE, "it holds the character"),
    Accident("a head that never ends", lambda home: home.topic("---\ntitle: a\n\nThe relay.\n"), NO_ANSWER, BROKEN),
    Accident("a hit with a broken head", lambda home: home.head("title: a: b\n"), ("exact", "rack nine"), BROKEN),
    # files of the memory that cannot be read
    Accident("Latin-1", lambda home: home.topic("# Café\n".encode("latin-1")), QUESTION, UNREADABLE),
    Accident("UTF-16", lambda home: home.topic("# Relay\n".encode("utf-16")), VALIDATE, "the file is UTF-16 text"),
    Accident("NUL bytes of a crash", lambda home: indexed(home, b"# Relay\n" + bytes(9)), STATUS, UNREADABLE),
    Accident("a file of five megabytes", lambda home: home.topic("x\n" * 2_500_000), DOCTOR, "1 topics cannot be read"),
    Accident("an unreadable session", lambda home: session_file(home).write_bytes(b"\xff"), QUESTION, UNREADABLE),
    Accident("unreadable lessons", lambda home: home.write(home.memory / "lessons.md", b"\xff"), QUESTION, UNREADABLE),
    Accident("a file in a folder's place", no_folder, NO_ANSWER, "episodes: it is no folder"),
    # what lies among the sources and is none
    Accident("a link to nowhere", lambda home: linked(home.path / "x", home.memory / "topics/x.md"), STATUS, LINK),
    Accident("a folder as a link", lambda home: linked(home.projects, home.memory / "topics/x"), NO_ANSWER, LINK),
    Accident("all topics as a link", lambda home: moved(home, home.memory / "topics"), NO_ANSWER, LINK),
    Accident("the lessons as a link", lessons_as_link, QUESTION, LINK),
    Accident("a text file", lambda home: home.topic("The relay.\n", "relay.txt"), QUESTION, OTHER),
    Accident("an ending in capitals", lambda home: home.topic("# Relay\n", "relay.MD"), NO_ANSWER, OTHER),
    Accident("a pipe", lambda home: os.mkfifo(home.memory / "topics" / "pipe.md"), REPORT, "no ordinary file"),
    Accident("a name that is no text", odd_name, STATUS, OTHER),
    # what is said beside the sources
    Accident("no settings", lambda home: home.write(home.memory / "oneiros.toml", "x"), STATUS, "oneiros.toml"),
    Accident("no ontology", lambda home: home.write(home.memory / "ontology.yaml", "a: ["), DOCTOR, "ontology.yaml"),
    Accident("a merge left open", lambda home: home.topic("# A\n<<<<<<< x\n"), DOCTOR, "a merge was not finished"),
    # indices that are not level
    Accident("a topic not indexed", lambda home: home.topic("# A\n\nB.\n"), STATUS, "not indexed yet"),
    Accident("a topic not indexed", lambda home: home.topic("# A\n\nB.\n"), DOCTOR, "not indexed yet"),
    Accident("a topic not indexed", lambda home: home.topic("# A\n\nB.\n"), REPORT, "1 file behind"),
    Accident("many topics at once", many_topics, QUESTION, "files behind; bring them level: oneiros reindex"),
    Accident("many topics at once", many_topics, NO_ANSWER, "changed files not indexed yet"),
    Accident("half-made indices", unfinished, STATUS, "not found by meaning yet: `oneiros reindex`"),
    Accident("half-made indices", unfinished, DOCTOR, "not found by meaning yet"),
    Accident("turns that went", archived_alone, STATUS, "1 session not indexed turn by turn yet: `oneiros reindex`"),
    # sessions that were not taken in
    Accident("a new session", lambda home: home.say(home.projects / "-srv-b"), NO_ANSWER, WAITING),
    Accident("a new session", lambda home: home.say(home.projects / "-srv-b"), REPORT, "1 transcript not archived yet"),
    Accident("another client", lambda home: home.say(config_folder(home) / "projects/a"), NO_ANSWER, WAITING),
    Accident("another client, seen before", seen_before, STATUS, "1 not archived yet"),
    Accident("another client that is gone", config_folder, STATUS, "1 CLAUDE_CONFIG_DIR names no folder"),
    Accident("another client out of a clone", cloned_folder, DOCTOR, "or one in a repository"),
    Accident("a project as a link", linked_project, NO_ANSWER, WAITING),
    Accident("all projects as a link", moved_projects, NO_ANSWER, WAITING),
    Accident("a deeper link", lambda home: linked(home.memory, home.session.with_name("x")), STATUS, TRANSCRIPT),
    Accident("a transcript's dead link", lambda home: linked(home.path / "x", other(home)), STATUS, TRANSCRIPT),
    Accident("a transcript that is a pipe", lambda home: os.mkfifo(other(home)), NO_ANSWER, TRANSCRIPT),
    Accident("a folder called a transcript", lambda home: other(home).mkdir(), STATUS, TRANSCRIPT),
    Accident("a line of a crash", lambda home: say_broken(home, b'\0\0{"type\n', END), STATUS, LINE),
    Accident("a line of a crash", lambda home: say_broken(home, b'{"type\n', END), STATUS, "session that can be read"),
    Accident("a line that is no record", lambda home: say_broken(home, b"[1, 2]\n", END), NO_ANSWER, LINE),
    Accident("a line beyond measure", lambda home: say_broken(home, LONG, END), DOCTOR, LINE.partition(":")[0]),
    Accident("a line of text", lambda home: say_broken(home, b"nothing\n", END), DOCTOR, LINE.partition(":")[0]),
    Accident("a project left out", left_out, STATUS, "every session of this machine, but 1 that you left out"),
    Accident("a conversation left out", marked, DOCTOR, "none of this machine is missing, but 1 that you left out"),
    Accident("no such disk", lambda home: home.settle('crawl_roots = ["/mnt/x"]'), STATUS, "1 folder in crawl_roots"),
    Accident("no such disk", lambda home: home.settle('crawl_roots = ["/mnt/x"]'), DOCTOR, "crawl_roots not there"),
    Accident("a root that is no path", lambda home: home.settle('crawl_roots = ["foo"]'), NO_ANSWER, ELSEWHERE),
    Accident("a root that is no path", lambda home: home.settle('crawl_roots = ["foo"]'), DOCTOR, "Give a whole path"),
    Accident("a damaged list of what was read", damaged_list, NO_ANSWER, ELSEWHERE),
    Accident("a damaged list of what was read", damaged_list, DOCTOR, "file is not a database"),
    Accident("a damaged archive", damaged_archive, STATUS, "1 archived session cannot be read: `oneiros archive"),
    Accident("a damaged archive", damaged_archive, DOCTOR, "1 archived session cannot be read"),
    Accident("a session's objects that went", lost_objects, STATUS, "1 archived session cannot be read"),
    Accident("a new session of another machine", of_laptop, NO_ANSWER, WAITING),
    Accident("a new conversation of another agent", of_codex, NO_ANSWER, WAITING),
    Accident("a new conversation of another agent", of_codex, STATUS, WAITING),
    Accident("a new session beside a lost disk", beside_lost_disk, DOCTOR, "1 transcript not archived yet, 0 expiring"),
    Accident("a new session beside a lost disk", beside_lost_disk, DOCTOR, "1 folder in crawl_roots not there"),
    Accident("a memory of one project", of_one_project, STATUS, "archive every session of this project readings"),
    # git
    Accident("another account's repository", of_another_account, DOCTOR, "dubious ownership"),
    Accident("another account's repository", of_another_account, REPORT, "git does not tell what was committed"),
    Accident("no HEAD", lambda home: (home.memory / ".git" / "HEAD").unlink(), DOCTOR, "git does not tell what was"),
    Accident("no git", lambda home: os.environ.update(PATH="/nonexistent"), DOCTOR, "git cannot be run"),
    Accident("a decision without a commit", uncommitted, DOCTOR, "Decided, and not committed: topics/mail.md"),
    Accident("git's lock behind a crash", locked, DOCTOR, "index.lock"),
]


@pytest.mark.parametrize("accident", ACCIDENTS, ids=lambda accident: f"{accident.what}, {accident.arguments[0]}")
def test_no_accident_passes_in_silence(home: Home, accident: Accident) -> None:
    accident.happens(home)

    assert accident.expected in (home.report() if accident.arguments == REPORT else home.run(*accident.arguments))
