"""Packages import downwards only, and inside each of them every room stands above what it uses."""

import ast
import subprocess
import sys
from collections import Counter
from functools import cache
from graphlib import CycleError, TopologicalSorter
from pathlib import Path
from typing import NamedTuple

import pytest

ROOT = Path(__file__).parent.parent

MAY_IMPORT = {
    "memory_server": set[str](),
    "crawler": {"memory_server"},
    "dream": {"memory_server", "crawler"},
    "oneiros": {"memory_server", "crawler", "dream"},
    "trainer": set[str](),
}
CORE = {"memory_server", "crawler", "dream", "oneiros"}
OTHER_PARTS = {
    "parts.page": {"parts.trainers"},  # its view of them
    "parts.chat": {"parts.page", "parts.trainers"},  # its view is drawn by the page's renderer; a model to talk with
    "parts.aliases": {"parts.chat"},  # an earlier system's address of its conversations
}
# What imports every part, by who alone asks for it and does without where it is not there.
TABLES = {"oneiros.parts": "parts.table", "oneiros.light.hook": "parts.hook_table"}

ROOMS = {  # of each folder, from the ground up: a room imports what stands before it, and never what stands behind it
    "memory_server": """
        escaping errors document fields completeness language machine root settings settings_file redaction chunking
        layers lifecycle embedding index search further inspection reading upkeep aging memory faces
    """,
    "crawler": """
        transcripts sources archive sent facts spoken outcome quotes model reading closed
        compress references notes archived reported ingest
    """,
    "dream": """
        changes records evidence statements topics judge candidates proposals progress
        decisions blame report run mcp_tools routes
    """,
    "parts.agents": """
        conversation files codex gemini copilot opencode cursor chat table checks part
    """,
    "parts.aliases": """
        anamnesis conversations fading table part
    """,
    "parts.arranging": """
        links arrangement tidying splitting summing_up deciding command part
    """,
    "parts.chat": """
        records context citations conversations turn backends chatting command view part
    """,
    "parts.clients": """
        entries table part
    """,
    "parts.guard": """
        commands places reading shell protected
    """,
    "parts.keeping": """
        fading bundle pruning backup commands part
    """,
    "parts.machines": """
        addresses connection wanted mirror remote fetch register sessions visits part
    """,
    "parts.models": """
        torch_engine sparse_engine late_engine cross_engine sparse further trial
        replay judging asking queries trying choosing command part
    """,
    "parts.notes": """
        command part
    """,
    "parts.page": """
        views markdown rendering plots passages shell diffs search topics turns sessions passkeys review today
        person routes command part
    """,
    "parts.readings": """
        command part
    """,
    "parts.signing": """
        command part
    """,
    "parts.taking_over": """
        deeds skill installing refusals habits instructions cutting duplicates foreign_stores takeover importing
        exchange bundles export commands part
    """,
    "parts.team": """
        publication sharing errors settings opening engine tenants repositories outbox indexing migrating memory
        publishing operations access server commands cli program part
    """,
    "parts.tracing": """
        command part
    """,
    "parts.trainers": """
        client reader routes command part
    """,
    "parts.uninstalling": """
        removal command part
    """,
    "parts.two_memories": """
        wanted joining door here part
    """,
    "oneiros": """
        checks parts light worker file_events environment served client claude founding ingest
        opening first_steps dreaming hooks daemon doctor cli
    """,
}
MOST_MODULES = 20  # of one folder


DYNAMIC = {
    "__import__",
    "import_module",
    "spec_from_file_location",
    "module_from_spec",
    "run_module",
    "run_path",
    "exec",
}


class Contents(NamedTuple):
    """What the tests ask of a module; its syntax tree is not kept."""

    imports: set[str]
    dynamic: list[str]  # the names by which it imports what no reader of its imports sees
    classes: list[str]


@cache
def read_module(file: Path) -> Contents:
    """What a file holds, parsed once for all tests."""
    return read_source(file.read_text(encoding="utf-8"), str(file))


