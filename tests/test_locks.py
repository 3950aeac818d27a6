"""The lock files hold what pyproject.toml asks for, by hash, and setup has installed what they hold."""

import importlib.metadata
import re
import sys
import tomllib
from collections.abc import Iterator
from pathlib import Path

import pytest
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name
from packaging.version import Version

from locks.renew import BUILD, EXTRAS, PROGRAM, hash_requirements

ROOT = Path(__file__).parent.parent
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
FILES = {"offline": PROGRAM} | {
    extra: ROOT / "locks" / f"{extra}.txt" for extra in (*EXTRAS, "build", "processor", "cuda")
}


def pins(*files: Path) -> Iterator[Requirement]:
    """What these lock files pin."""
    for file in files:
        for line in file.read_text(encoding="utf-8").splitlines():
            if line[0] not in "# ":
                yield Requirement(line.removesuffix(" \\"))


def version_of(pin: Requirement) -> Version:
    """The one version that a pin allows."""
    [only] = pin.specifier
    assert only.operator == "=="
    return Version(only.version)


def installed_with(requirement: Requirement, seen: set[str]) -> Iterator[importlib.metadata.Distribution]:
    """The distributions of this environment that a requirement brings, its own too."""
    key = f"{canonicalize_name(requirement.name)}{sorted(requirement.extras)}"
    if key in seen:
        return
    seen.add(key)
    found = importlib.metadata.distribution(requirement.name)
    yield found
    for needed in map(Requirement, found.requires or ()):
        if any(needed.marker is None or needed.marker.evaluate({"extra": x}) for x in ("", *requirement.extras)):
            yield from installed_with(needed, seen)


@pytest.mark.parametrize("name", FILES)
def test_a_lock_file_was_written_from_these_requirements(name: str) -> None:
    assert hash_requirements() in FILES[name].read_text(encoding="utf-8").splitlines()[0], "run `make lock`"


@pytest.mark.parametrize("name", FILES)
def test_a_lock_file_is_pins_with_hashes_and_nothing_else(name: str) -> None:
    block = r"[a-z0-9.-]+==[0-9a-z.+]+( ; [^\n\\]+)?( \\\n    --hash=sha256:[0-9a-f]{64})+\n"

    assert re.fullmatch(rf"# [^\n]+\n({block})+", FILES[name].read_text(encoding="utf-8"))


@pytest.mark.parametrize("extra", PROJECT["optional-dependencies"])
def test_every_requirement_is_pinned_within_its_bounds(extra: str) -> None:
    files = [PROGRAM, FILES["dev"] if extra == "anthropic" else FILES[extra]]
    wanted = map(Requirement, [*PROJECT["dependencies"], *PROJECT["optional-dependencies"][extra]])

    for requirement in wanted:
        locked = [pin for pin in pins(*files) if pin.name == canonicalize_name(requirement.name)]
        assert locked, requirement
        assert [pin for pin in locked if version_of(pin) not in requirement.specifier] == []


def test_what_builds_the_project_is_pinned_within_its_bounds() -> None:
    [wanted] = map(Requirement, BUILD.splitlines())

    assert [version_of(pin) in wanted.specifier for pin in pins(FILES["build"]) if pin.name == wanted.name] == [True]


def test_the_lock_files_do_not_disagree() -> None:
    seen: dict[tuple[str, str], Version] = {}

    for pin in pins(*FILES.values()):
        version = Version(version_of(pin).public)
        assert seen.setdefault((pin.name, str(pin.marker)), version) == version, pin


def test_setup_has_installed_what_is_locked_and_nothing_else_is_needed() -> None:
    here = (pin for pin in pins(PROGRAM, FILES["dev"], FILES["build"]) if pin.marker is None or pin.marker.evaluate())
    locked = {pin.name: version_of(pin) for pin in here}
    seen: set[str] = set()
    needed = [*installed_with(Requirement("oneiros[offline,dev]"), seen), *installed_with(Requirement(BUILD), seen)]

    found = {canonicalize_name(each.name): Version(each.version) for each in needed if each.name != "oneiros"}

    assert found == locked, f"run `make setup` with {sys.executable}"
