"""What a tool of the assistant may not do: write what is the person's, or run a command by which a person decides.

Decided without a daemon, on the standard library alone, in front of every editing tool and shell command. It keeps an
assistant on the path through proposals; it is no wall against a program that means harm, which `docs/security.md`
says, and why every session start names the changes that no acceptance explains.

A command that names nothing of the person's is none of its business. One that does is denied also where it cannot be
told what it writes.
"""

from __future__ import annotations

import os
import re

from oneiros.light.guarded import Denied, Guarded, has_pattern
from oneiros.light.person_only import PERSON_COMMANDS, PERSON_SETTINGS
from oneiros.light.programs import (
    BETWEEN,
    DECLARING,
    DEFINING,
    FILLING,
    INTERPRETERS,
    KEYWORDS,
    READING,
    RUNNERS,
    SHELLS,
    TAKING,
    TEXT,
    operands,
    option_values,
    takes_scripts,
    written,
)
from oneiros.light.shell import MOST_WORDS, UNKNOWN, Command, TooMuch, as_written, commands, words_of

TYPE_CHECKING = False  # as in typing, whose import alone costs a hook more than all it does
if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

EDITORS = {"Edit": "file_path", "MultiEdit": "file_path", "Write": "file_path", "NotebookEdit": "notebook_path"}
MAX_CHARS = 1 << 15  # of a command that names anything of ours; an ordinary one has a few thousand at most
DEEPEST = 4  # scripts inside each other
MOST_CHECKS = 5_000  # of paths in one command, a fifth of a second
MOST_LINKS = 16  # that one command makes
ASSIGNMENT = re.compile(r"(\w+)(\+?)=(.*)", re.DOTALL)
VALUE = re.compile(r"(?:[\w.-]+=)+!?")  # what stands before a script in a word
CHANGED = re.compile(r"^(?:\+\+\+|---) (?:[ab]/)?(\S+)", re.MULTILINE)  # the files of a diff
MODULE = re.compile(r"oneiros(?:\.[\w.]+)?")
ALONE = "|".join(sorted(PERSON_COMMANDS))
DECIDES = re.compile(rf"\bdream\.decisions\b|[\"'](?:{ALONE})[\"']|\boneiros (?:dream )?(?:{ALONE})\b")

PERSON_DENIED = "`{words}` is for the person alone. Tell them to run it in a terminal of their own."
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
            Script(guarded, folder, variables, subject).run()
        else:
            guarded.check("file", subject, os.path.join(folder, guarded.at_home(subject)))
    except Denied as reason:
        return str(reason)
    return ""


