"""Which files a question passes on its way to an answer: those that the architecture page lists."""

import re
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from types import FrameType

import pytest

from memory_server.document import Answer, Hit
from memory_server.search.question import Question
from oneiros.cli.main import main
from oneiros.environment import Environment
from tests.conftest import MakeEngine
from tests.memory_server.test_spoken_answers import opened

ROOT = Path(__file__).parent.parent
HEADING = "## The files that a question passes"
OURS = tuple(f"{ROOT}/{package}/" for package in ("oneiros", "memory_server", "crawler", "dream"))


@contextmanager
def passed() -> Iterator[set[str]]:
    """The files of the project whose functions hold a question, a hit or an answer meanwhile."""
    found: set[str] = set()

    def look(frame: FrameType, event: str, value: object) -> None:
        file = frame.f_code.co_filename
        if event in ("call", "return") and file.startswith(OURS):
            held = (value, *frame.f_locals.values())
            if any(isinstance(one, Question | Answer | Hit) for one in held):
                found.add(Path(file).relative_to(ROOT).as_posix())

    sys.setprofile(look)
    try:
        yield found
    finally:
        sys.setprofile(None)


@pytest.mark.parametrize("question", ["which port does the relay listen on", "why does the printer jam"])
def test_a_question_passes_no_file_but_those_that_are_listed(
    garden_root: Path, make_engine: MakeEngine, tmp_path: Path, question: str
) -> None:
    page = (ROOT / "docs" / "architecture.md").read_text(encoding="utf-8")
    listed = re.findall(r"^ {4}(\S+\.py)\b", page.partition(HEADING)[2].partition("\n## ")[0], re.MULTILINE)
    with opened(tmp_path, make_engine) as archived:
        root = archived.root.path if "printer" in question else garden_root
    environment = Environment({"ONEIROS_ROOT": str(root), "HF_HUB_CACHE": "/nowhere"}, tmp_path, tmp_path)

    with passed() as found:
        code = main(["recall", "--no-daemon", question], environment)

    assert code == 0
    assert {"oneiros/cli/searching.py", "memory_server/search/pipeline.py"} <= found <= {*listed}
    assert ("memory_server/search/spoken.py" in found) == ("printer" in question)
    assert [file for file in listed if not (ROOT / file).is_file()] == []
