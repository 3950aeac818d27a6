"""A habit as a skill: the `SKILL.md` that a client would read, as a draft in `proposals/skills/<id>/`.

A draft is there to be read: what a person accepts is made from the archive again. A skill allows no tool but what only
tests, checks, formats or builds, in exactly the words in which it was run.
"""

import re
from pathlib import Path

import yaml

from memory_server.escaping import escape_line
from memory_server.machine.clock import local_day
from memory_server.machine.files import replace_file
from memory_server.root.paths import MemoryRoot
from parts.taking_over.deeds import GAP, Habit, format_command

MAX_CITED = 5  # sessions, the newest
NAME_PARTS = 4
NOT_IN_NAME = re.compile(r"[^a-z0-9]+")
ALLOWED = re.compile(
    r"(?:make|just|task|mise|npm|pnpm|yarn|bun|cargo|go|uv|poetry|hatch|tox|nox|gradlew?|mvn|dotnet|deno)(?: run)?"
    r" (?:(?:test|check|lint|fmt|format)(?::[a-z]+)?|build|vet|typecheck|pytest|ruff|mypy)"
    r"|pytest|ruff(?: check| format)?|mypy|tsc|eslint|gofmt|golangci-lint run"
)  # keys of steps


def list_steps(habit: Habit) -> list[str]:
    """The steps as a skill tells them."""
    return [format_command(step) for step in zip(*(done.commands for done in habit.times), strict=True)]


def make_name(habit: Habit) -> str:
    """What the skill is called: the last word of each step."""
    words = dict.fromkeys(NOT_IN_NAME.sub("-", key.rpartition(" ")[2].lower()).strip("-") for key in habit.keys)
    return "-".join(list(words)[:NAME_PARTS])[:60].strip("-")


def list_tools(habit: Habit) -> list[str]:
    """The tools that the skill lets a client use without asking."""
    pairs = zip(habit.keys, list_steps(habit), strict=True)
    return list(dict.fromkeys(f"Bash({step})" for key, step in pairs if ALLOWED.fullmatch(key) and GAP not in step))


def skill_text(habit: Habit) -> str:
    """The whole of `SKILL.md`."""
    steps, where = list_steps(habit), f" of {escape_line(habit.project)}" if habit.project else ""
    example = f', or when asked as in: "{_flat(habit.quotes[0].text)}"' if habit.quotes else ""
    description = f"Runs {', then '.join(steps)}. Use it where one of these is due{example}."
    allowed = {"allowed-tools": " ".join(tools)} if (tools := list_tools(habit)) else {}
    front = {"name": make_name(habit), "description": description, **allowed}
    cited = [
        *(f'person in session {one.session_id}, entry {one.entry}: "{_flat(one.text)}"' for one in habit.quotes),
        *(f"done in session {one.session_id}, entry {one.entries[0]}" for one in habit.times[-MAX_CITED:]),
    ]
    marks = "".join(f"[^{number}]" for number in range(1, len(cited) + 1))
    last = f", last on {local_day(habit.last)}" if habit.last else ""
    lines = [
        f"---\n{yaml.safe_dump(front, sort_keys=False, allow_unicode=True, width=1_000)}---",
        f"# {', '.join(key.rpartition(' ')[2] for key in habit.keys)}",
        f"Done in this order in {len(habit.times)} sessions{where}{last}.{marks}",
        "\n".join(f"{number}. `{step}`" for number, step in enumerate(steps, start=1)),
        *([f"What stands at `{GAP}` differed each time."] if any(GAP in step for step in steps) else []),
        "Stop at the first step that fails, and say what it printed.",
        "\n".join(f"[^{number}]: {one}" for number, one in enumerate(cited, start=1)),
    ]
    return "\n\n".join(lines) + "\n"


def _flat(text: str) -> str:
    return escape_line(" ".join(text.split()))


def save_draft(root: MemoryRoot, habit: Habit) -> Path:
    """Writes a skill among the proposals; returns its file."""
    file = root.path / "proposals" / "skills" / habit.id / "SKILL.md"
    replace_file(file, skill_text(habit))
    return file
