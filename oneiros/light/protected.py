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

from oneiros.light.guarded import Denied, Guarded
from oneiros.light.person_only import PERSON_DENIED, person_words
from oneiros.light.programs import (
    ASSIGNMENT,
    READING,
    SHELLS,
    TEXT,
    name_of,
    operands,
    place_of_program,
    replaced,
    written,
)
from oneiros.light.shell import PATTERN, UNKNOWN, Command, Reader, TooMuch, as_written

TYPE_CHECKING = False  # as in typing, whose import alone costs a hook more than all it does
if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

EDITORS = {"Edit": "file_path", "MultiEdit": "file_path", "Write": "file_path", "NotebookEdit": "notebook_path"}
MAX_CHARS = 1 << 15  # of a command that names anything of ours; an ordinary one has a few thousand at most
DEEPEST = 4  # scripts inside each other
MOST_WORDS = 5_000  # in one command, a fifth of a second
KEYWORDS = frozenset("then do else elif if while until ! { } coproc function".split())
DECLARING = frozenset("export local declare typeset readonly".split())
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
    try:
        if tool == "Bash":
            Script(guarded, folder, variables, subject.replace("\r\n", "\n")).run()
        else:
            guarded.check_file(subject, folder)
    except Denied as reason:
        return str(reason)
    return ""


class Script:
    """Is told the steps of a script in their order, and raises Denied at the first that may not be."""

    def __init__(self, guarded: Guarded, folder: str, variables: Mapping[str, str], text: str) -> None:
        self._guarded = guarded
        self._variables = dict(variables)
        self._changed: set[str] = set()
        self._folder = folder
        self._outside: list[str] = []  # the folder before each parenthesis
        self._text = text
        self._count = 0  # of words
        self._depth = 0

    def run(self) -> None:
        """Raises Denied."""
        try:
            self._read(self._text)
        except (TooMuch, RecursionError):
            self.unclear("it is too long, or stands for too much")

    def _read(self, text: str) -> None:
        if len(text) > MAX_CHARS or self._depth > DEEPEST:
            raise TooMuch
        Reader(text, self).read()

    def known(self, name: str) -> str:
        return self._folder if name == "PWD" else self._variables.get(name, UNKNOWN)

    def enter(self) -> None:
        self._outside.append(self._folder)

    def leave(self) -> None:
        self._folder = self._outside.pop()

    def unclear(self, why: str, *, is_program: bool = False) -> None:
        """Raises Denied where the text names the person's memory, or the program that decides about it."""
        if self._guarded.is_named(self._text, self._folder) or (is_program and OUR_PROGRAM.search(self._text)):
            raise Denied(UNCLEAR.format(why=why))

    def step(self, command: Command) -> None:
        self._count += len(command.words)
        if self._count > MOST_WORDS:
            raise TooMuch
        words = command.words
        while words and words[0] in KEYWORDS:
            words = words[1:]
        for target in command.targets if words[:1] != ["[["] else ():
            self._check(target)
        place = place_of_program(words)
        self._assign(words[1:] if words[:1] and words[0] in DECLARING else words[: place if place == len(words) else 0])
        if place < len(words):
            self._judge(words[:place], words[place], words[place + 1 :], command)

    def _assign(self, words: Sequence[str]) -> None:
        """A variable is known that was given one value, since no step is known to be skipped."""
        for match in filter(None, map(ASSIGNMENT.fullmatch, words)):
            self._variables[match[1]] = UNKNOWN if match[1] in self._changed or match[2] else match[3] or UNKNOWN
            self._changed.add(match[1])

    def _judge(self, before: Sequence[str], called: str, words: Sequence[str], command: Command) -> None:
        program = name_of(called)
        if UNKNOWN in called or program == "alias" or (PATTERN.search(called) and program not in ("[", "[[")):
            self.unclear("nobody can tell which program it runs", is_program=True)
        if said := person_words(program, words):
            raise Denied(PERSON_DENIED.format(words=said))
        for word in set(words) & self._variables.keys():  # `read D`, `for D in`, `unset D`
            self._variables[word] = UNKNOWN
        if program in ("cd", "pushd", "popd"):
            self._change_folder(program, operands(words))
        elif program in SHELLS:
            self._run_scripts([" ".join(words if program == "eval" else operands(words)), *command.fed], command)
            self._check_all(before)
        else:
            for path in replaced(program, words):
                self._guarded.check_whole(path, self._folder)
            if paths := written(program, words):
                self._check_all([*before, *paths])
            if paths[:1] == ["./"] and (program not in TEXT or {"apply", "am"} & set(words)):
                self._check_fed(before, command)
            self._check_all([word for word in before if " " in word])  # PAGER='rm -r x' man

    def _check_fed(self, before: Sequence[str], command: Command) -> None:
        for text in command.fed:
            if said := person_words("", [text]):
                raise Denied(PERSON_DENIED.format(words=said))
            self._check(text)
        if command.is_fed or "xargs" in map(name_of, before):
            self.unclear("nobody can tell what it is fed")

    def _run_scripts(self, scripts: Sequence[str], command: Command) -> None:
        if command.is_fed or any(UNKNOWN in script for script in scripts):
            self.unclear("nobody can tell what it runs", is_program=True)
        self._depth += 1
        for script in scripts:
            self._read(as_written(script))
        self._depth -= 1

    def _change_folder(self, program: str, where: Sequence[str]) -> None:
        is_unknown = program == "popd" or where[:1] == ["-"]
        to = UNKNOWN if is_unknown else "".join(where[:1]).replace("~", self._guarded.home, 1) or self._guarded.home
        self._folder = UNKNOWN if to.startswith(UNKNOWN) else os.path.join(self._folder, to)

    def _check_all(self, words: Sequence[str]) -> None:
        for word in words:
            self._check(word)

    def _check(self, word: str) -> None:
        """Raises Denied where a word that may be written names the person's, or where nobody can tell."""
        self._guarded.check_word(word, self._folder)
        whole = word if word.startswith(UNKNOWN) else os.path.join(self._folder, word)
        if UNKNOWN in whole and self._guarded.may_begin(whole.partition(UNKNOWN)[0], "/"):
            self.unclear("nobody can tell what it writes")
