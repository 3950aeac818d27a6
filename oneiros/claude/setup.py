"""`oneiros setup`: what is written into files of clients and of the shell once a person agrees, and its undoing.

Seven things, each by itself: the rule of precedence with an import of MEMORY.md between two markers of a CLAUDE.md,
rules by which the client denies its own tools what is the person's, its auto-dream switched off, a personal skill
`/dream` that points to `/oneiros:dream`, the plugin, which the client installs itself, completion on the Tab key
between two markers of a file that the shell reads, and for other clients an entry in the list of their servers with the
rule of precedence in their instructions. What stood there before is kept in the person's own folder, so that undoing
leaves no byte and touches nothing changed since.
"""

import json
import shlex
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from textwrap import indent
from types import MappingProxyType
from typing import Any

from memory_server.errors import ContentError, NeedsRepair, UsageError
from memory_server.machine.files import replace_file
from oneiros.claude.files import PLUGIN
from oneiros.environment import Environment
from oneiros.light.client_folders import find_named_folder
from oneiros.light.endpoint import states_folder
from oneiros.light.person_only import APPROVED, OWN_DATA
from oneiros.parts import McpClient

BEGIN = "<!-- oneiros: begin -->"
END = "<!-- oneiros: end -->"
SHELL_BEGIN = "# oneiros: begin"
SHELL_END = "# oneiros: end"
RULE = """\
# Memory

oneiros keeps this person's memory. Its topics are approved and decide (rank 1); sessions say what was said once (2),
archived turns arbitrate (3), references are context (4). Ask its tool recall before a claim about earlier work. Topics
change by a proposal that the person accepts, never by writing their files.
"""
AUTO_DREAM = "autoDreamEnabled"
SKILL = """\
---
name: dream
description: Go through what was said and propose what the memory should hold, by the plugin oneiros
disable-model-invocation: true
---

Run the skill `/oneiros:dream` with these arguments: $ARGUMENTS
"""
PACKAGED = Path(__file__).parents[1] / "marketplace"  # in an installed wheel
CHECKOUT = Path(__file__).parents[2]
SECONDS = 120.0


@dataclass(frozen=True, slots=True)
class Change:
    """One thing that setup does, or undoes."""

    what: str  # for the person: the file, and what will stand there
    do: Callable[[], None]


