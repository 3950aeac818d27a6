"""Measures the readers of other agents: every prompt found, none invented, no crash on damaged lines.

    python -m benchmarks.source_readers --json --samples DIR

A sample `x` in DIR or below, a file or a folder, stands beside `x.prompts.json`: a JSON list of what the person typed
in it. Its reader is chosen by name and beginning, as `oneiros ingest` chooses. Beside the samples each reader gets
2,000 lines that were damaged at random, among whole ones that a client wrote in the person's place (`PUT_IN`).
"""

import argparse
import copy
import json
import random
import sqlite3
import sys
import tempfile
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import closing
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from crawler.sources.agent import AgentSource, list_source_files
from crawler.sources.conversation import AgentFile
from crawler.transcripts.turns import join_turns
from memory_server.errors import ContentError
from parts.agents.table import SOURCES, find_source

EXPECTED = ".prompts.json"
DAMAGED_LINES = 2_000
LINES_A_FILE = 20
SEED = 20261122
PUT_IN = "put in by the client"
ODD: tuple[Any, ...] = (
    None,
    True,
    -1,
    2**70,
    1e308,
    "",
    "x" * 9_000,
    "\u202e",
    "\ud83d",
    [],
    {},
    [[1]],
    {"type": "text"},
    [None],
)


@dataclass(slots=True)
class ReaderFigures:
    """What one reader reaches. `put_in`: lines of the client taken for the person's."""

    prompts: int = 0
    found: int = 0
    invented: int = 0
    crashes: int = 0
    damaged_lines: int = 0
    put_in: int = 0


def readers_figures(samples: Path) -> dict[str, dict[str, int]]:
    """The figures of every reader, by its name: on the samples, then on damaged lines."""
    figures = {name: ReaderFigures() for name in SOURCES}
    for expected in sorted(samples.rglob(f"*{EXPECTED}")):
        compare(expected.with_name(expected.name.removesuffix(EXPECTED)), json.loads(expected.read_bytes()), figures)
    with tempfile.TemporaryDirectory(prefix="oneiros-readers-") as name:
        for seed, (reader, lines) in enumerate(LINES.items()):
            damage(reader, lines, Path(name) / reader, random.Random(SEED + seed), figures[reader])  # noqa: S311  # no secret
    return {name: asdict(one) for name, one in figures.items()}


def compare(sample: Path, expected: list[str], figures: dict[str, ReaderFigures]) -> None:
    """One sample against what the person typed in it."""
    source = choose_source(sample)
    one = figures.setdefault(source.NAME if source else "no reader", ReaderFigures())
    wanted = Counter(map(plain, expected))
    one.prompts += wanted.total()
    try:
        got = Counter(map(plain, read_prompts(source, sample) if source else ()))
    except Exception:  # noqa: BLE001  # a crash is what is being counted
        one.crashes += 1
        return
    one.found += (wanted & got).total()
    one.invented += (got - wanted).total()


def choose_source(sample: Path) -> AgentSource | None:
    """The reader of a sample; of a folder the one that takes any file in it."""
    if sample.is_file():
        return find_source(sample)
    inside = (find_source(path) for path in sorted(sample.rglob("*")) if path.is_file())
    return next((source for source in inside if source and source.NAME != "chat"), None)


def read_prompts(source: AgentSource, sample: Path) -> Iterator[str]:
    """What the person typed in a sample, on its living branches."""
    for path in list_source_files(source, [sample]):
        for talk in source.read(AgentFile(path)):
            for turn in join_turns(lambda entries=talk.entries: iter(entries)):  # type: ignore[misc]  # a default binds it
                if turn.is_prompt and turn.is_live:
                    yield turn.text


def plain(text: str) -> str:
    return " ".join(text.split())


# -- damaged lines -----------------------------------------------------------------------------------------------------


def codex(kind: str, **payload: Any) -> dict[str, Any]:
    return {"timestamp": "2026-03-01T10:00:00.000Z", "type": kind, "payload": payload}


def make_codex_line(role: str, text: str) -> dict[str, Any]:
    return codex("response_item", type="message", role=role, content=[{"type": "input_text", "text": text}])


def copilot(kind: str, **data: Any) -> dict[str, Any]:
    return {"type": kind, "data": data, "id": "e1", "timestamp": "2026-03-01T10:00:00.000Z"}


def gemini(kind: str, content: Any, **more: Any) -> dict[str, Any]:
    return {"id": "m1", "timestamp": "2026-03-01T10:00:00.000Z", "type": kind, "content": content, **more}


def cursor(role: str, text: str) -> dict[str, Any]:
    tool = {"type": "tool_use", "name": "Shell", "input": {"command": "ls"}}
    return {"role": role, "message": {"content": [{"type": "text", "text": text}, tool]}}


def opencode(role: str, text: str, **part: Any) -> dict[str, Any]:
    tool = {"type": "tool", "tool": "bash", "callID": "c", "state": {"status": "completed", "input": {}, "output": "x"}}
    return {
        "role": role,
        "time": {"created": 1, "completed": 2},
        "content": [{"type": "text", "text": text, **part}, tool],
    }


