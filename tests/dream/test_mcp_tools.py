"""The tools of dream, asked as a client asks."""

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, TypeVar

import pytest
from mcp import Client
from mcp.types import CallToolResult, TextContent

from dream.judge.compare import compare
from dream.judge.gate import Gate
from dream.judge.rejections import Rejections
from dream.mcp_tools import PAGE_CHARS, DreamDoor, dream_tools, evidence_pages
from dream.records import Candidate, Hunk
from dream.run import Suggested
from memory_server.faces.mcp_server import create_server
from memory_server.memory import Memory
from memory_server.redaction import Redactor
from tests.crawler.builders import SESSION, Record, assistant, entry_id, person
from tests.dream.builders import TODAY
from tests.dream.house import archived, topics

Result = TypeVar("Result")
RULE = "Always run the linter before you push."


@dataclass(slots=True)
class Desk:
    """Keeps what was proposed, each once."""

    gate: Gate
    kept: list[str] = field(default_factory=list)
    quoted: list[str] = field(default_factory=list)
    shown: list[str] = field(default_factory=list)

    def suggest(self, candidate: Candidate, wrong: str = "") -> Suggested:
        refusals = self.gate.check(candidate)
        if refusals:
            return Suggested(refusals)
        is_new = candidate.text not in self.kept
        self.kept += [candidate.text] * is_new
        self.quoted += [quote.text for quote in candidate.quotes if is_new]
        update = compare(candidate, topics())
        return Suggested((), update, Hunk("0" * 12, update, candidate.text, TODAY) if is_new else None)


@pytest.fixture
def desk_and_door(tmp_path: Path) -> tuple[Desk, DreamDoor]:
    return door_on(tmp_path, person(1, RULE), assistant(2, "Understood."), person(3, "x " * 9_000))


def door_on(tmp_path: Path, *records: Record) -> tuple[Desk, DreamDoor]:
    evidence = archived(tmp_path, {SESSION: records})
    desk = Desk(Gate(evidence, topics(), Rejections(), Redactor()))
    return desk, DreamDoor(
        evidence, lambda: [SESSION], lambda: [SESSION], desk.shown.extend, desk.suggest, desk.gate.check
    )


def asked(memory: Memory, door: DreamDoor, work: Callable[[Client], Awaitable[Result]]) -> Result:
    async def run() -> Result:
        async with Client(create_server(memory, "1.0", more_tools=dream_tools(door)), mode="legacy") as client:
            return await work(client)

    return asyncio.run(run())


def call(memory: Memory, door: DreamDoor, tool: str, **arguments: Any) -> CallToolResult:
    return asked(memory, door, lambda client: client.call_tool(tool, arguments))


def text_of(result: CallToolResult) -> str:
    (block,) = result.content
    assert isinstance(block, TextContent)
    return block.text


def test_all_definitions_with_those_of_dream_cost_at_most_1500_tokens(
    garden: Memory, desk_and_door: tuple[Desk, DreamDoor]
) -> None:
    tools = asked(garden, desk_and_door[1], lambda client: client.list_tools()).tools

    sizes = {tool.name: len(tool.model_dump_json(by_alias=True, exclude_none=True)) for tool in tools}

    assert {"dream_evidence", "propose_promotion"} <= sizes.keys()
    assert sum(sizes.values()) / 4 <= 1_500


def test_no_tool_accepts(garden: Memory, desk_and_door: tuple[Desk, DreamDoor]) -> None:
    tools = asked(garden, desk_and_door[1], lambda client: client.list_tools()).tools

    assert [tool.name for tool in tools if "accept" in tool.name or "apply" in tool.name] == []


def test_evidence_comes_by_page_behind_a_margin(garden: Memory, desk_and_door: tuple[Desk, DreamDoor]) -> None:
    page = text_of(call(garden, desk_and_door[1], "dream_evidence"))

    assert page.splitlines()[:2] == [f"session {SESSION[:8]} entry {entry_id(1)[:8]} person 2026-03-01", f"   | {RULE}"]
    assert len(page) <= PAGE_CHARS + 200
    assert text_of(call(garden, desk_and_door[1], "dream_evidence", page=99)) == "No evidence on this page."


