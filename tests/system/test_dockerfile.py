"""The Dockerfile of the daemon without a builder: each of its steps, in a bare folder with a bare Python."""

import os
import re
import shlex
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tests.system.house import CHECKOUT

DOCKERFILE = CHECKOUT / "deploy" / "daemon" / "Dockerfile"
OF_THE_SYSTEM = "apt-get"  # a step that wants root and Debian's archive

pytestmark = pytest.mark.wheel


def steps() -> list[tuple[str, str]]:
    """The instructions of the file in order, each with the rest of its line."""
    text = re.sub(r"\\\n", " ", re.sub(r"^#.*\n", "", DOCKERFILE.read_text(encoding="utf-8"), flags=re.M))
    return [(name, rest) for name, _, rest in (line.partition(" ") for line in text.splitlines()) if name]


def test_every_step_of_the_daemons_image_works_in_a_bare_folder(tmp_path: Path) -> None:
    folder, python = tmp_path / "opt", tmp_path / "python"
    folder.mkdir()
    subprocess.run([sys.executable, "-m", "venv", python], check=True)
    kept = {name: os.environ[name] for name in os.environ if name.startswith("PIP_")}
    variables = {**kept, "HOME": str(tmp_path), "PATH": f"{python}/bin:/usr/bin:/bin"}
    taken = []

    for name, rest in steps():
        if name == "COPY":
            source, target = rest.split()[:-1], rest.split()[-1]
            for one in source:
                is_folder = (CHECKOUT / one).is_dir()
                (shutil.copytree if is_folder else shutil.copy)(CHECKOUT / one, folder / target)
        elif name == "RUN" and OF_THE_SYSTEM not in rest:
            done = subprocess.run(["sh", "-c", rest], cwd=folder, env=variables, capture_output=True, text=True)
            assert done.returncode == 0, f"{rest}\n{done.stderr[-2_000:]}"
            taken.append(rest.split()[0])
    [entry] = [rest for name, rest in steps() if name == "ENTRYPOINT"]
    command = shlex.split(entry.strip("[]").replace(",", " "))
    told = subprocess.run([*command, "--help"], cwd=tmp_path, env=variables, capture_output=True, text=True)

    assert taken == ["pip", "pip"]
    assert (told.returncode, "--foreground" in told.stdout) == (0, True)