@dataclass(frozen=True, slots=True)
class Lines:
    """Lines of one agent: how a file begins, what is damaged, and what the client put in, which stays whole."""

    head: dict[str, Any]
    messages: tuple[dict[str, Any], ...]
    put_in: tuple[dict[str, Any], ...]
    name: str


LINES = {
    "codex": Lines(
        codex(
            "session_meta",
            id="t1",
            cwd="/srv",
            cli_version="0.169.0",
            git={"branch": "a"},
        ),
        (
            make_codex_line("user", "typed"),
            make_codex_line("assistant", "said"),
            codex("response_item", type="function_call", name="exec_command", call_id="c", arguments='{"cmd": "ls"}'),
            codex(
                "response_item", type="custom_tool_call", name="apply_patch", call_id="c", input="*** Update File: a"
            ),
            codex("response_item", type="local_shell_call", call_id="c", action={"command": ["bash", "-lc", "ls"]}),
            codex("response_item", type="function_call_output", call_id="c", output='{"output": "x", "metadata": {}}'),
            codex("event_msg", type="thread_rolled_back", num_turns=1),
            codex("event_msg", type="turn_aborted"),
            codex("turn_context", turn_id="t", cwd="/srv"),
        ),
        (
            make_codex_line("user", f"# AGENTS.md instructions for /srv\n\n<INSTRUCTIONS>\n{PUT_IN}\n</INSTRUCTIONS>"),
            make_codex_line("user", f"<environment_context>{PUT_IN}</environment_context>"),
            make_codex_line("user", f"<skill>\n{PUT_IN}\n</skill>"),
            make_codex_line("developer", PUT_IN),
            codex("event_msg", type="user_message", message=PUT_IN),
        ),
        "rollout-2026-03-01T10-00-00-t1.jsonl",
    ),
    "gemini": Lines(
        {"sessionId": "s", "projectHash": "h", "kind": "main", "directories": ["/srv"]},
        (
            gemini("user", [{"text": "typed"}], displayContent=[{"text": "typed"}]),
            gemini(
                "gemini", "said", toolCalls=[{"id": "c", "name": "x", "args": {}, "result": [{"functionResponse": {}}]}]
            ),
            {"$set": {"messages": [gemini("user", "typed")], "directories": ["/a"]}},
            {"$rewindTo": "m1"},
        ),
        (
            gemini("user", f"<session_context>{PUT_IN}</session_context>") | {"id": "p1"},
            gemini("user", [{"text": "--- Content from referenced files ---"}, {"text": PUT_IN}]) | {"id": "p2"},
            gemini("info", PUT_IN) | {"id": "p3"},
        ),
        "session-1.jsonl",
    ),
    "copilot": Lines(
        copilot("session.start", sessionId="s", copilotVersion="1.0.11", context={"cwd": "/srv", "branch": "a"}),
        (
            copilot("user.message", content="typed", source="user"),
            copilot(
                "assistant.message", content="said", toolRequests=[{"toolCallId": "c", "name": "bash", "arguments": {}}]
            ),
            copilot("tool.execution_start", toolCallId="c", toolName="bash", arguments={"command": "ls"}),
            copilot("tool.execution_complete", toolCallId="c", success=False, error={"message": "x"}),
            copilot("session.snapshot_rewind", upToEventId="e1", eventsRemoved=1),
            copilot("session.context_changed", cwd="/srv", branch="b"),
        ),
        (
            copilot("user.message", content=PUT_IN, source="skill-pdf"),
            copilot("user.message", content=PUT_IN, source="agent-1"),
            copilot("user.message", content=PUT_IN, isAutopilotContinuation=True),
        ),
        "events.jsonl",
    ),
    "opencode": Lines(
        {},
        (opencode("user", "typed"), opencode("assistant", "said")),
        (opencode("user", PUT_IN, synthetic=True), opencode("synthetic", PUT_IN)),
        "opencode.db",
    ),
    "cursor": Lines(
        cursor("user", "<user_query>typed</user_query>"),
        (
            cursor("user", "<timestamp>Sunday, Mar 1, 2026, 1:06 PM (UTC+3)</timestamp> typed"),
            cursor("assistant", "said"),
        ),
        (
            cursor("user", f"<user_info>\n{PUT_IN}\n</user_info>"),
            cursor("user", f"<attached_files>{PUT_IN}</attached_files><user_query>typed</user_query>"),
        ),
        "t.jsonl",
    ),
    "chat": Lines(
        {"role": "user", "content": "typed"},
        (
            {"role": "user", "content": [{"type": "text", "text": "typed"}], "name": "x"},
            {
                "role": "assistant",
                "content": "said",
                "tool_calls": [{"id": "c", "function": {"name": "x", "arguments": "{}"}}],
            },
            {"role": "tool", "tool_call_id": "c", "content": "x"},
            {"messages": [{"role": "user", "content": "typed"}]},
            {"chat_messages": [{"sender": "human", "content": [{"type": "text", "text": "typed"}], "uuid": "u"}]},
            {"mapping": {"a": {"parent": "b", "message": {"content": {"content_type": "text"}}}}, "current_node": "a"},
        ),
        ({"role": "system", "content": PUT_IN},),
        "chat.jsonl",
    ),
}


