"""Whatever happens to the files of a memory: what nobody approved reaches no session unasked."""

import random
import re
from collections.abc import Callable, Iterator
from pathlib import Path

import anyio
import pytest
from mcp import Client, MCPError
from mcp.server import MCPServer
from mcp.types import TextResourceContents

from dream.decisions.approvals import UnapprovedFiles
from memory_server.embedding.catalogue import Catalogue
from memory_server.faces.mcp_server import create_server
from memory_server.memory import Memory
from memory_server.root.paths import MemoryRoot
from memory_server.settings import PersonSettings
from oneiros.hooks.call import HookCall
from oneiros.hooks.prompt import answer_prompt
from oneiros.hooks.session_start import answer_session_start, read_review
from tests.conftest import MakeEngine
from tests.dream.builders import PERSON, begin_history, decisions_on, git
from tests.memories import NOON, NOWHERE, new_root, write_topic

STEPS = 14
BUDGET = 9_000
CLAUDE = "--author=Claude <noreply@anthropic.com>"


class Files:
    """A memory in whose files others write too; each of their texts holds a word of its own."""

    def __init__(self, root: MemoryRoot, dice: random.Random):
        self.root, self._dice = root, dice
        self.strange: list[str] = []  # words that nobody approved
        self.approved: list[str] = []
        self._count = 0

    def _word(self) -> str:
        self._count += 1
        self.strange.append(f"zq{self._count}w")
        return self.strange[-1]

    def _topic(self) -> Path:
        return self._dice.choice(sorted(self.root.topics.rglob("*.md")))

    def edit(self) -> None:
        file = self._dice.choice([self._topic(), self.root.lessons])
        file.write_text(file.read_text(encoding="utf-8") + f"\n- The {self._word()} relay hums.\n", encoding="utf-8")

    def retitle(self) -> None:
        file = self._topic()
        text = re.sub(r"(?m)^(title: |# ).*$", lambda found: f"{found[1]}{self._word()}", file.read_text("utf-8"))
        file.write_text(text, encoding="utf-8")

    def edit_page(self) -> None:
        page = self.root.index_page
        page.write_text(f"{page.read_text(encoding='utf-8')}\nThe {self._word()} line.\n", encoding="utf-8")

    def forge_pointer(self) -> None:
        page, word = self.root.index_page, self._word()
        text = page.read_text(encoding="utf-8").replace("- [", f"- [{word} ", 1)
        page.write_text(text if word in text else f"{text}\n{word}\n", encoding="utf-8")

    def add(self) -> None:
        word = self._word()
        name = self._dice.choice([f"shop/{word}", word])
        write_topic(self.root, name, f"# {word.capitalize()}\n\n- The {word} relay hums.\n", project="shop")

    def rename(self) -> None:
        word = self._word()
        self._topic().rename(self.root.topics / f"{word}.md")

    def merge(self) -> None:
        one, other = self._topic(), self._topic()
        if one != other:
            text = f"{one.read_text(encoding='utf-8')}\n- The {self._word()} relay hums.\n"
            one.write_text(text + other.read_text(encoding="utf-8"), encoding="utf-8")
            other.unlink()

    def pull(self) -> None:
        """A commit of the assistant's, as another machine may have made it."""
        self.edit()
        git(self.root.path, "add", "-A", "topics", "lessons.md")
        git(self.root.path, "commit", "--quiet", "-m", "Merge", CLAUDE)

    def approve(self) -> None:
        decisions = decisions_on(self.root)
        if paths := [one.path for one in decisions.find_unexplained()]:
            decisions.adopt(paths, PERSON)
        self.approved += self.strange
        self.strange.clear()


@pytest.fixture
def root(tmp_path: Path) -> MemoryRoot:
    """A memory that somebody has answered for, in git."""
    made = new_root(tmp_path / "memory")
    for name in ("mail", "shop/till", "garden/beds"):
        project = name.partition("/")[0] if "/" in name else ""
        write_topic(made, name, f"# {name.title()}\n\n- The {name} relay is old.\n", project=project)
    made.lessons.write_text("# Lessons\n\n- Look before you leap.\n", encoding="utf-8")
    begin_history(made.path)
    assert decisions_on(made).find_unexplained() == []
    return made


@pytest.fixture
def memory(root: MemoryRoot, make_engine: MakeEngine) -> Iterator[Memory]:
    files = UnapprovedFiles(root, "")
    with Memory(
        root,
        person=PersonSettings(),
        catalogue=Catalogue(NOWHERE),
        now=lambda: NOON,
        make_engine=make_engine,
        unapproved=files,
        approved_on=files.find_approval_day,
    ) as opened:
        yield opened


@pytest.mark.parametrize("seed", range(6))
def test_what_nobody_approved_is_given_to_no_session(memory: Memory, tmp_path: Path, seed: int) -> None:
    dice = random.Random(seed)
    files, server = Files(memory.root, dice), create_server(memory, "0")
    steps: list[Callable[[], None]] = [
        *(files.edit, files.edit_page, files.forge_pointer, files.add, files.add),
        *(files.rename, files.merge, files.pull, files.retitle, files.approve),
    ]
    seen = 0
    for _ in range(STEPS):
        dice.choice(steps)()
        memory.reindex()
        given = given_to_sessions(memory, server, files, tmp_path)

        assert [word for word in files.strange if word.casefold() in given] == []
        seen += sum(word in given for word in files.approved)

    files.approve()
    memory.reindex()
    given = given_to_sessions(memory, server, files, tmp_path)
    assert any(word in given for word in files.approved)


def given_to_sessions(memory: Memory, server: MCPServer, files: Files, home: Path) -> str:
    """All that a session of the shop is given without asking for it: at its start, at prompts, by resources."""
    folder = str(home / "shop")
    review = read_review(decisions_on(memory.root))
    given = [answer_session_start(memory, HookCall("SessionStart", folder=folder), home, BUDGET, review).context]
    for word in [*files.strange, *files.approved]:
        call = HookCall("UserPromptSubmit", prompt=f"the {word} relay hums", folder=folder)
        given.append(answer_prompt(memory, call, set(), BUDGET).context)
    given += anyio.run(resources, memory, server)
    page, (begin, end) = memory.root.index_page.read_text(encoding="utf-8"), ("topics:begin -->", "topics:end -->")
    given.append(page.partition(begin)[2].partition(end)[0])
    return "\n".join(given).casefold()


async def resources(memory: Memory, server: MCPServer) -> list[str]:
    """The texts of the resources that are not refused."""
    texts = []
    topics = sorted(memory.root.topics.rglob("*.md"))
    names = [file.relative_to(memory.root.topics).as_posix().removesuffix(".md") for file in topics]
    async with Client(server) as client:
        for uri in ("memory://index", *(f"memory://topic/{name.replace('/', '%2F')}" for name in names)):
            try:
                (part,) = (await client.read_resource(uri)).contents
            except MCPError:
                continue
            assert isinstance(part, TextResourceContents)
            texts.append(part.text)
    return texts
