"""The packages may import downwards only, and inside `memory_server` every floor stands above what it uses."""

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent

MAY_IMPORT = {
    "memory_server": set[str](),
    "crawler": {"memory_server"},
    "dream": {"memory_server", "crawler"},
    "oneiros": {"memory_server", "crawler", "dream"},
    "trainer": set[str](),
}

FLOORS = {  # rooms of memory_server, from the ground up; a room imports its own floor's room or lower floors
    "errors": 0,
    "files": 0,
    "private": 0,
    "telemetry": 0,
    "process": 1,
    "escaping": 0,
    "redaction": 1,
    "document": 1,
    "root": 2,
    "state": 3,
    "places": 4,
    "settings": 1,
    "chunking": 2,
    "layers": 3,
    "embedding": 3,
    "index": 4,
    "search": 5,
    "inspection": 6,
    "reading": 6,
    "upkeep": 6,
    "forgetting": 3,
    "memory": 7,
    "indexing": 8,
    "guard": 8,
    "answer_text": 6,
    "memory_text": 8,
    "mcp_server": 9,
    "rest": 9,
}


def imports_of(file: Path) -> Iterator[str]:
    for node in ast.walk(ast.parse(file.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{file}: relative import"
            yield node.module or ""
            yield from (f"{node.module}.{alias.name}" for alias in node.names)


@pytest.mark.parametrize("package", MAY_IMPORT)
def test_a_package_imports_only_the_packages_below_it(package: str) -> None:
    upward = [
        f"{file.relative_to(ROOT)} imports {name}"
        for file in (ROOT / package).rglob("*.py")
        for name in imports_of(file)
        if (top := name.split(".")[0]) in MAY_IMPORT and top != package and top not in MAY_IMPORT[package]
    ]

    assert upward == []


def test_inside_memory_server_everything_stands_above_what_it_uses() -> None:
    upward = []
    for file in (ROOT / "memory_server").rglob("*.py"):
        room = file.relative_to(ROOT / "memory_server").parts[0].removesuffix(".py")
        if room == "__init__":
            continue
        assert room in FLOORS, f"{file.relative_to(ROOT)} stands on no floor: add it to FLOORS"
        for name in imports_of(file):
            parts = name.split(".")
            if parts[0] == "memory_server" and len(parts) > 1 and parts[1] in FLOORS:
                used = parts[1]
                if used != room and FLOORS[used] >= FLOORS[room]:
                    upward.append(f"{file.relative_to(ROOT)} imports {name}")

    assert upward == []


def test_the_arrow_check_sees_an_import_that_runs_up(tmp_path: Path) -> None:
    bad = tmp_path / "bad.py"
    bad.write_text("from oneiros.cli import main\n", encoding="utf-8")

    assert "oneiros.cli.main" in list(imports_of(bad))


def test_no_two_classes_have_one_name() -> None:
    places: dict[str, list[str]] = {}
    for package in MAY_IMPORT.keys() - {"trainer"}:
        for file in (ROOT / package).rglob("*.py"):
            for node in ast.walk(ast.parse(file.read_text(encoding="utf-8"))):
                if isinstance(node, ast.ClassDef):
                    places.setdefault(node.name, []).append(str(file.relative_to(ROOT)))

    assert {name: files for name, files in places.items() if len(files) > 1} == {}