class Setup:
    """Plans changes to the files of one person's client; nothing is written before `do` of a change is called."""

    @classmethod
    def of(cls, environment: Environment, page: Path | None = None) -> "Setup":
        """The plan for the memory that is meant. `page`: another CLAUDE.md than the person's own."""
        notes = environment.person_file.with_name("setup.json")
        named = find_named_folder(environment.variables)  # which may be still to be made
        folder = Path(named) if named else environment.claude_folder
        page, index_page = page or folder / "CLAUDE.md", environment.choice.root.index_page
        clients = [part.clients(environment.home, environment.variables) for part in environment.parts if part.clients]
        known = {name: client for found in clients for name, client in found.items()}
        return cls(environment.home, notes, page, index_page, environment.variables, folder, known)

    def __init__(
        self,
        home: Path,
        notes: Path,
        page: Path,
        index_page: Path,
        variables: Mapping[str, str],
        folder: Path | None = None,
        clients: Mapping[str, McpClient] = MappingProxyType({}),
    ):
        """`notes`: the file that remembers what stood there before; `page`: the CLAUDE.md to write to; `folder`: the
        client's, where that is not `~/.claude`; `clients`: the others, by their names.
        """
        folder = folder or home / ".claude"
        self._home = home
        self._variables = variables
        self._settings = folder / "settings.json"
        self._skill = folder / "skills" / "dream" / "SKILL.md"
        self._notes = notes
        self._page = page
        self._index_page = index_page
        self._clients = clients

    def changes(self, *, auto_dream_off: bool, with_skill: bool) -> Iterator[Change]:
        """What is still to be done. Raises ContentError where a file is not what it should be."""
        text = _read_text(self._page)
        wanted = with_block(text, f"{RULE}\n@{self._index_page}\n", self._page)
        if wanted != text:
            what = f"{self._page}: the rule of precedence and an import of MEMORY.md"
            yield Change(what, lambda: self._write(self._page, wanted))
        if rules := self._missing_rules():
            what = f"{self._settings}: permissions.deny, so that Claude Code itself writes nothing of yours:"
            yield Change("\n".join([what, *(f"    {rule}" for rule in rules)]), lambda: self._deny(rules))
        if auto_dream_off and _read_object(self._settings).get(AUTO_DREAM) is not False:
            yield Change(f"{self._settings}: {AUTO_DREAM} = false", self._switch_off)
        if with_skill and not self._skill.exists():
            yield Change(f"{self._skill}: /dream, which points to /oneiros:dream", self._add_skill)

    def completion(self, file: Path, lines: str) -> Iterator[Change]:
        """What is still to be done for the completion of a shell. `file`: what it reads at its start."""
        text = _read_text(file)
        wanted = with_block(text, lines, file)
        if wanted != text:
            yield Change(_format_change(file, lines), lambda: self._write(file, wanted))

    def client(self, name: str) -> Iterator[Change]:
        """What is still to be done for another client. Raises UsageError for one that is not known."""
        if name not in self._clients:
            raise UsageError(f"there is no client {name!r}", remedy=f"Choose one of: {', '.join(self._clients)}")
        client = self._clients[name]
        if insertion := _insertion(client)[1]:
            yield Change(_format_change(client.settings, insertion), lambda: self._insert(name, client))
        if client.instructions:
            yield from self.completion(client.instructions, RULE)

    def plugin(self) -> Iterator[Change]:
        """What is still to be done for the plugin: the client's own commands."""
        if not _read_object(self._notes).get("plugin"):
            yield Change("\n".join(map(shlex.join, adding())), self._add_plugin)

    def undoing(self) -> Iterator[Change]:
        """What takes the changes back; what a person has changed since stays."""
        notes = _read_object(self._notes)
        for name in notes.get("pages", []):
            page = Path(name)
            text = _read_text(page)
            if choose_marks(page)[0] in text:
                yield Change(f"{page}: without the lines of oneiros", lambda page=page: self._clear(page))  # type: ignore[misc]  # a default binds the loop's value
        for name, noted in notes.items():  # the client may have had another folder then
            kind, _, place = name.partition(" ")
            if kind == "settings" and _read_object(file := Path(place or self._settings)).get(AUTO_DREAM) is False:
                yield Change(f"{file}: {AUTO_DREAM} as it was", partial(_switch_back, file, noted))
            if kind == "rules" and _without_rules(_read_object(file := Path(place)), noted) is not None:
                yield Change(f"{file}: without the rules of oneiros", partial(self._undo_rules, file, noted))
            if kind == "skill" and _read_text(file := Path(place or self._skill)) == SKILL:
                yield Change(f"{file}: gone", partial(_remove_skill, file))
            if kind == "client" and place not in self._clients:
                raise UsageError(f"no part knows the client {place}", remedy="Install the part that did, then undo")
        for name, client in self._clients.items():
            if noted := notes.get(f"client {name}"):
                left = _remove_insertion(_read_text(client.settings), client, noted["insertion"])
                if left != _read_text(client.settings):
                    what = f"{client.settings}: without the server oneiros"
                    yield Change(what, lambda client=client, noted=noted: self._take_out(client, noted))  # type: ignore[misc]  # the same
        if notes.get("plugin") and client_program(self._variables):
            yield Change("\n".join(map(shlex.join, taking_out())), lambda: run_client(taking_out(), self._variables))

    def forget(self) -> None:
        """The notes go last, when everything is undone."""
        self._notes.unlink(missing_ok=True)

    # -- doing --------------------------------------------------------------------------------------------------

    def _write(self, page: Path, text: str) -> None:
        notes = _read_object(self._notes)
        pages, made = (
            {*notes.get("pages", []), str(page)},
            {*notes.get("made", []), *([] if page.exists() else [str(page)])},
        )
        self._note(pages=sorted(pages), made=sorted(made))
        replace_file(page, text, follow=True)

    def _switch_off(self) -> None:
        settings = _read_object(self._settings)
        note = {"was": settings.get(AUTO_DREAM), "had_file": self._settings.exists()}
        self._note(**{f"settings {self._settings}": note})
        replace_file(self._settings, _as_json(settings | {AUTO_DREAM: False}), follow=True)

    def _missing_rules(self) -> list[str]:
        """The rules that the client's settings do not hold yet; in a sandbox it applies them to programs too."""
        root = self._index_page.parent
        states = states_folder({**self._variables, "HOME": str(self._home)})
        places = [*(root / name for name in (*APPROVED, *OWN_DATA)), self._notes.parent, states]
        there = _read_object(self._settings).get("permissions", {}).get("deny", [])
        return [rule for rule in (f"Edit(/{place})" for place in places) if rule not in there]

    def _deny(self, rules: list[str]) -> None:
        settings = _read_object(self._settings)
        permissions = settings.get("permissions", {})
        key, notes = f"rules {self._settings}", _read_object(self._notes)
        made = [] if self._settings.exists() else [str(self._settings)]
        self._note(**{key: [*notes.get(key, []), *rules], "made": sorted({*notes.get("made", []), *made})})
        deny = {"deny": [*permissions.get("deny", []), *rules]}
        replace_file(self._settings, _as_json(settings | {"permissions": permissions | deny}), follow=True)

    def _undo_rules(self, file: Path, rules: list[str]) -> None:
        left = _without_rules(_read_object(file), rules) or {}
        if left or str(file) not in _read_object(self._notes).get("made", []):
            replace_file(file, _as_json(left), follow=True)
        else:
            file.unlink()

    def _insert(self, name: str, client: McpClient) -> None:
        text, (place, insertion) = _read_text(client.settings), _insertion(client)
        note = {"insertion": insertion, "had_file": client.settings.exists()}
        self._note(**{f"client {name}": note})
        replace_file(client.settings, text[:place] + insertion + text[place:], follow=True)

    def _add_skill(self) -> None:
        self._note(**{f"skill {self._skill}": True})
        replace_file(self._skill, SKILL, follow=True)

    def _add_plugin(self) -> None:
        run_client(adding(), self._variables)
        self._note(plugin=True)

    # -- undoing ------------------------------------------------------------------------------------------------

    def _clear(self, page: Path) -> None:
        text = without_block(_read_text(page), page)
        if not text.strip() and str(page) in _read_object(self._notes).get("made", []):
            page.unlink()
        else:
            replace_file(page, text, follow=True)

    def _take_out(self, client: McpClient, noted: dict[str, Any]) -> None:
        left = _remove_insertion(_read_text(client.settings), client, noted["insertion"])
        if left.strip() in ("", "{}") and not noted["had_file"]:
            client.settings.unlink()
        else:
            replace_file(client.settings, left, follow=True)

    # -- files --------------------------------------------------------------------------------------------------

    def _note(self, **more: object) -> None:
        """Adds to the notes. Lists grow; of the others what was noted first is what stood there before."""
        lists = {key: value for key, value in more.items() if isinstance(value, list)}
        replace_file(self._notes, _as_json({**more, **_read_object(self._notes), **lists}), follow=True)


