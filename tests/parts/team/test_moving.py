"""A root moved into a tenant and out again; the program's commands."""

from collections.abc import Iterator
from pathlib import Path

import psycopg
import pytest
from typer.testing import CliRunner

from memory_server.errors import ContentError, NeedsRepair, UsageError
from memory_server.memory import Memory
from memory_server.root.paths import MemoryRoot
from memory_server.search.question import parse_query
from parts.team.cli import app
from parts.team.engine.database import Database
from parts.team.indexing import TenantIndexer
from parts.team.memory import TeamMemory
from parts.team.migrating import NotLevel, collect_files, move_in, move_out
from parts.team.outbox import Outbox
from parts.team.repositories import Repositories
from parts.team.settings import TeamSettings
from parts.team.tenants import create_tenant
from tests.conftest import MakeEngine
from tests.memories import new_root, open_memory, write_topic

pytestmark = pytest.mark.team


@pytest.fixture
def settings(app_dsn: str, owner_dsn: str, tmp_path: Path) -> TeamSettings:
    return TeamSettings(dsn=app_dsn, owner_dsn=owner_dsn, folder=tmp_path / "team")


@pytest.fixture
def outbox(database: Database, settings: TeamSettings) -> Outbox:
    return Outbox(database, Repositories(settings.folder / "repositories"))


@pytest.fixture
def indexer(database: Database, outbox: Outbox, settings: TeamSettings) -> TenantIndexer:
    return TenantIndexer(database, outbox, settings)


@pytest.fixture
def small(tmp_path: Path, make_engine: MakeEngine) -> Iterator[Memory]:
    """An indexed memory of two topics."""
    root = new_root(tmp_path / "memory")
    write_topic(root, "mail", "The relay listens on port 2525.")
    write_topic(root, "backup", "Tapes are kept for thirty days.")
    with open_memory(root.path, make_engine) as memory:
        memory.reindex()
        yield memory


def test_a_folder_that_is_no_memory_is_refused_and_nothing_is_committed(
    settings: TeamSettings, indexer: TenantIndexer, tmp_path: Path
) -> None:
    tenant = create_tenant(settings.owner_dsn, "nothing").id

    with pytest.raises(NeedsRepair, match="there is no memory here"):
        move_in(indexer, tenant, MemoryRoot(tmp_path / "nothing", tmp_path / "states"))

    assert indexer.outbox.repositories.find(tenant).head() == ""


def test_what_is_moved_in_comes_out_the_same(
    settings: TeamSettings, indexer: TenantIndexer, small: Memory, team: TeamMemory, tmp_path: Path
) -> None:
    tenant = create_tenant(settings.owner_dsn, "moved").id

    moved = move_in(indexer, tenant, small.root)

    assert moved.files == 3  # with MEMORY.md
    question = parse_query("which port has the relay")
    answer = team.search(tenant, question)
    assert [hit.path for hit in answer.answer.hits] == [hit.path for hit in small.search(question).hits]
    assert answer.commit == moved.commit
    out = move_out(indexer, tenant, tmp_path / "out")
    assert out.commit == moved.commit
    assert collect_files(small.root, sessions=False) == {
        path.relative_to(tmp_path / "out").as_posix(): path.read_bytes() for path in (tmp_path / "out").rglob("*.md")
    }


def test_nothing_is_embedded_on_the_way(
    settings: TeamSettings,
    indexer: TenantIndexer,
    small: Memory,
    make_engine: MakeEngine,
    tmp_path: Path,
) -> None:
    tenant = create_tenant(settings.owner_dsn, "cached").id
    move_in(indexer, tenant, small.root)
    move_out(indexer, tenant, tmp_path / "out")

    with open_memory(tmp_path / "out", make_engine) as memory:
        report = memory.reindex()

    assert report.embedded == 0
    assert report.from_cache > 0


def test_a_tenant_with_a_memory_takes_no_other(settings: TeamSettings, indexer: TenantIndexer, small: Memory) -> None:
    tenant = create_tenant(settings.owner_dsn, "taken").id
    move_in(indexer, tenant, small.root)
    write_topic(small.root, "more", "The relay has a sister.")

    with pytest.raises(UsageError, match="has another memory"):
        move_in(indexer, tenant, small.root)


def test_a_move_that_was_cut_off_goes_on(indexer: TenantIndexer, outbox: Outbox, small: Memory) -> None:
    tenant = create_tenant(indexer.settings.owner_dsn, "cut").id
    files = collect_files(small.root, sessions=False)
    commit = outbox.accept(tenant, lambda _: dict(files), "Move in")

    moved = move_in(indexer, tenant, small.root)

    assert (moved.commit, moved.files) == (commit, len(files))
    assert indexer.differences(tenant) == []


def test_a_secret_is_not_moved(settings: TeamSettings, outbox: Outbox, indexer: TenantIndexer, small: Memory) -> None:
    tenant = create_tenant(settings.owner_dsn, "secret").id
    write_topic(small.root, "keys", "The key is AKIA" + "IOSFODNN7EXAMPLE and aws_secret_access_key=" + "a1B2" * 10)

    with pytest.raises(ContentError, match="secret"):
        move_in(indexer, tenant, small.root)

    assert outbox.repositories.find(tenant).head() == ""


def test_a_tenant_that_has_grown_gets_a_graph_and_keeps_it_through_a_rebuild(
    settings: TeamSettings, indexer: TenantIndexer, small: Memory, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("parts.team.tenants.SHARED_UP_TO", 1)
    tenant = create_tenant(settings.owner_dsn, "grown").id

    move_in(indexer, tenant, small.root)
    graphs = "select count(*) from pg_class where relname = %s"
    for _ in range(2):
        with psycopg.connect(settings.owner_dsn) as connection:
            assert connection.execute(graphs, (f"embedding_{tenant}_graph",)).fetchone() == (1,)
            assert connection.execute("select is_apart from tenant where id = %s", (tenant,)).fetchone() == (True,)
        indexer.level(tenant, rebuild=True)
        assert indexer.differences(tenant) == []


def test_a_difference_after_a_move_is_told(
    settings: TeamSettings, indexer: TenantIndexer, small: Memory, database: Database, tmp_path: Path
) -> None:
    tenant = create_tenant(settings.owner_dsn, "faulty").id
    move_in(indexer, tenant, small.root)
    with database.tenant(tenant) as connection:
        connection.execute("delete from embedding where tenant = %s", (tenant,))

    with pytest.raises(NotLevel, match="have vectors"):
        move_out(indexer, tenant, tmp_path / "out")


def test_the_program_makes_tables_and_tenants_and_moves_roots(
    settings: TeamSettings, small: Memory, tmp_path: Path
) -> None:
    file = tmp_path / "team.toml"
    file.write_text(
        f'dsn = "{settings.dsn}"\nowner_dsn = "{settings.owner_dsn}"\nfolder = "{settings.folder}"\n', encoding="utf-8"
    )

    def typed(*arguments: str) -> str:
        result = CliRunner().invoke(app, ["--settings", str(file), *arguments], catch_exceptions=False)
        assert result.exit_code == 0
        return result.output

    assert "up to date" in typed("upgrade")
    assert "Tenant typed is number" in typed("tenant", "create", "typed")
    assert "3 files moved and compared" in typed("migrate", "typed", str(small.root.path))
    assert "typed" in typed("tenant", "list")
    assert "3 files moved and compared" in typed("migrate", "typed", str(tmp_path / "typed-out"), "--out")
