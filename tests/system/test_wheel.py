"""The wheel, installed in a clean home by what people install programs with, away from this checkout."""

import json
import os
import subprocess
import sys
import zipfile
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from tests.earlier import ACCEPTED, unpack
from tests.system.house import CHECKOUT

pytestmark = [pytest.mark.wheel, pytest.mark.timeout(1_200)]  # two environments are filled from a package index

SDK_LINES = (
    {"id": 1, "method": "initialize"},
    {"method": "notifications/initialized"},
    {"id": 2, "method": "tools/call", "params": {"name": "recall", "arguments": {"query": "which layer wins"}}},
)
LOCKED = CHECKOUT / "plugin" / "lib" / "requirements.txt"
HOW_TO_INSTALL: dict[str, Callable[[Path], tuple[str, ...]]] = {
    "pipx": lambda wheel: ("install", f"--preinstall=-r{LOCKED}", f"{wheel}[offline]"),
    "uv": lambda wheel: ("tool", "install", "--constraints", str(LOCKED), f"oneiros[offline] @ {wheel.as_uri()}"),
}
INITIALIZE = {"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {"name": "t", "version": "1"}}


def ran(*command: str | Path, cwd: Path, stdin: str = "", **variables: str) -> str:
    """What a command prints; fails with its errors."""
    done = subprocess.run(
        list(map(str, command)), cwd=cwd, env=variables, input=stdin, check=False, capture_output=True, text=True
    )
    assert done.returncode == 0, f"{done.stdout}\n{done.stderr}"
    return done.stdout


@dataclass(frozen=True)
class Installed:
    """A home in which nothing but the program was installed."""

    home: Path
    installer: str

    @property
    def variables(self) -> dict[str, str]:
        """What a login shell of this home would have; and what this machine needs to reach its package index."""
        needed = {key: value for key, value in os.environ.items() if key.startswith(("PIP_", "UV_", "SSL_"))}
        return needed | {
            "HOME": str(self.home),
            "PATH": f"{self.home}/.local/bin:/usr/local/bin:/usr/bin:/bin",
            "XDG_RUNTIME_DIR": str(self.home / "run"),
        }

    def __call__(self, *arguments: str) -> str:
        """What the installed `oneiros` prints."""
        return ran(self.home / ".local" / "bin" / "oneiros", *arguments, cwd=self.home, **self.variables)

    @property
    def python(self) -> Path:
        """The interpreter of the environment that the installer made for the program."""
        return (self.home / ".local" / "bin" / "oneiros").resolve().with_name("python")


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The built file."""
    folder = tmp_path_factory.mktemp("wheel")
    command = (sys.executable, "-m", "pip", "--quiet", "wheel", CHECKOUT, "--no-deps", "--wheel-dir", folder)
    ran(*command, cwd=folder, **os.environ)
    [file] = folder.glob("oneiros-*.whl")
    return file


@pytest.fixture(scope="module", params=["pipx", "uv"])
def installed(
    request: pytest.FixtureRequest, wheel: Path, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Installed]:
    """The program in a home of its own, by pipx or uv, as docs/installing.md says it."""
    made = Installed(tmp_path_factory.mktemp("h"), request.param)
    (made.home / "run").mkdir()
    program = Path(sys.executable).with_name(request.param)
    ran(program, *HOW_TO_INSTALL[request.param](wheel), "--python", sys.executable, cwd=made.home, **made.variables)
    yield made
    subprocess.run([made.home / ".local/bin/oneiros", "stop"], env=made.variables, cwd=made.home, check=False)


def test_the_wheel_holds_what_the_program_brings_and_nothing_derived(wheel: Path) -> None:
    with zipfile.ZipFile(wheel) as packed:
        names = packed.namelist()
        modes = {info.filename: info.external_attr >> 16 for info in packed.infolist()}

    plugin = "oneiros/marketplace/plugin"
    assert {"oneiros/marketplace/.claude-plugin/marketplace.json", f"{plugin}/.claude-plugin/plugin.json"} <= {*names}
    assert {"oneiros/example_memory/MEMORY.md", "oneiros/docs/architecture.md", "oneiros/py.typed"} <= {*names}
    assert [name for name in names if "/.oneiros/" in name or name.endswith(".pyc") or name.startswith("tests")] == []
    programs = [name for name in names if name.startswith(f"{plugin}/bin/")]
    assert len(programs) == 3 and all(modes[name] & 0o111 for name in programs)


def test_a_clean_home_has_a_memory_that_answers_command_line_daemon_and_plugin(installed: Installed) -> None:
    installed("init", "--example")
    here = installed("recall", "--no-daemon", "which layer wins when two disagree")
    asked = installed("recall", "which layer wins when two disagree")
    status = json.loads(installed("status", "--json"))

    assert "topics/" in here and here.splitlines()[0] == asked.splitlines()[0]
    assert status["daemon"]["pid"] and status["root"] == str(installed.home / ".oneiros" / "memory")
    assert "2525" not in asked and str(CHECKOUT) not in installed("doctor")

    output = plugin_says(installed)
    assert "topics/" in output["result"]["content"][0]["text"]
    installed("stop")


def plugin_says(installed: Installed) -> dict[str, Any]:
    """The answer of the plugin's server, which finds the installed program with nothing on PATH."""
    texts = [dict(line, jsonrpc="2.0") | ({"params": INITIALIZE} if line.get("id") == 1 else {}) for line in SDK_LINES]
    [add, _] = installed("setup", "--plugin", "--dry-run").splitlines()
    server = Path(add.split()[-1]) / "plugin" / "bin" / "oneiros-mcp"
    variables = installed.variables | {"PATH": "/nonexistent"}
    lines = ran(server, cwd=installed.home, stdin="".join(json.dumps(line) + "\n" for line in texts), **variables)
    answer = json.loads(lines.splitlines()[-1])
    assert isinstance(answer, dict) and answer["id"] == 2
    return answer


def test_it_imports_and_installs_no_torch(installed: Installed) -> None:
    code = "import importlib.util, sys, oneiros.daemon.compose\n"
    code += "print('torch' in sys.modules, importlib.util.find_spec('torch'))"

    assert ran(installed.python, "-c", code, cwd=installed.home, **installed.variables) == "False None\n"


def test_what_the_version_before_left_goes_on_under_the_installed_one(installed: Installed, tmp_path: Path) -> None:
    for version in ("first", "previous"):
        root = unpack(version, tmp_path / version)
        variables = installed.variables | {"HOME": str(tmp_path / version)}
        program = installed.home / ".local" / "bin" / "oneiros"

        answer = ran(program, "recall", "which port does the relay use", cwd=root, **variables)
        ran(program, "stop", cwd=root, **variables)
        ran(program, "archive", "verify", cwd=root, **variables)

        assert ACCEPTED in answer


def test_it_names_every_byte_that_it_has_written_and_goes_without_a_trace(installed: Installed) -> None:
    installed("init", "--example")
    installed("recall", "which layer wins when two disagree")
    mine = [installed.home / ".oneiros" / "memory", *installers_own(installed)]

    named = {file["path"] for place in removal(installed)["goes"] for file in place["files"]}
    written = {str(file) for file in files_outside(installed.home, mine)}
    assert written - named == set()

    installed("uninstall", "--yes")
    assert files_outside(installed.home, mine) == []
    assert (
        removal(installed)["program"]
        == {"pipx": "pipx uninstall oneiros", "uv": "uv tool uninstall oneiros"}[installed.installer]
    )


def removal(installed: Installed) -> dict[str, Any]:
    found = json.loads(installed("uninstall", "--dry-run", "--json"))
    assert isinstance(found, dict)
    return found


def installers_own(installed: Installed) -> list[Path]:
    """Where the installer keeps the program, its log and its downloads."""
    local, cache = installed.home / ".local", installed.home / ".cache"
    return [
        local / "bin",
        local / "share",
        local / "state" / "pipx",
        local / "pipx",
        *map(cache.joinpath, ("pip", "pipx", "uv")),
    ]


def files_outside(home: Path, folders: list[Path]) -> list[Path]:
    files = [path for path in home.rglob("*") if not path.is_dir() or path.is_symlink()]
    return [file for file in files if not any(file.is_relative_to(folder) for folder in folders)]
