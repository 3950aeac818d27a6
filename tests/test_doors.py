"""One module writes files and one opens SQLite; whoever does it beside them is listed here with the reason."""

import ast
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
PACKAGES = ("crawler", "dream", "memory_server", "oneiros", "parts")
WRITING = {"write_text", "write_bytes", "rename", "replace_whole", "mkstemp", "NamedTemporaryFile", "copytree", "move"}
BESIDE = {
    "memory_server/machine/files.py": "the door",
    "memory_server/machine/database.py": "the door",
    "memory_server/embedding/vector_cache.py": "appends rows of megabytes, flushed before their keys are noted",
    "memory_server/language/words.py": "a database in memory, of words alone",
    "oneiros/doctor.py": "asks SQLite itself what it can do",
    "oneiros/daemon/sockets.py": "of two daemons that make the token one wins, and the other reads it",
    "parts/team/engine/postings.py": "a database in memory, of words alone",
    "parts/team/migrating.py": "copies vectors, which are derived",
    "parts/team/repositories.py": "git makes a repository beside its place, and it takes it or leaves it in one step",
    "oneiros/founding.py": "lays the example into a folder that it has just made",
}


def writes_in(file: Path) -> set[str]:
    """The calls by which a module writes a file or opens a database."""
    found = set()
    for node in ast.walk(ast.parse(file.read_text(encoding="utf-8"))):
        if not isinstance(node, ast.Call) or not isinstance(node.func, ast.Attribute):
            continue
        owner, name = ast.unparse(node.func.value), node.func.attr
        texts = [arg.value for arg in node.args if isinstance(arg, ast.Constant) and isinstance(arg.value, str)]
        opens = name in ("open", "fdopen") and any(set(text) & set("wax+") and len(text) < 4 for text in texts)
        if name in WRITING or opens or (owner, name) in {("sqlite3", "connect"), ("os", "replace"), ("os", "rename")}:
            found.add(f"{owner}.{name}")
    return found


@pytest.mark.parametrize("package", PACKAGES)
def test_files_are_written_and_databases_opened_by_one_door(package: str) -> None:
    found = {
        str(file.relative_to(ROOT)): writes for file in (ROOT / package).rglob("*.py") if (writes := writes_in(file))
    }

    assert {name: writes for name, writes in found.items() if name not in BESIDE} == {}
