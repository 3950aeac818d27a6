"""The images of the daemon and of a team without a builder: each step, in a bare folder with a Python of its own.

What a step would install is lent by the environment of the tests where that has it, so that little is fetched; the
wheel's own tests install all of it by hash.
"""

import os
import re
import shlex
import shutil
import subprocess
import sys
import sysconfig
from pathlib import Path

import pytest

from tests.system.house import CHECKOUT

OF_THE_SYSTEM = ("apt-get", "useradd")  # steps that want root

pytestmark = pytest.mark.wheel


def read_steps(dockerfile: Path) -> list[tuple[str, str]]:
    """The instructions of a file in order, each with the rest of its line."""
    text = re.sub(r"\\\n", " ", re.sub(r"^#.*\n", "", dockerfile.read_text(encoding="utf-8"), flags=re.M))
    return [(name, rest) for name, _, rest in (line.partition(" ") for line in text.splitlines()) if name]


def make_python(folder: Path) -> Path:
    """The programs of an environment that sees the libraries of this one, and installs beside them."""
    subprocess.run([sys.executable, "-m", "venv", folder], check=True)
    [site] = folder.glob("lib/python*/site-packages")
    (site / "lent.pth").write_text(sysconfig.get_path("purelib") + "\n", encoding="utf-8")
    return folder / "bin"


@pytest.mark.parametrize(("name", "expected"), [("daemon", "--foreground"), ("team", "serve")])
def test_every_step_of_an_image_works_in_a_bare_folder(tmp_path: Path, name: str, expected: str) -> None:
    folder, programs = tmp_path / "opt", make_python(tmp_path / "python")
    folder.mkdir()
    needed = {key: value for key, value in os.environ.items() if key.startswith("PIP_")}
    variables = {**needed, "HOME": str(tmp_path), "PATH": f"{programs}:/usr/bin:/bin"}
    steps = read_steps(CHECKOUT / "deploy" / name / "Dockerfile")
    taken = []

    for instruction, rest in steps:
        if instruction == "COPY":
            *sources, target = rest.split()
            for one in sources:
                copy = shutil.copytree if (CHECKOUT / one).is_dir() else shutil.copy
                copy(CHECKOUT / one, folder / target)
        elif instruction == "RUN" and not rest.startswith(OF_THE_SYSTEM):
            done = subprocess.run(["sh", "-c", rest], cwd=folder, env=variables, capture_output=True, text=True)
            assert done.returncode == 0, f"{rest}\n{done.stderr[-2_000:]}"
            taken.append(rest.split()[0])
    [entry] = [rest for instruction, rest in steps if instruction == "ENTRYPOINT"]
    command = [*shlex.split(entry.strip("[]").replace(",", " ")), "--help"]
    command[0] = str(programs / command[0])
    shown = subprocess.run(command, cwd=tmp_path, env=variables, capture_output=True, text=True)

    assert taken == ["pip", "pip"]
    assert (shown.returncode, expected in shown.stdout) == (0, True)