def read_source(source: str, place: str = "") -> Contents:
    found = Contents(set(), [], [])
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Import):
            found.imports.update(alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{place}: relative import"
            found.imports.update([node.module or "", *(f"{node.module}.{alias.name}" for alias in node.names)])
            found.dynamic.extend(alias.name for alias in node.names if alias.name in DYNAMIC)
        elif isinstance(node, ast.ClassDef):
            found.classes.append(node.name)
        elif isinstance(node, ast.Attribute) and node.attr in DYNAMIC - {"exec"}:
            found.dynamic.append(node.attr)
        elif isinstance(node, ast.Name) and node.id in DYNAMIC:
            found.dynamic.append(node.id)
    return found


def imports_of(file: Path) -> set[str]:
    return read_module(file).imports


@pytest.mark.parametrize("package", MAY_IMPORT)
def test_a_package_imports_only_the_packages_below_it(package: str) -> None:
    upward = [
        f"{file.relative_to(ROOT)} imports {name}"
        for file in (ROOT / package).rglob("*.py")
        for name in imports_of(file)
        if (top := name.split(".")[0]) in MAY_IMPORT and top != package and top not in MAY_IMPORT[package]
    ]

    assert upward == []


def test_a_part_imports_the_core_and_no_other_part_and_the_core_imports_none() -> None:
    across, known = [], modules()
    for name, file in known.items():
        mine = ".".join(name.split(".")[:2]) if name.startswith("parts.") else ""
        allowed = {mine, *OTHER_PARTS.get(mine, ())} if mine else set[str]()
        for imported in imports_of(file) & known.keys():
            top, _, below = imported.partition(".")
            is_free = top == "parts" and (f"parts.{below.split('.')[0]}" in allowed or mine in TABLES.values())
            if top not in CORE and not is_free and (top == "parts" or mine):
                across.append(f"{name} imports {imported}")

    assert sorted(across) == sorted(f"{name} imports {table}" for name, table in TABLES.items())


@cache
def modules() -> dict[str, Path]:
    folders = {package.split(".")[0] for package in ROOMS}
    files = [file for folder in sorted(folders) for file in (ROOT / folder).rglob("*.py")]
    return {".".join(file.relative_to(ROOT).with_suffix("").parts).removesuffix(".__init__"): file for file in files}


@pytest.mark.parametrize("package", ROOMS)
def test_a_room_imports_only_the_rooms_before_it(package: str) -> None:
    rooms = ROOMS[package].split()
    upward = []
    for name, file in modules().items():
        if not name.startswith(f"{package}."):
            continue
        room, depth = name.removeprefix(f"{package}.").split(".")[0], package.count(".") + 1
        assert room in rooms, f"{file.relative_to(ROOT)} stands in no room: add it to ROOMS"
        for used in {name.split(".")[depth] for name in imports_of(file) if name.startswith(f"{package}.")}:
            if used in rooms[rooms.index(room) + 1 :]:
                upward.append(f"{file.relative_to(ROOT)} imports {used}")

    assert upward == []


def test_no_folder_and_no_module_imports_what_imports_it() -> None:
    """At every level: what lies beside each other, folders and modules alike, can be put in an order."""
    known = modules()
    uses: dict[str, dict[str, set[str]]] = {}  # of each folder: what lies in it, and what of that it uses
    for name, file in known.items():
        for imported in imports_of(file) & known.keys():
            mine, theirs = name.split("."), imported.split(".")
            depth = next((i for i, (a, b) in enumerate(zip(mine, theirs, strict=False)) if a != b), None)
            if depth:
                of_folder = uses.setdefault(".".join(mine[:depth]), {})
                of_folder.setdefault(mine[depth], set()).add(theirs[depth])

    assert uses.keys() >= {"dream", "memory_server.search", "oneiros.cli", *ROOMS}
    assert {folder: cycle for folder, graph in uses.items() if (cycle := cycle_in(graph))} == {}


def cycle_in(graph: dict[str, set[str]]) -> list[str]:
    """One circle of what uses what; empty where there is none."""
    try:
        TopologicalSorter(graph).prepare()
    except CycleError as error:
        return list(error.args[1])
    return []


def test_the_search_for_circles_finds_one() -> None:
    assert set(cycle_in({"a": {"b"}, "b": {"c"}, "c": {"a"}})) == {"a", "b", "c"}
    assert cycle_in({"a": {"b"}, "b": {"c"}}) == []


def test_no_folder_holds_more_than_twenty_modules() -> None:
    held = Counter(file.parent for file in modules().values() if file.name != "__init__.py")

    assert {str(folder.relative_to(ROOT)): count for folder, count in held.items() if count > MOST_MODULES} == {}


def test_the_arrow_check_sees_an_import_that_runs_up(tmp_path: Path) -> None:
    bad = tmp_path / "bad.py"
    bad.write_text("from oneiros.cli import main\n", encoding="utf-8")

    assert "oneiros.cli.main" in imports_of(bad)


def test_nothing_is_imported_past_the_arrows() -> None:
    assert {name: found for name, file in modules().items() if (found := read_module(file).dynamic)} == {}


@pytest.mark.parametrize(
    "source",
    [
        "import importlib\nimportlib.import_module('oneiros')",
        "from importlib import import_module",
        "__import__('oneiros')",
        "exec('import oneiros')",
        "import runpy\nrunpy.run_module('oneiros')",
    ],
)
def test_the_check_sees_an_import_by_name(source: str) -> None:
    assert read_source(source).dynamic


HEAVY = ("chromadb", "numpy", "mcp", "onnxruntime", "tokenizers", "fastapi", "yaml", "rich", "crawler", "dream")


def test_a_question_at_the_command_line_imports_nothing_heavy() -> None:
    """By its imports alone; `tests/system/test_at_once.py` asks, too."""
    listing = "import sys, oneiros.cli.main, oneiros.cli.app, oneiros.cli.searching; print(*sys.modules)"
    ended = subprocess.run([sys.executable, "-c", listing], capture_output=True, text=True, check=True)

    assert "memory_server.search.precedence" in ended.stdout
    assert sorted({*HEAVY} & {*ended.stdout.split()}) == []


def test_the_daemon_is_put_together_by_constructors_alone() -> None:
    text = (ROOT / "oneiros" / "daemon" / "compose.py").read_text(encoding="utf-8")
    targets = [
        target
        for node in ast.walk(ast.parse(text))
        if isinstance(node, ast.Assign | ast.AugAssign | ast.AnnAssign)
        for target in (node.targets if isinstance(node, ast.Assign) else [node.target])
    ]

    assert targets
    assert [ast.unparse(target) for target in targets if isinstance(target, ast.Attribute)] == []


def test_no_two_classes_have_one_name() -> None:
    places: dict[str, list[str]] = {}
    for package in {*MAY_IMPORT, "parts"} - {"trainer"}:
        for file in (ROOT / package).rglob("*.py"):
            for name in read_module(file).classes:
                places.setdefault(name, []).append(str(file.relative_to(ROOT)))

    assert {name: files for name, files in places.items() if len(files) > 1} == {}


MAKERS = {
    "dream.candidates",
    "parts.taking_over.habits",
    *(f"crawler.reading.{name}" for name in ("model", "rules")),
}


def test_what_checks_a_candidate_imports_nothing_of_what_makes_one() -> None:
    """Not directly, and not by way of another module."""
    known = modules()
    judge = {"parts.taking_over.refusals", *(name for name in known if name.startswith("dream.judge"))}
    reached, waiting = set[str](), [*judge]
    while waiting:
        found = (imports_of(known[waiting.pop()]) & known.keys()) - reached
        reached |= found
        waiting += found

    assert len(judge) > 1 and "crawler.reading.proof" in reached and known.keys() >= MAKERS
    assert sorted(reached & MAKERS) == []
