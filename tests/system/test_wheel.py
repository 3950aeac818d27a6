"""The wheel, installed into an environment of its own: it carries the example memory and answers without torch."""

import os
import subprocess
import sys
import venv
from pathlib import Path

import pytest

REPOSITORY = Path(__file__).parent.parent.parent


def ran(*command: str | Path, cwd: Path, **variables: str) -> str:
    """What a command prints; fails with its errors."""
    environment = {key: value for key, value in os.environ.items() if key not in ("PYTHONPATH", "ONEIROS_ROOT")}
    done = subprocess.run(
        list(map(str, command)), cwd=cwd, env=environment | variables, check=False, capture_output=True, text=True
    )
    assert done.returncode == 0, f"{done.stdout}\n{done.stderr}"
    return done.stdout


@pytest.fixture(scope="module")
def installed(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The `bin` of an environment that holds the wheel with the offline model and nothing of this checkout."""
    folder = tmp_path_factory.mktemp("wheel")
    pip = [sys.executable, "-m", "pip", "--disable-pip-version-check", "--quiet"]
    ran(*pip, "wheel", str(REPOSITORY), "--no-deps", "--wheel-dir", str(folder), cwd=folder)
    (wheel,) = folder.glob("oneiros-*.whl")
    venv.create(folder / "venv", with_pip=False)
    programs = folder / "venv" / "bin"
    ran(*pip, "--python", str(programs / "python"), "install", f"{wheel}[offline]", cwd=folder)
    return programs


@pytest.mark.wheel
@pytest.mark.timeout(900)
def test_the_installed_wheel_answers_a_question_without_torch(installed: Path, tmp_path: Path) -> None:
    home = {"HOME": str(tmp_path), "XDG_CONFIG_HOME": str(tmp_path / "config"), "HF_HUB_CACHE": str(tmp_path / "hub")}

    ran(installed / "oneiros", "init", "--example", cwd=tmp_path, **home)
    answer = ran(installed / "oneiros", "recall", "--no-daemon", "which layer wins", cwd=tmp_path, **home)
    modules = ran(
        installed / "python",
        "-c",
        "import sys\nfrom oneiros.cli.main import main\nfrom oneiros.environment import Environment\n"
        "main(['recall', '--no-daemon', 'which layer wins'], Environment.of_process())\n"
        "print('torch imported:', 'torch' in sys.modules)\nimport importlib.util\n"
        "print('torch installed:', importlib.util.find_spec('torch') is not None)",
        cwd=tmp_path,
        **home,
    )

    assert "topics/" in answer
    assert "torch imported: False" in modules
    assert "torch installed: False" in modules