def _switch_back(file: Path, noted: dict[str, Any]) -> None:
    settings = {key: value for key, value in _read_object(file).items() if key != AUTO_DREAM}
    if noted["was"] is not None:
        settings[AUTO_DREAM] = noted["was"]
    if settings or noted["had_file"]:
        replace_file(file, _as_json(settings), follow=True)
    else:
        file.unlink()


def _without_rules(settings: dict[str, Any], rules: list[str]) -> dict[str, Any] | None:
    """The client's settings without our rules; None where none of them stands there."""
    permissions = settings.get("permissions", {})
    left = [rule for rule in permissions.get("deny", []) if rule not in rules]
    if left == permissions.get("deny", []):
        return None
    permissions = {key: value for key, value in permissions.items() if key != "deny"} | ({"deny": left} if left else {})
    others = {key: value for key, value in settings.items() if key != "permissions"}
    return others | ({"permissions": permissions} if permissions else {})


def _remove_skill(file: Path) -> None:
    file.unlink()
    for folder in (file.parent, file.parent.parent):
        if not any(folder.iterdir()):
            folder.rmdir()


def with_block(text: str, inside: str, where: Path) -> str:
    """A page with our lines between the markers, which are added at its end. Raises ContentError for half a pair."""
    begin, end = choose_marks(where)
    block = f"{begin}\n{inside}{end}\n"
    bounds = _bounds(text, where)
    if bounds is None:
        return f"{text}\n{block}" if text else block
    return text[: bounds[0]] + block + text[bounds[1] :]