def test_a_true_quote_is_proposed_once(garden: Memory, desk_and_door: tuple[Desk, DreamDoor]) -> None:
    desk, door = desk_and_door
    arguments = {
        "target": "workflow",
        "text": RULE,
        "quotes": [{"session": SESSION, "entry": entry_id(1)[:8], "text": RULE}],
    }

    answers = [text_of(call(garden, door, "propose_promotion", **arguments)) for _ in range(2)]

    assert answers[0].startswith(
        "Proposed for topics/workflow.md (new). A person decides with `oneiros review`. It waits"
    )
    assert answers[1].startswith("Asked before")
    assert desk.kept == [RULE]


@pytest.mark.parametrize(
    ("text", "quote", "answer"),
    [
        ("Never run the linter.", RULE, "beyond the quote"),
        (RULE, "Always run the linter before you pull.", "does not say this word for word"),
        (RULE, "", "does not say this word for word"),
    ],
)
def test_a_false_proposal_says_what_to_mend(
    garden: Memory, desk_and_door: tuple[Desk, DreamDoor], text: str, quote: str, answer: str
) -> None:
    quotes: Sequence[dict[str, str]] = [{"session": SESSION, "entry": entry_id(1), "text": quote}]

    result = call(garden, desk_and_door[1], "propose_promotion", target="workflow", text=text, quotes=quotes)

    assert answer in text_of(result)
    assert desk_and_door[0].kept == []


FORMATTED = "Use `mise run fmt` on the team's check-in branch"


@pytest.mark.parametrize(
    ("entry", "words"),
    [
        (entry_id(1)[:8], "Use `mise run fmt` on the team's check-in branch"),
        (entry_id(1), "Use mise run fmt\n   on the team's check-in branch"),
        (entry_id(1), "“Use `mise run fmt` on the team’s check–in branch…”"),
        (entry_id(1), "use **mise run fmt** on the team's check-in branch"),
        ("", "Use `mise run fmt` on the team's check-in branch"),
    ],
)
def test_a_quote_in_another_form_is_taken_for_the_words_of_the_archive(
    tmp_path: Path, garden: Memory, entry: str, words: str
) -> None:
    desk, door = door_on(tmp_path, person(1, f"Thanks. {FORMATTED}. Now go on."))
    quotes = [{"session": SESSION[:8], "entry": entry, "text": words}]

    answer = call(garden, door, "propose_promotion", target="workflow", text=FORMATTED, quotes=quotes)

    assert text_of(answer).startswith("Proposed for")
    assert desk.quoted == [FORMATTED]


def test_a_turn_of_marks_alone_does_not_hold_a_proposal_up(tmp_path: Path, garden: Memory) -> None:
    desk, door = door_on(tmp_path, person(1, f"run{'*' * 50_000}x"), person(2, RULE))
    quotes = [{"session": SESSION, "entry": "", "text": "run the linter"}]

    call(garden, door, "propose_promotion", target="workflow", text=RULE, quotes=quotes)

    assert desk.kept == []


def test_the_yes_behind_an_assistants_statement_is_found(tmp_path: Path, garden: Memory) -> None:
    told = "The relay retries 5 times."
    desk, door = door_on(tmp_path, person(1, "How often?"), assistant(2, told), person(3, "yes, exactly"))
    quotes = [{"session": SESSION, "entry": entry_id(2), "text": told}]

    call(garden, door, "propose_promotion", target="relay", text=told, quotes=quotes)

    assert desk.quoted == [told, "yes, exactly"]


@pytest.mark.parametrize(
    ("text", "quote"),
    [
        ("Always run the linter and the formatter before you push.", RULE),
        ("The linter is run before each push by the pipeline.", RULE),
        (RULE, "Always run the formatter before you push."),
        (RULE, "Always run … before you push."),
    ],
)
def test_a_refusal_names_the_nearest_that_passes(
    garden: Memory, desk_and_door: tuple[Desk, DreamDoor], text: str, quote: str
) -> None:
    desk, door = desk_and_door
    quotes = [{"session": SESSION, "entry": entry_id(1), "text": quote}]

    answer = text_of(call(garden, door, "propose_promotion", target="workflow", text=text, quotes=quotes))

    passes = f'This would pass, if it is what you mean: text "{RULE}", quotes: entry {entry_id(1)[:8]} "{RULE}"'
    assert answer.splitlines()[-1] == passes
    assert desk.kept == []


