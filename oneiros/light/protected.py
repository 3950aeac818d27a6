"""What a tool of the assistant may not do: write what is the person's, or run a command by which a person decides.

Decided without a daemon, on the standard library alone, in front of every editing tool and shell command. It keeps an
assistant on the path through proposals; it is no wall against a program that means harm, which `docs/security.md`
says, and why every session start names the changes that no acceptance explains.

One rule: a simple command that names anything of the person's is free only if its program reads, and writes elsewhere
if at all. What cannot be told is denied where the text of the command names anything of the person's.
"""

from __future__ import annotations

import os
import re
from collections.abc import Mapping, Sequence

from oneiros.light import programs
from oneiros.light.guarded import Denied, Guarded
from oneiros.light.person_only import PERSON_DENIED, person_words
from oneiros.light.shell import PATTERN, UNKNOWN, Command, Reader, TooMuch, as_written

EDITORS = {"Edit": "file_path", "MultiEdit": "file_path", "Write": "file_path", "NotebookEdit": "notebook_path"}
MAX_CHARS = 1 << 15  # of a command that names anything of ours; an ordinary one has a few thousand at most
MAX_VALUE = 200  # characters of a variable, which may stand many times in one command
MOST_WORDS = 5_000  # of one simple command, a fifth of a second
KEYWORDS = frozenset("then do else elif if while until ! { } coproc function".split())
BUILTINS = frozenset("test [ [[ printf read declare typeset local export readonly unset let mapfile readarray".split())
EVALUATED = re.compile(r"\w\[[^]]*(?:\$\(|`)|PS\d\+?=.*(?:\$\(|`)", re.DOTALL)  # a subscript runs what stands in it
MADE_OTHER = re.compile(r"-\w*[ilnu]")  # of a value that is declared: calculated, in small letters, another's name
OTHER_TILDE = re.compile(r"~[+\-\d]")
OUR_PROGRAM = re.compile(r"(?<![\w/.-])oneiros(?![\w.-])")

UNCLEAR = "This command names the person's memory, and {why}. Say it plainly, one step a command, with full paths."


def reason_to_deny(
    tool: str, arguments: Mapping[str, object], folder: str, roots: Sequence[str], variables: Mapping[str, str]
) -> str:
    """Why a tool call may not be; empty where it may. `roots`: the memories that take effect for this person."""
    guarded = Guarded(roots, variables)
    subject = arguments.get(EDITORS.get(tool, "command"))
    if not isinstance(subject, str) or tool not in {*EDITORS, "Bash"}:
        return ""
    subject = subject.encode("utf-8", "replace").decode()  # half a character names no file, and must not end the guard
    try:
        if tool == "Bash":
            Judge(guarded, folder, variables, subject.replace("\r\n", "\n")).judge()
        else:
            guarded.check_file(subject.strip(), folder)  # the client's editors pass over space around a path
    except Denied as reason:
        return str(reason)
    return ""


