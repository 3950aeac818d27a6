"""What the documents name is there."""

import re
import subprocess
from collections import Counter
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
OF_OTHERS = "style.md"  # names files of other projects, in which a habit can be seen
DOCUMENTS = sorted(
    [
        *(page for page in ROOT.glob("docs/*.md") if page.name != OF_OTHERS),
        *ROOT.glob("*.md"),
        ROOT / "plugin" / "README.md",
    ]
)


@pytest.fixture(scope="module")
def files() -> list[str]:
    """Every file of the project, with a slash before its path."""
    listed = subprocess.run(["git", "ls-files"], cwd=ROOT, capture_output=True, text=True, check=True).stdout
    return [f"/{path}" for path in listed.splitlines()]


@pytest.mark.parametrize("document", DOCUMENTS, ids=lambda path: path.name)
def test_a_python_file_that_a_document_names_exists(document: Path, files: list[str]) -> None:
    named = re.findall(r"(?<![\w/.*-])[\w/]+\.py\b", document.read_text(encoding="utf-8"))

    assert [name for name in named if not any(file.endswith(f"/{name}") for file in files)] == []


def test_the_page_of_promises_counts_its_rows() -> None:
    text = (ROOT / "docs" / "promises.md").read_text(encoding="utf-8")
    states = Counter(re.findall(r"^\| [^|]+ \| (works|in part|read|missing)(?: °)? \|", text, re.MULTILINE))
    rows = len(re.findall(r"^\| (?!promise \|)", text, re.MULTILINE))

    [told] = re.findall(r"^(\d+) work, (\d+) in part, (\d+) read, (\d+) missing\.", text, re.MULTILINE)

    assert rows == sum(states.values()), "each row has a state"
    assert [*map(int, told)] == [states[state] for state in ("works", "in part", "read", "missing")]
