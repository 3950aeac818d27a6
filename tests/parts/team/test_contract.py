"""The same questions have the same answers on both engines."""

import re
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import psycopg
import pytest

from memory_server.document import UNAPPROVED, Answer, Hit, SourcePath
from memory_server.errors import UsageError
from memory_server.layers.topics import topic_heads
from memory_server.memory import Memory
from memory_server.search.question import Search, parse_query
from parts.team.engine.database import Database
from parts.team.engine.loading import differences, load
from parts.team.memory import TeamMemory
from parts.team.tenants import create_tenant, drop_graph, set_apart
from tests.conftest import MakeEngine
from tests.memories import new_root, open_memory

pytestmark = pytest.mark.team

QUESTIONS = (
    "who pays wages",
    "mail relay port",
    "port 25",
    '"mail relay"',
    "rela*",
    "server OR relay",
    "relay NOT printer",
    "backup NOT layer:session",
    "wages layer:topic",
    "layer:session backup",
    "tag:mail relay",
    "tag:nothing-like-it relay",
    "namespace:machines relay",
    "project:garden backup",
    "after:2026-01-01 backup",
    "before:2020 backup",
    "topic:mail port",
    "mail.py:12",
    "v1.2",
    "ort 2",
    "relay listens backup tape wages",
    "東京",
    "quasars and pulsars of distant galaxies",
    "the",
    "in March 2026 what changed",
)
EXTRA = {
    "topics/machines/printer.md": "# Printer\n\nThe `LaserJet-4` stands in room 12; driver: src/print/driver.py:88.\n",
    "topics/tokyo.md": "# Office in Tokyo\n\n東京都のサーバー is called momiji. The mail relay is not the printer.\n",
    "topics/versions.md": "---\ntags: [mail]\n---\n\n# Versions\n\nmailRelay v1.2.3 replaced mail-relay v1.1.\n",
    "topics/old.md": "---\nvalidUntil: 2020-05-01\n---\n\n# Old wages\n\nWages were paid in cash by the treasurer.\n",
    "topics/long.md": "# Long\n\n" + "\n\n".join(f"Paragraph {n}: the relay keeps {n} tapes." for n in range(40)),
}


def shown(hit: Hit) -> tuple[object, ...]:
    return (hit.path, hit.lines, hit.certainty, hit.decides, hit.passage, hit.title, hit.date)


def same(of_team: Answer, own: Answer) -> bool:
    """Whether both engines answer alike, but for the command that chooses a model: a team's is its operator's."""
    note = re.sub(r" `oneiros model [\w-]+` changes that\.", "", own.note)
    scores = [[hit.score for hit in answer.hits] for answer in (of_team, own)]
    is_near = scores[0] == pytest.approx(scores[1], abs=1e-6)  # rounded, two that are near may be two numbers
    return [*map(shown, of_team.hits)] == [*map(shown, own.hits)] and is_near and of_team.note == note


@pytest.fixture(scope="module")
def wide(tmp_path_factory: pytest.TempPathFactory, garden_root: Path, make_engine: MakeEngine) -> Iterator[Memory]:
    """What the garden says, and some more that is hard to look up."""
    root = new_root(tmp_path_factory.mktemp("wide") / "memory")
    for file in garden_root.rglob("*.md"):
        if ".oneiros" not in file.parts:
            target = root.path / file.relative_to(garden_root)
            target.parent.mkdir(parents=True, exist_ok=True)
            target.write_bytes(file.read_bytes())
    for path, text in EXTRA.items():
        (root.path / path).parent.mkdir(parents=True, exist_ok=True)
        (root.path / path).write_text(text, encoding="utf-8")
    with open_memory(root.path, make_engine) as memory:
        memory.reindex()
        yield memory


@pytest.fixture(scope="module")
def wide_team(database: Database, wide: Memory) -> TeamMemory:
    return TeamMemory(database, wide._model, wide._now)


@pytest.fixture(scope="module")
def wide_tenant(owner_dsn: str, database: Database, wide: Memory) -> int:
    tenant = create_tenant(owner_dsn, "wide").id
    with database.tenant(tenant) as connection:
        load(connection, tenant, wide.root, wide.indices, wide.model.fingerprint, "c0ffee")
    return tenant


@pytest.mark.parametrize("search", Search)
@pytest.mark.parametrize("query", QUESTIONS)
def test_both_engines_answer_the_same(
    wide: Memory, wide_team: TeamMemory, wide_tenant: int, search: Search, query: str
) -> None:
    question = parse_query(query, search)

    answer = wide_team.search(wide_tenant, question)

    assert same(answer.answer, wide.search(question))
    assert answer.commit == "c0ffee"


def test_the_questions_have_answers_and_none(wide: Memory) -> None:
    found = [bool(wide.search(parse_query(query, search)).hits) for query in QUESTIONS for search in Search]

    assert found.count(True) >= 40
    assert found.count(False) > 10