def without_block(text: str, where: Path) -> str:
    """A page as it was before our lines came."""
    bounds = _bounds(text, where)
    if bounds is None:
        return text
    before, after = text[: bounds[0]], text[bounds[1] :]
    is_own_gap = not after or before.endswith("\n\n") or before == "\n"
    return (before.removesuffix("\n") if is_own_gap else before) + after


def choose_marks(where: Path) -> tuple[str, str]:
    """What our lines stand between, as a comment of the file's language."""
    return (BEGIN, END) if where.suffix == ".md" else (SHELL_BEGIN, SHELL_END)


def _bounds(text: str, where: Path) -> tuple[int, int] | None:
    begin, end = choose_marks(where)
    if text.count(begin) == text.count(end) == 0:
        return None
    first, last = text.find(begin), text.find(end)
    if text.count(begin) != 1 or text.count(end) != 1 or last < first:
        raise ContentError(
            "the markers of oneiros are not one pair", where=where, remedy=f"Leave one {begin} and {end}"
        )
    behind = last + len(end)
    return first, behind + (1 if text[behind : behind + 1] == "\n" else 0)


def _format_change(file: Path, lines: str) -> str:
    """A file with what will stand there."""
    return f"{file}:\n{indent(lines.strip(chr(10)), '    ')}"


def _read_text(file: Path) -> str:
    return file.read_bytes().decode("utf-8") if file.exists() else ""  # bytes: line ends stay as they are


def _insertion(client: McpClient) -> tuple[int, str]:
    """Where our server goes into a client's settings, and what; nothing where it stands there."""
    return client.insertion(_read_text(client.settings), client.table, client.entry, client.settings)


def _remove_insertion(text: str, client: McpClient, insertion: str) -> str:
    """The settings of a client without our server: to the byte where it was not written anew."""
    return text.replace(insertion, "", 1) if insertion in text else client.without(text, client.table)


def _read_object(file: Path) -> dict[str, Any]:
    try:
        found = json.loads(file.read_text(encoding="utf-8"))
    except FileNotFoundError:
        return {}
    except (OSError, ValueError) as error:
        raise UsageError("the file is not JSON that can be read", where=file, remedy="Mend it first") from error
    if not isinstance(found, dict):
        raise UsageError("the file holds no JSON object", where=file, remedy="Mend it first")
    return found


def _as_json(value: dict[str, Any]) -> str:
    return json.dumps(value, indent=2, ensure_ascii=False) + "\n"


def marketplace() -> Path:
    """The folder that `claude plugin marketplace add` takes."""
    return PACKAGED if PACKAGED.is_dir() else CHECKOUT


def adding() -> tuple[Sequence[str], ...]:
    """The commands that bring the plugin in. It is told where this program lies, wherever that was installed."""
    folder = f"program_folder={Path(sys.executable).parent}"
    return (
        ("claude", "plugin", "marketplace", "add", str(marketplace())),
        ("claude", "plugin", "install", PLUGIN, "--config", folder),
    )


def taking_out() -> tuple[Sequence[str], ...]:
    """The commands that undo `adding`."""
    return (("claude", "plugin", "uninstall", PLUGIN), ("claude", "plugin", "marketplace", "remove", "oneiros"))


def client_program(variables: Mapping[str, str]) -> str | None:
    """Claude Code as the person's shell finds it; None where it is not installed."""
    return shutil.which("claude", path=variables.get("PATH"))


def require_client_program(variables: Mapping[str, str]) -> str:
    """Claude Code as the person's shell finds it. Raises UsageError where it is not installed."""
    program = client_program(variables)
    if program is None:
        raise UsageError("Claude Code is not on PATH", remedy="Install it, or run the shown commands where it is")
    return program


def run_client(commands: Sequence[Sequence[str]], variables: Mapping[str, str]) -> None:
    """Runs commands of the client. Raises UsageError where there is none, NeedsRepair where one fails."""
    program = require_client_program(variables)
    for _, *arguments in commands:
        command = [program, *arguments]
        done = subprocess.run(
            command, env=dict(variables), capture_output=True, text=True, timeout=SECONDS, check=False
        )
        if done.returncode != 0:
            last_line = (done.stderr.strip() or done.stdout.strip()).splitlines()[-1:]
            what = f"`claude {shlex.join(arguments)}` failed: {''.join(last_line)}"
            raise NeedsRepair(what, remedy="Run it yourself to see more")
