"""Dockerfile and compose files: they cannot be built here, so their structure is checked against what is true."""

import json
import re
import tomllib
from pathlib import Path
from typing import Any

import pytest
import yaml

from locks.renew import TORCH

ROOT = Path(__file__).parent.parent.parent
DEPLOY = ROOT / "deploy" / "trainer"
KINDS = ("cpu", "cuda", "rocm")
INSTRUCTIONS = {
    *("FROM", "ARG", "SHELL", "ENV", "RUN", "WORKDIR", "COPY", "USER", "VOLUME", "EXPOSE", "STOPSIGNAL"),
    *("HEALTHCHECK", "ENTRYPOINT", "CMD"),
}


def instructions(folder: Path = DEPLOY) -> list[tuple[str, str]]:
    """A Dockerfile's instructions with their arguments, continued lines joined."""
    text = (folder / "Dockerfile").read_text(encoding="utf-8")
    text = re.sub(r"^\s*#.*\n", "", text, flags=re.MULTILINE).replace("\\\n", " ")
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    return [(line.split(maxsplit=1)[0], line.split(maxsplit=1)[1]) for line in lines]


def service(kind: str) -> dict[str, Any]:
    composed = yaml.safe_load((DEPLOY / f"compose.{kind}.yaml").read_text(encoding="utf-8"))
    found: dict[str, Any] = composed["services"]["trainer"]
    return found


def test_the_dockerfile_holds_known_instructions_and_begins_with_a_pinned_image() -> None:
    found = instructions()

    assert {name for name, _ in found} <= INSTRUCTIONS
    assert found[0][0] == "FROM"
    assert re.fullmatch(r"[a-z]+:\d+\.\d+\S*@sha256:[0-9a-f]{64}", found[0][1])


def test_the_image_starts_the_entry_point_that_the_laptops_way_starts() -> None:
    entry = dict(instructions())["ENTRYPOINT"]

    assert entry == '["python", "-m", "trainer", "serve"]'
    assert '"-m", "trainer", "serve"' in (ROOT / "trainer" / "laptop.py").read_text(encoding="utf-8")


@pytest.mark.parametrize("kind", KINDS)
def test_every_image_is_started_with_options_that_the_service_knows(kind: str) -> None:
    started_with = service(kind).get("command") or json.loads(dict(instructions())["CMD"])
    known = (ROOT / "trainer" / "cli" / "service.py").read_text(encoding="utf-8")
    options = [option for option in started_with if option.startswith("--")]

    assert "--stop-training" in options
    assert [name for name in options if f'"{name}"' not in known and f"    {name[2:]}: Annotated[" not in known] == []


@pytest.mark.parametrize("folder", [DEPLOY, DEPLOY.with_name("daemon")], ids=["trainer", "daemon"])
def test_every_copied_path_is_in_the_repository_and_let_through(folder: Path) -> None:
    ignored = (folder / "Dockerfile.dockerignore").read_text(encoding="utf-8")
    copied = [path for name, rest in instructions(folder) if name == "COPY" for path in rest.split()[:-1]]

    assert copied
    assert [path for path in copied if f"!{path.removeprefix('./')}\n" not in ignored] == []
    assert [path for path in copied if not (ROOT / path).exists()] == []
    needed = {path for path in built_from() if (ROOT / path / "__init__.py").exists()}  # the packages
    assert needed <= {path.removeprefix("./") for path in copied}


def built_from() -> list[str]:
    """The paths that the distribution is built from."""
    built: list[str] = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["tool"]["hatch"]["build"][
        "targets"
    ]["wheel"]["only-include"]
    return built


def test_daemon_and_trainer_together_are_the_ones_described_apart_and_open_loopback_only() -> None:
    both = yaml.safe_load((DEPLOY.parent / "compose.yaml").read_text(encoding="utf-8"))["services"]

    assert (DEPLOY.parent / both["daemon"]["build"]["context"]).resolve() == ROOT
    assert (ROOT / both["daemon"]["build"]["dockerfile"]).is_file()
    assert both["daemon"]["network_mode"] == "host" and "ports" not in both["daemon"]
    extended = both["trainer"]["extends"]
    assert extended == {"file": "trainer/compose.cpu.yaml", "service": "trainer"}
    assert (DEPLOY.parent / extended["file"]).is_file()


@pytest.mark.parametrize("kind", ["cuda", "rocm"])
def test_a_container_may_fetch_its_default_base_into_its_volume(kind: str) -> None:
    assert "--allow-download" in service(kind)["command"]
    assert "HF_HOME=/data/hub" in dict(instructions())["ENV"]


def test_the_image_does_not_run_as_root_and_installs_by_hash() -> None:
    found = instructions()
    runs = [rest for name, rest in found if name == "RUN"]

    assert ("USER", "trainer") in found
    assert "torch==${TORCH_VERSION}" in runs[0]
    assert ("ARG", f"TORCH_VERSION={TORCH}") in found
    assert "--no-deps --require-hashes" in runs[1] and "-r locks/trainer.txt" in runs[1]
    assert runs[2] == "pip install --no-deps --no-build-isolation ."


@pytest.mark.parametrize("kind", KINDS)
def test_each_compose_file_builds_its_kind_and_opens_loopback_only(kind: str) -> None:
    found = service(kind)

    assert found["build"]["args"]["ACCELERATOR"] == kind
    assert (DEPLOY / found["build"]["context"]).resolve() == ROOT
    assert found["ports"] == ["127.0.0.1:3011:3011"]
    assert ":?" in found["environment"]["ONEIROS_TRAINER_TOKEN"]
    assert found["stop_grace_period"] == "3m"


def test_cuda_comes_through_the_toolkit_and_rocm_through_its_devices() -> None:
    reserved = service("cuda")["deploy"]["resources"]["reservations"]["devices"]

    assert reserved == [{"driver": "nvidia", "count": 1, "capabilities": ["gpu"]}]
    assert service("rocm")["devices"] == ["/dev/kfd", "/dev/dri"]
    assert service("cpu")["command"][-1] == "--cpu"


def test_the_dockerfile_knows_every_kind_that_a_compose_file_names() -> None:
    cases = next(rest for name, rest in instructions() if name == "RUN")

    assert all(f"{kind})" in cases for kind in KINDS)