def test_of_several_statements_each_has_its_answer(garden: Memory, desk_and_door: tuple[Desk, DreamDoor]) -> None:
    desk, door = desk_and_door
    true = {"target": "workflow", "text": RULE, "quotes": [{"session": SESSION, "entry": entry_id(1), "text": RULE}]}
    false = true | {"text": "Never run it.", "quotes": [{"session": SESSION, "entry": entry_id(1), "text": "x y z"}]}

    answer = call(garden, door, "propose_promotion", **false, more=[true, false])

    told = [line for line in text_of(answer).splitlines() if line[:1].isdigit()]
    assert [line.split()[:2] for line in told] == [["1.", "Entry"], ["2.", "Proposed"], ["3.", "Entry"]]
    assert not answer.is_error and desk.kept == [RULE]


def test_a_session_of_300_turns_is_handed_over_in_four_pages(tmp_path: Path) -> None:
    records = [person(n, f"Rule {n}: " + "the relay must answer within a second. " * 40) for n in range(1, 301)]
    _, door = door_on(tmp_path, *records)

    pages = list(evidence_pages([door.evidence.session(SESSION)]))

    assert len(pages) <= 4 and max(len(page) for page, _ in pages) <= PAGE_CHARS + 100
    assert all(f"Rule {n}: " in "".join(page for page, _ in pages) for n in (1, 150, 300))
    assert [ended for _, ended in pages] == [[]] * (len(pages) - 1) + [[SESSION]]


def test_a_short_answer_comes_with_the_end_of_what_it_answers(tmp_path: Path) -> None:
    asked = "There are two ways.\n\nA) a file\nB) a table\n\nWhich of them?"
    _, door = door_on(tmp_path, person(1, "How do we keep it?"), assistant(2, asked), person(3, "B, always a table"))

    [(page, _)] = evidence_pages([door.evidence.session(SESSION)])

    assert page.splitlines()[2:] == [
        *("   ~ There are two ways.", "   ~ A) a file", "   ~ B) a table", "   ~ Which of them?"),
        f"session {SESSION[:8]} entry {entry_id(3)[:8]} person 2026-03-01",
        *("   | B, always a table", "This is the last page."),
    ]


def test_a_session_counts_as_read_when_its_last_page_was_handed_over(tmp_path: Path, garden: Memory) -> None:
    records = [person(n, f"Rule {n}: " + "the relay must answer within a second. " * 25) for n in range(1, 60)]
    desk, door = door_on(tmp_path, *records)

    call(garden, door, "dream_evidence", page=1)
    assert desk.shown == []

    call(garden, door, "dream_evidence", page=99)
    assert desk.shown == [SESSION]


def test_an_unknown_session_is_a_sentence_and_no_crash(garden: Memory, desk_and_door: tuple[Desk, DreamDoor]) -> None:
    quotes = [{"session": "nowhere", "entry": "1", "text": RULE}]

    result = call(garden, desk_and_door[1], "propose_promotion", target="x", text=RULE, quotes=quotes)

    assert result.is_error
    assert "does not say this word for word" in text_of(result)


@pytest.mark.parametrize(
    ("filed", "told"),
    [
        ({"type": "opinion"}, "type is semantic, procedural, episodic"),
        ({"namespace": "../etc"}, "namespace is words joined by /"),
        ({"tags": ["two words"]}, "tags are single words"),
        ({"citations": ["because I say so"]}, "citations addresses or names of files"),
    ],
)
def test_metadata_that_is_none_is_refused_in_a_sentence(
    garden: Memory, desk_and_door: tuple[Desk, DreamDoor], filed: dict[str, Any], told: str
) -> None:
    quote = {"session": SESSION, "entry": entry_id(1)[:8], "text": RULE}
    proposal = {"target": "workflow", "text": RULE, "quotes": [quote]}

    refused = call(garden, desk_and_door[1], "propose_promotion", **proposal, **filed)
    taken = call(garden, desk_and_door[1], "propose_promotion", **proposal, namespace="ops/ci", tags=["linter"])

    assert refused.is_error and told in text_of(refused)
    assert text_of(taken).startswith("Proposed") and desk_and_door[0].kept == [RULE]
