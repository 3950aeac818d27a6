"""What `ontology.yaml` says, what is wrong with it, and which paths its areas hold."""

import re
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memory_server.errors import ContentError, Problem
from memory_server.layers.index_page import write_index_page
from memory_server.layers.ontology import Area, fits, parse_ontology, read_ontology
from memory_server.layers.topics import topic_heads
from memory_server.layers.validate import validate_root
from memory_server.root.paths import MemoryRoot
from memory_server.settings import MemorySettings
from tests.memories import new_root, write_topic

HEAD = {"id": "0b9e8d0a-5f55-4c3e-9c6e-7d1f6a1b2c3d", "type": "semantic", "created": "2026-03-01"}
SHOP = """ontology: {id: shop, version: 1.0.0}
namespaces:
  decisions: What was chosen, and why
  my_api:
    description: What services say
    children: {v2: The second version}
entity_types:
  - name: Service
    schema: {required: [owner, listen_port], properties: {owner: {type: string}}}
discovery:
  file_patterns:
    - context: auth
      paths: ["src/auth/**", "*login*"]
      namespaces: [my_api]
      topics: [decisions/tokens]
"""


@pytest.fixture
def root(tmp_path: Path) -> MemoryRoot:
    """A memory with an ontology and a topic that it fits."""
    root = new_root(tmp_path / "memory")
    write_topic(root, "decisions/tokens", "# Tokens\n\nThey live for an hour.\n", **HEAD)
    root.ontology.write_text(SHOP, encoding="utf-8")
    return root


def problems(root: MemoryRoot) -> list[Problem]:
    write_index_page(root, MemorySettings())
    return validate_root(root, MemorySettings())


def test_it_is_read_whole(root: MemoryRoot) -> None:
    found = read_ontology(root)

    assert found is not None
    assert found.namespaces == {"decisions", "my_api", "my_api/v2"}
    assert dict(found.types) == {"service": ("owner", "listen_port")}
    assert found.areas == (Area(12, "auth", ("src/auth/**", "*login*"), ("my_api",), ("decisions/tokens",)),)
    assert problems(root) == []


def test_a_topic_that_cannot_be_read_is_there(root: MemoryRoot) -> None:
    (root.path / "topics" / "decisions" / "tokens.md").write_bytes(b"# Tokens\n\nThey live \xff an hour.\n")

    assert [(one.path, one.rule) for one in problems(root)] == [("topics/decisions/tokens.md", "unreadable")]


def test_a_memory_without_one_has_none_and_no_problem(root: MemoryRoot) -> None:
    root.ontology.unlink()

    assert read_ontology(root) is None
    assert problems(root) == []


@pytest.mark.parametrize(
    ("old", "new", "line", "what"),
    [
        ("namespaces:", "namespace:", 2, "the ontology has a field 'namespace'"),
        ("decisions: What", "my decisions: What", 2, "namespaces is 'my decisions', not words of letters"),
        ("- name: Service", "- title: Service", 8, "entity_types[0] has no name"),
        ("      paths:", "      pattern:", 13, "discovery.file_patterns[0] has a field 'pattern'"),
        ('"*login*"]', f'"{"a" * 201}"]', 13, "not a glob of at most 200 characters"),
        ("[my_api]", "my_api", 14, "namespaces is 'my_api', not a list"),
        ("[my_api]", "[my_ap]", 12, "the area 'auth' points to the namespace 'my_ap', which is not there"),
        ("[decisions/tokens]", "[../../etc/passwd]", 12, "points to the topic '../../etc/passwd', which is not there"),
        ("schema: {required", "schema: {required: {", 9, "the ontology is not valid YAML"),
        ("version: 1.0.0}", "version: &a [*a]}", 1, "an alias in the ontology contains itself"),
        ("  decisions: What", "  decisions: x\n  decisions: What", 4, "the ontology names 'decisions' twice"),
        (SHOP, "- a list\n", 1, "the ontology is not a list of `key: value` lines"),
        (SHOP, "x" * 100_001, 1, "the ontology has 100001 characters"),
    ],
)
def test_what_is_wrong_with_it_is_named_with_its_line(
    root: MemoryRoot, old: str, new: str, line: int, what: str
) -> None:
    root.ontology.write_text(SHOP.replace(old, new, 1), encoding="utf-8")

    found = [one for one in problems(root) if what in one.what]

    assert [(one.path, one.line, one.rule) for one in found] == [("ontology.yaml", line, "ontology")], problems(root)
    assert found[0].remedy


def test_a_broken_one_is_a_content_error_with_its_line() -> None:
    with pytest.raises(ContentError, match="field 'namespace'") as raised:
        parse_ontology(SHOP.replace("namespaces:", "namespace:", 1))

    assert raised.value.line == 2


def test_an_alias_of_aliases_does_not_spell_out_billions() -> None:
    bomb = "ontology:\n  a0: &a0 [x, x, x, x, x, x, x, x, x]\n"
    bomb += "".join(f"  a{n}: &a{n} [{', '.join([f'*a{n - 1}'] * 9)}]\n" for n in range(1, 12))

    with pytest.raises(ContentError, match="the ontology holds too much"):
        parse_ontology(bomb)