def test_both_engines_read_and_list_the_same(wide: Memory, wide_team: TeamMemory, wide_tenant: int) -> None:
    heads = topic_heads(wide.root)

    listed = wide_team.topics(wide_tenant)
    readings = {head.path: wide_team.read(wide_tenant, head.name.upper()) for head in heads}
    part = wide_team.read(wide_tenant, "long", 3, 5).reading

    assert [(head.name, head.title, head.date, head.namespace, head.path) for head in listed] == [
        (head.name, head.title, head.date, head.namespace, head.path) for head in heads
    ]
    for head in heads:
        marks = tuple(mark for mark in wide.read(head.name).marks if mark != UNAPPROVED)
        assert readings[head.path].reading == replace(wide.read(head.name), marks=marks)
        assert readings[head.path].commit == "c0ffee"
    assert readings[SourcePath("topics/old.md")].reading.marks == ("held until 2020-05-01",)
    assert part == replace(wide.read("long", 3, 5), marks=())
    with pytest.raises(UsageError, match="7-6 was asked for"):
        wide_team.read(wide_tenant, "mail", 7, 6)


def test_answers_stay_the_same_with_a_graph_of_its_own(
    wide: Memory, wide_team: TeamMemory, wide_tenant: int, owner_dsn: str
) -> None:
    assert not set_apart(owner_dsn, wide_tenant)  # it is small
    assert set_apart(owner_dsn, wide_tenant, shared_up_to=0)
    assert not set_apart(owner_dsn, wide_tenant, shared_up_to=0)  # it has its own

    for query in QUESTIONS:
        question = parse_query(query)
        assert same(wide_team.search(wide_tenant, question).answer, wide.search(question)), query
    drop_graph(owner_dsn, wide_tenant)
    assert same(wide_team.search(wide_tenant, question).answer, wide.search(question))
    assert set_apart(owner_dsn, wide_tenant, shared_up_to=0)  # in the partition that it has


def test_a_change_of_some_files_gives_what_a_load_of_all_gives(
    wide: Memory, wide_team: TeamMemory, wide_tenant: int, owner_dsn: str, database: Database
) -> None:
    tokyo, more = (wide.root.path / "topics" / "tokyo.md"), (wide.root.path / "topics" / "more.md")
    before = tokyo.read_text(encoding="utf-8")
    tokyo.write_text("# Office in Tokyo\n\nThe server kaede took the place of momiji.\n", encoding="utf-8")
    more.write_text("# More\n\nThe relay kaede hums.\n", encoding="utf-8")
    (wide.root.path / "topics" / "long.md").unlink()
    try:
        wide.reindex()
        with database.tenant(wide_tenant) as connection:
            assert differences(connection, wide_tenant, wide.indices)
            loaded = load(connection, wide_tenant, wide.root, wide.indices, wide.model.fingerprint, "d00d1e")
            assert (loaded.replaced, loaded.removed) == (3, 1)  # with the index page, which lists the topics
            assert differences(connection, wide_tenant, wide.indices) == []
        for query in (*QUESTIONS, "kaede", "momiji", "Paragraph 7"):
            for search in Search:
                question = parse_query(query, search)
                assert same(wide_team.search(wide_tenant, question).answer, wide.search(question)), query
        postings = stored_postings(database, wide_tenant)
        fresh = create_tenant(owner_dsn, "fresh").id
        with database.tenant(fresh) as connection:
            load(connection, fresh, wide.root, wide.indices, wide.model.fingerprint, "d00d1e")
        assert postings == stored_postings(database, fresh)
    finally:
        tokyo.write_text(before, encoding="utf-8")
        more.unlink()
        (wide.root.path / "topics" / "long.md").write_text(EXTRA["topics/long.md"], encoding="utf-8")
        wide.reindex()


def stored_postings(database: Database, tenant: int) -> dict[str, int]:
    """Each term of a tenant with the number of passages that hold it."""
    with database.tenant(tenant) as connection:
        rows = connection.execute("select term, sum(holders) from posting where tenant = %s group by term", (tenant,))
        return {term: int(holders) for term, holders in rows}


def test_a_question_as_of_a_day_is_refused(team: TeamMemory, garden_tenant: int) -> None:
    with pytest.raises(UsageError, match="as_of"):
        team.search(garden_tenant, parse_query("as_of:2026-01-01 relay"))


@pytest.mark.parametrize(
    "fault",
    [
        "update passage set passage = passage || ' ' where id = (select min(id) from passage)",
        "delete from embedding where id = (select min(id) from embedding)",
        "update source set content_hash = 'x' where id = (select min(id) from source)",
        "delete from source where id = (select max(id) from source)",
    ],
)
def test_a_fault_in_the_rows_is_found(database: Database, garden_tenant: int, garden: Memory, fault: str) -> None:
    with database.tenant(garden_tenant) as connection:
        assert differences(connection, garden_tenant, garden.indices) == []
        connection.execute(fault)
        assert differences(connection, garden_tenant, garden.indices) != []
        raise psycopg.Rollback