class Script:
    """Goes through a script as the shell would, and raises Denied at the first step that may not be."""

    def __init__(self, guarded: Guarded, folder: str, variables: Mapping[str, str], text: str) -> None:
        self._guarded = guarded
        self._variables = variables
        self._set: dict[str, tuple[str, ...]] = {}
        self._aliases: dict[str, str] = {}
        self._links: dict[str, str] = {}
        self._folder = self._before = folder
        self._fed: list[str] = []  # what earlier steps of the pipeline print, as far as it stands in their words
        self._is_fed = False
        self._outside: list[tuple[str, list[str], bool]] = []  # folder, and what is fed, before each parenthesis
        self._text = text
        self._whole = text  # the script that holds this one
        self._named: dict[str, bool] = {}  # whether the text names what is guarded, by the folder it is read in
        self._depth = 0

    def run(self) -> None:
        """Raises Denied."""
        try:
            self._go_through()
        except (TooMuch, RecursionError):
            self._unclear("it is too long, or stands for too much")

    def _go_through(self) -> None:
        if len(self._text) > MAX_CHARS or self._depth > DEEPEST:
            raise TooMuch
        for command in commands(self._text):
            self._step(command)

    def _step(self, command: Command) -> None:
        if command.edge == "(":
            self._outside.append((self._folder, self._fed, self._is_fed))
        elif command.edge == ")" and self._outside:
            self._folder, self._fed, self._is_fed = self._outside.pop()
        elif not command.edge:
            words = self._prepared(command.words)
            for target in command.targets if command.words[:1] != ["[["] else ():
                for word in words_of(target, self._known):
                    self._check("file", word)
            if words:
                self._run(words, command.fed)
            if command.feeds:
                self._fed, self._is_fed = [*self._fed, *command.fed, *_printed(words)], True
                if len(self._fed) > MOST_WORDS:
                    raise TooMuch
            else:
                _, self._fed, self._is_fed = self._outside[-1] if self._outside else ("", [], False)

    def _known(self, name: str) -> Sequence[str]:
        """Whatever a variable may hold: no step is known to be skipped."""
        if name in ("PWD", "_", "OLDPWD"):
            return (self._folder,) if name == "PWD" else ()
        return self._set.get(name) or ((self._variables[name],) if name in self._variables else ())

    def _assign(self, name: str, values: Sequence[str]) -> None:
        self._set[name] = tuple(dict.fromkeys((*self._set.get(name, ()), *values)))
        if len(self._set[name]) > MOST_WORDS:
            raise TooMuch

    def _prepared(self, raw: Sequence[str]) -> list[str]:
        """The words behind keywords; what they assign is remembered."""
        while raw and raw[0] in KEYWORDS:
            raw = raw[2:] if raw[0] == "function" else raw[1:]
        if raw[:1] == ["for"] and len(raw) > 2:
            self._assign(raw[1], [word for one in raw[3:] for word in words_of(one, self._known)])
        is_declared = raw[:1] and raw[0] in DECLARING
        assigned = [match for word in raw[bool(is_declared) :] if (match := ASSIGNMENT.fullmatch(word))]
        if is_declared or len(assigned) == len(raw):
            for name, is_added, value in (match.groups() for match in assigned):
                before = self._known(name) if is_added else ("",)
                self._assign(name, [old + one for old in before for one in words_of(value, self._known)])
        return [word for one in raw for word in words_of(one, self._known)]

    def _run(self, words: list[str], fed: Sequence[str]) -> None:
        words, runner = self._behind_runners(words)
        if not words:
            return
        if words[0] in self._aliases:
            words = [*self._aliases[words[0]].split(), *words[1:]]
        program, rest = os.path.basename(as_written(words[0])), words[1:]
        if runner in TAKING:
            taken = " ".join([*fed, *self._fed]).split()
            rest = [word.replace("{}", " ".join(taken)) for word in rest] + taken
        if UNKNOWN in words[0] or (has_pattern(words[0]) and program not in ("[", "[[")):
            self._unclear("nobody can tell which program it runs")
        if program in ("cd", "pushd", "popd"):
            self._change_folder(program, operands(rest))
            return
        if said := person_words(program, rest):
            raise Denied(PERSON_DENIED.format(words=said))
        self._look_inside(program, rest, [*fed, *self._fed])
        for kind, path in written(program, rest):
            self._check(kind, path)
        if program == "ln" and len(ends := [self._joined(word) for word in operands(rest)]) == 2:
            self._links[ends[1]] = ends[0]
            if len(self._links) > MOST_LINKS:
                raise TooMuch

    def _behind_runners(self, words: list[str]) -> tuple[list[str], str]:
        """The words from the program on that is run in the end, and what runs it."""
        runner = ""
        while words:
            name = os.path.basename(as_written(words[0]))
            if match := ASSIGNMENT.fullmatch(words[0]):
                if match[1] in ("GIT_DIR", "GIT_WORK_TREE"):
                    self._check("into", match[3])
                if " " in match[3] and not all(map(ASSIGNMENT.fullmatch, words)):
                    self._inner(match[3].lstrip("|! "))
            elif name in RUNNERS:
                runner = name
            else:
                break
            words = self._behind_options(words[1:], RUNNERS.get(name, ""))
        return words, runner

    def _behind_options(self, words: list[str], with_word: str) -> list[str]:
        while words and (words[0].startswith("-") or words[0][:1].isdigit()):
            option, words = words[0], words[1:]
            for value in option_values([option, *words[:1]], "C" if "C" in with_word else "", "chdir"):
                self._change_folder("cd", [value])
            if option in ("-S", "--split-string"):
                self._inner(" ".join(words))
            if len(option) == 2 and option[1] in with_word:
                words = words[1:]
        return words

    def _change_folder(self, program: str, where: Sequence[str]) -> None:
        to = self._before if program == "popd" or where[:1] == ["-"] else "".join(where[:1]) or self._guarded.home
        self._before, self._folder = self._folder, self._joined(to)

    def _look_inside(self, program: str, rest: Sequence[str], fed: Sequence[str]) -> None:
        """Scripts and programs that a command brings in its words or is fed."""
        if program == "eval":
            self._inner(" ".join(rest))
        elif program in SHELLS:
            for script in fed:
                self._inner(script)
            if any(word.startswith(UNKNOWN) for word in (*rest, *fed)) or (self._is_fed and not operands(rest)):
                self._unclear("nobody can tell what it runs")
        elif INTERPRETERS.fullmatch(program):
            for code in [*(word for word in rest if BETWEEN.search(word)), *fed]:
                if ("oneiros" in code or "dream" in code) and (found := DECIDES.search(code)):
                    raise Denied(PERSON_DENIED.format(words="oneiros " + found[0].split()[-1].strip("\"'")))
                if self._guarded.is_named(code, self._folder):
                    self._unclear("a program inside it does what the guard cannot read")
        elif program == "patch" or (program == "git" and {"apply", "am"} & set(rest)):
            for name in CHANGED.findall("\n".join(fed)):
                self._check("file", name)
        elif program in FILLING:
            self._set |= {name: (UNKNOWN,) for name in rest if name.isidentifier()}
        elif program == "alias":
            self._aliases |= {match[1]: match[3] for word in rest if (match := ASSIGNMENT.fullmatch(word))}
        if program in DEFINING or takes_scripts(program) or (program == "git" and "-c" in rest):
            for word in rest:
                if " " in word:
                    self._inner(VALUE.sub("", word))

    def _inner(self, script: str) -> None:
        inner = Script(self._guarded, self._folder, self._variables, as_written(script))
        inner._set, inner._links, inner._depth = dict(self._set), dict(self._links), self._depth + 1
        inner._whole = self._whole
        inner._go_through()

    def _check(self, kind: str, path: str) -> None:
        """Raises Denied where a write touches what is guarded, or where nobody can tell and it is named."""
        self._guarded.checks += 1
        if self._guarded.checks > MOST_CHECKS:
            raise TooMuch
        whole = self._joined(path)
        if UNKNOWN not in whole:
            self._guarded.check(kind, path, whole)
        elif kind not in ("given", "piece") and self._guarded.may_be_in(whole.partition(UNKNOWN)[0]):
            self._unclear("nobody can tell where it writes")

    def _joined(self, path: str) -> str:
        """From the folder in which the script is; what begins unknown may begin with `/`."""
        path = self._guarded.at_home(path)
        whole = path if path.startswith(UNKNOWN) else os.path.join(self._folder, path)
        for link, place in self._links.items():
            whole = place + whole[len(link) :] if f"{whole}/".startswith(f"{link}/") else whole
        return whole

    def _unclear(self, why: str) -> None:
        if self._folder not in self._named:
            self._named[self._folder] = self._guarded.is_named(self._whole, self._folder)
        if self._named[self._folder]:
            raise Denied(UNCLEAR.format(why=why))