def damage(reader: str, lines: Lines, folder: Path, chance: random.Random, one: ReaderFigures) -> None:
    """Reads files of damaged lines, each among whole ones that the client put in."""
    for number in range(DAMAGED_LINES // LINES_A_FILE):
        damaged = [damaged_line(chance.choice(lines.messages), chance) for _ in range(LINES_A_FILE)]
        one.damaged_lines += len(damaged)
        whole = [json.dumps(line).encode() for line in lines.put_in]
        mixed = [json.dumps(lines.head).encode(), *damaged, *whole]
        mixed[1:] = chance.sample(mixed[1:], len(mixed) - 1)
        path = folder / str(number) / lines.name
        path.parent.mkdir(parents=True)
        WRITERS.get(reader, write_lines)(path, mixed)
        try:
            found = list(read_prompts(SOURCES[reader], path))
        except ContentError:
            continue  # foreseen, and named to the person
        except Exception:  # noqa: BLE001  # a crash is what is being counted
            one.crashes += 1
            continue
        one.put_in += sum(PUT_IN in text for text in found)


def write_lines(path: Path, lines: list[bytes]) -> None:
    path.write_bytes(b"\n".join(lines) + b"\n")


def write_database(path: Path, lines: list[bytes]) -> None:
    """Each line as the data of a row: in both generations of the tables, one after the other."""
    is_second = int(path.parent.name) % 2
    session = "session_v2" if is_second else "session"
    with closing(sqlite3.connect(path)) as database, database:
        database.execute(f"create table {session}(id text, parent_id text, directory text, title text, revert text)")
        database.execute(f"insert into {session} values('s', null, '/srv', 'x', '{{')")
        if is_second:
            database.execute(
                "create table session_message(id, session_id, type, seq, time_created, time_updated, data)"
            )
            rows = [
                (f"m{n}", "s", find_role(line), n, n, n, line.decode("utf-8", "replace"))
                for n, line in enumerate(lines)
            ]
            database.executemany("insert into session_message values(?, ?, ?, ?, ?, ?, ?)", rows)
            return
        database.execute("create table message(id, session_id, time_created, data)")
        database.execute("create table part(id, message_id, session_id, time_updated, data)")
        for number, line in enumerate(lines):
            text = line.decode("utf-8", "replace")
            database.execute("insert into message values(?, 's', ?, ?)", (f"m{number}", number, text))
            for place, part in enumerate(find_parts(line)):
                row = (f"p{place}", f"m{number}", number, part)
                database.execute("insert into part values(?, ?, 's', ?, ?)", row)


def find_role(line: bytes) -> str:
    return "assistant" if b'"assistant"' in line else "synthetic" if b'"synthetic"' in line else "user"


def find_parts(line: bytes) -> Iterator[str]:
    """The parts of a line, and what is left of one that is damaged."""
    try:
        value = json.loads(line)
    except ValueError:
        yield line.decode("utf-8", "replace")
        return
    parts = value.get("content") if isinstance(value, dict) else None
    for part in parts if isinstance(parts, list) else [value]:
        yield json.dumps(part)


WRITERS: dict[str, Callable[[Path, list[bytes]], None]] = {"opencode": write_database}


def damaged_line(line: dict[str, Any], chance: random.Random) -> bytes:
    """A line with one thing wrong: a field gone or of another shape, bytes cut off or changed."""
    if chance.random() < 0.75:
        value = copy.deepcopy(line)
        places = list(find_places(value))
        inside, key = chance.choice(places)
        if chance.random() < 0.3:
            del inside[key]
        else:
            inside[key] = copy.deepcopy(chance.choice(ODD))
        return json.dumps(value).encode("utf-8", "surrogatepass")
    raw = bytearray(json.dumps(line).encode())
    at = chance.randrange(len(raw))
    if chance.random() < 0.5:
        return bytes(raw[:at]).replace(b"\n", b" ")
    raw[at] = chance.choice((0x00, 0x22, 0x5C, 0x7B, 0xFF, 0x80))
    return bytes(raw)


def find_places(value: Any) -> Iterator[tuple[Any, Any]]:
    """Every place in a value that something may be wrong with."""
    keys = list(value) if isinstance(value, dict) else range(len(value)) if isinstance(value, list) else ()
    for key in keys:
        yield value, key
        yield from find_places(value[key])


def main() -> int:
    """The figures of all readers."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--samples", type=Path, required=True, help="a folder of samples with their lists of prompts")
    parser.add_argument("--json", action="store_true", help="print JSON")
    arguments = parser.parse_args()
    figures = readers_figures(arguments.samples)
    if arguments.json:
        sys.stdout.write(json.dumps({"readers": figures}, indent=1) + "\n")
        return 0
    for name, one in figures.items():
        sys.stdout.write(f"{name:10}" + "  ".join(f"{key} {value}" for key, value in one.items()) + "\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