def test_a_link_in_its_place_is_not_followed(root: MemoryRoot, tmp_path: Path) -> None:
    (tmp_path / "outside.yaml").write_text(SHOP, encoding="utf-8")
    root.ontology.unlink()
    root.ontology.symlink_to(tmp_path / "outside.yaml")

    assert read_ontology(root) is None
    assert [(one.path, one.rule) for one in problems(root)] == [("ontology.yaml", "symlink")]


@pytest.mark.parametrize(
    ("name", "frontmatter", "rule", "line", "what"),
    [
        ("storage", {"namespace": "decision"}, "namespace-unknown", 5, "no namespace 'decision'"),
        ("my_api/v3/x", {}, "namespace-unknown", 1, "no namespace 'my_api/v3'"),
        ("x", {"entity": {"name": "relay", "entity_type": "service", "owner": "ada"}}, "entity", 5, "no listen_port"),
        ("x", {"entity": {"name": "relay", "entity_type": "servise"}}, "entity", 5, "no entity type 'servise'"),
        ("x", {"entities": [{"entityType": "Robot", "name": "R"}]}, "entity", 6, "no entity type 'Robot'"),
    ],
)
def test_topics_that_do_not_fit_it_are_named(
    root: MemoryRoot, name: str, frontmatter: dict[str, object], rule: str, line: int, what: str
) -> None:
    own = {**HEAD, "id": "1b9e8d0a-5f55-4c3e-9c6e-7d1f6a1b2c3d"}
    write_topic(root, name, "# A\n\nIt is so.\n", **own, **frontmatter)

    [found] = problems(root)

    assert (found.path, found.rule, found.line) == (f"topics/{name}.md", rule, line)
    assert what in found.what and found.remedy


@pytest.mark.parametrize(
    "frontmatter",
    [
        {"namespace": "my_api/v2"},
        {"entity": {"name": "relay", "entity_type": "service", "owner": "ada", "listen_port": 2525}},
        {"entities": [{"entityType": "Person", "name": "Ada"}, {"entityType": "Service", "name": "relay"}]},
    ],
)
def test_topics_that_fit_it_are_sound(root: MemoryRoot, frontmatter: dict[str, object]) -> None:
    own = {**HEAD, "id": "1b9e8d0a-5f55-4c3e-9c6e-7d1f6a1b2c3d"}
    write_topic(root, "decisions/x", "# A\n\nIt is so.\n", **own, **frontmatter)

    assert problems(root) == []


@pytest.mark.parametrize(
    ("glob", "path", "is_in"),
    [
        ("src/auth/**", "src/auth/a/b.py", True),
        ("src/auth/**", "lib/src/auth/a.py", False),
        ("src/auth/", "src/auth/a.py", True),
        ("auth/", "src/auth/a.py", True),
        ("auth/**", "src/auth/a.py", True),
        ("/auth/**", "src/auth/a.py", False),
        ("*login*", "web/login_form.ts", True),
        ("*login*", "login/form.ts", False),
        ("**/db/*.sql", "db/a.sql", True),
        ("**/db/*.sql", "x/y/db/a.sql", True),
        ("**/db/*.sql", "x/db/y/a.sql", False),
        ("a/**/b/**/c", "a/b/b/x/c", True),
        ("a/**/b/**/c", "a/b/x", False),
        ("src/*.py", "src/a/b.py", False),
        ("test_[ab].py", "t/test_b.py", True),
        ("**", "anything/at/all", True),
        ("..", "../x", False),
    ],
)
def test_a_glob_fits(glob: str, path: str, is_in: bool) -> None:
    assert fits(glob, path) is is_in


@given(
    st.lists(st.sampled_from(["**", "*", "a", "b", "a*", "*b"]), min_size=2, max_size=6),
    st.lists(st.sampled_from(["a", "b", "ab", "aab"]), min_size=1, max_size=6),
)
def test_a_glob_fits_as_a_slow_regular_expression_says(glob: list[str], path: list[str]) -> None:
    slow = "".join("(?:[^/]+/)*" if part == "**" else part.replace("*", "[^/]*") + "/" for part in glob)
    floats = glob[-1] == "**" and len(glob) == 2 and glob[0] != "**"  # a name and all below it: at any depth

    wanted = re.fullmatch(f"(?:[^/]+/)*{slow}" if floats else slow, "/".join(path) + "/")

    assert fits("/".join(glob), "/".join(path)) is bool(wanted)


@pytest.mark.parametrize("glob", ["*a" * 99 + "b", "**/" * 60 + "b", "**/a/" * 39 + "b", "[" * 200])
def test_no_glob_runs_away(glob: str) -> None:
    """Each of these would take longer than the world is old with a matcher that goes back over all its stars."""
    assert not fits(glob, "a" * 4_000)
    assert not fits(glob, "/".join("a" * 2_000))


def test_an_area_points_to_its_namespaces_and_topics_alone(root: MemoryRoot) -> None:
    for name in ("my_api/errors", "my_api/v2/errors", "my_apis/x", "other"):
        write_topic(root, name, "# A\n\nIt is so.\n")

    [area] = parse_ontology(SHOP).areas

    pointed = [head.name for head in topic_heads(root) if area.includes(head)]
    assert pointed == ["decisions/tokens", "my_api/errors", "my_api/v2/errors"]