def person_words(program: str, words: Sequence[str]) -> str:
    """The words of a command that is for the person alone; empty where it is none."""
    if program == "claude" and {"disable", "uninstall", "remove"} & set(words) and "oneiros" in " ".join(words):
        return "claude plugin"
    behind = _behind_oneiros(program, words)
    said = operands(behind)
    if program != "oneiros" or said[:1] == ["dream"]:  # `tmux send-keys oneiros Space review`, `dream --since x apply`
        said = [word for word in said if word in PERSON_COMMANDS] or said
    options = set(behind) if "--" not in behind else set()
    if not said or options & {"--help", "-h"} or ("--dry-run" in options and said[0] in ("forget", "uninstall")):
        return ""
    is_theirs = (
        said[0] in PERSON_COMMANDS
        or said[0] == "uninstall"  # it asks, and takes their settings and state away
        or said[0].startswith(UNKNOWN)
        or (said[0] == "init" and len(said) > 1)
        or (said[0] == "config" and len(said) > 2 and said[1] in PERSON_SETTINGS)
    )
    return " ".join(("oneiros", *said[: 2 if said[0] == "config" else 1])) if is_theirs else ""


def _behind_oneiros(program: str, words: Sequence[str]) -> Sequence[str]:
    if program == "oneiros":
        return words
    for place, word in enumerate(words if program not in READING | TEXT else ()):
        is_module = MODULE.fullmatch(word.removeprefix("-m")) and "-m" in (word[:2], words[place - 1] if place else "")
        if word == "oneiros" or word.endswith("/bin/oneiros") or is_module:
            return words[place + 1 :]
    return ()


def _printed(words: Sequence[str]) -> list[str]:
    """What a command prints, as far as its words tell: a text; UNKNOWN where they do not."""
    program = words[0] if words else ""
    if program == "find":
        return [path for _, path in written("find", [*words[1:], "-delete"])]
    if program in ("echo", "printf"):
        return [" ".join(operands(words[1:]))]
    return [] if program == "cat" and len(words) == 1 else [" ".join((UNKNOWN, *words[1:]))]