class Judge(Reader):
    """Raises Denied at the first step of a script that may not be."""

    def __init__(self, guarded: Guarded, folder: str, variables: Mapping[str, str], text: str) -> None:
        super().__init__(folder)
        self._guarded = guarded
        self._variables = dict(variables)
        self._is_home_moved = False
        self._script = text

    def judge(self) -> None:
        """Raises Denied."""
        try:
            if len(self._script) > MAX_CHARS:
                raise TooMuch
            self.read(self._script)
        except TooMuch:
            self._unclear("it is too long, or too deep")

    def known(self, name: str) -> str:
        return self.folder if name == "PWD" else self._variables.get(name, UNKNOWN)

    def step(self, command: Command) -> None:
        words = command.words
        if len(words) > MOST_WORDS:
            raise TooMuch
        while words and as_written(words[0]) in KEYWORDS:
            words = words[2 if words[0] == "function" else 1 :]
        if words[:1] in (["for"], ["select"]) and words[2:3] == ["do"]:
            self._variables[words[1]] = UNKNOWN
            words = words[3:]
        self._check(command.targets if words[:1] != ["[["] else ())
        place = programs.place_of_program(words)
        for match in filter(None, map(programs.ASSIGNMENT.fullmatch, words)):
            is_first = match[1] not in self._variables and not match[2]  # else nobody can tell which step is skipped
            is_first = is_first and not any(map(MADE_OTHER.match, words))
            self._is_home_moved |= match[1] == "HOME"
            self._variables[match[1]] = match[3] if is_first and 0 < len(match[3]) < MAX_VALUE else UNKNOWN
        if place == len(words) or programs.name_of(words[place]) in BUILTINS:
            for word in filter(EVALUATED.search, map(as_written, words)):
                self.read_expansions(word)
        if place < len(words):
            self._run(words[: place + 1], words[place + 1 :], command)

    def _run(self, before: Sequence[str], words: Sequence[str], command: Command) -> None:
        """`before`: the words up to the program, with what is assigned and what runs it."""
        called, program = before[-1], programs.name_of(before[-1])
        is_taken = program == "alias" or (program == "oneiros" and "xargs" in before)
        is_taken |= program == "hash" and any(word.startswith("-") and "p" in word for word in words)
        if is_taken or UNKNOWN in called or (PATTERN.search(called) and program not in ("[", "[[")):
            self._unclear("nobody can tell which program it runs", is_program=True)
        if said := person_words(program, words):
            raise Denied(PERSON_DENIED.format(words=said))
        self._variables.update(dict.fromkeys(self._variables.keys() & set(words), UNKNOWN))  # `read D`, `for D in`
        if program in ("cd", "pushd", "popd"):
            to = "".join(programs.operands(words)[:1]) or "~"
            is_known = program != "popd" and to != "-" and UNKNOWN not in to and not self._is_other_home(to)
            self.folder = os.path.join(self.folder, self._guarded.at_home(to)) if is_known else UNKNOWN
        elif program in programs.SHELLS:
            self._check(before[:-1])
            said = " ".join(words if program == "eval" else programs.operands(words))
            self._run_scripts([said, *command.fed], is_fed=command.is_fed)
        else:
            self._check_writes(program, before, words, command)

    def _check_writes(self, program: str, before: Sequence[str], words: Sequence[str], command: Command) -> None:
        for path in programs.replaced(program, words):
            self._guarded.check_whole(path, self.folder)
        paths = programs.written(program, words)
        self._check([*(word for word in before if (paths and "/" in word) or " " in word), *paths])  # A='rm x' man
        if paths[:1] == [programs.ANYTHING] and (
            program not in programs.TEXT or any(map(programs.FED_ORDERS.match, words))
        ):
            if said := person_words("", command.fed):
                raise Denied(PERSON_DENIED.format(words=said))
            self._check(command.fed)
            if command.is_fed or "xargs" in map(programs.name_of, before):
                self._unclear("nobody can tell what it is fed")

    def _run_scripts(self, scripts: Sequence[str], *, is_fed: bool) -> None:
        if is_fed or any(UNKNOWN in script for script in scripts):
            self._unclear("nobody can tell what it runs", is_program=True)
        for script in scripts:
            self.read(as_written(script))

    def _check(self, words: Sequence[str]) -> None:
        """Raises Denied where a word that may be written names the person's, or where nobody can tell."""
        for word in words:
            self._guarded.check_word(word, self.folder)
            if (
                UNKNOWN in word
                or self._is_other_home(word)
                or (UNKNOWN in self.folder and not word.startswith(("/", "~")))
            ):
                self._unclear("nobody can tell what it writes")

    def _is_other_home(self, word: str) -> bool:
        """Whether `~` stands for a folder that nobody can tell."""
        return bool(OTHER_TILDE.match(word)) or (self._is_home_moved and word.startswith("~"))

    def _unclear(self, why: str, *, is_program: bool = False) -> None:
        """Raises Denied where the text names the person's memory, or the program that decides about it."""
        if self._guarded.is_named(self._script, self.folder) or (is_program and OUR_PROGRAM.search(self._script)):
            raise Denied(UNCLEAR.format(why=why))
