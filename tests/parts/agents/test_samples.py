"""Every reader against genuine samples, where the data lies beside the checkout, and against damaged lines."""

import shutil
from pathlib import Path

import pytest

from benchmarks.source_readers import DAMAGED_LINES, readers_figures
from parts.agents.table import SOURCES, find_source

SAMPLES = Path(__file__).parents[4] / "shared" / "data" / "transcripts" / "negatives"
EXPECTED = Path(__file__).with_name("expected")


def test_damaged_lines_crash_no_reader_and_nothing_put_in_is_speech(tmp_path: Path) -> None:
    figures = readers_figures(tmp_path)

    assert set(figures) == set(SOURCES)
    assert {(one["crashes"], one["put_in"], one["damaged_lines"]) for one in figures.values()} == {
        (0, 0, DAMAGED_LINES)
    }


@pytest.mark.skipif(not SAMPLES.exists(), reason=f"no samples at {SAMPLES}")
def test_every_prompt_of_the_samples_is_found_and_none_is_invented(tmp_path: Path) -> None:
    shutil.copytree(EXPECTED, tmp_path / "samples")
    for expected in list((tmp_path / "samples").rglob("*.prompts.json")):
        name = expected.relative_to(tmp_path / "samples").with_name(expected.name.removesuffix(".prompts.json"))
        shutil.copyfile(SAMPLES / name, tmp_path / "samples" / name)

    figures = readers_figures(tmp_path / "samples")

    counts = {name: (one["prompts"], one["found"], one["invented"]) for name, one in figures.items() if one["prompts"]}
    assert counts == {
        "codex": (7, 7, 0),
        "gemini": (1, 1, 0),
        "copilot": (6, 6, 0),
        "cursor": (4, 4, 0),
        "chat": (3, 3, 0),
    }


@pytest.mark.skipif(not SAMPLES.exists(), reason=f"no samples at {SAMPLES}")
@pytest.mark.parametrize("name", ["codex", "copilot", "cursor", "gemini"])
def test_a_sample_goes_to_the_reader_of_its_agent(name: str) -> None:
    readers = {path.name: find_source(path) for path in (SAMPLES / name).iterdir()}

    assert {source.NAME if source else "" for source in readers.values()} == {name}
