"""A shell command taken apart: simple commands with their words, where they write, and what they are fed.

Written by hand, since a hook has the standard library alone: shlex knows no here-document, no `$( )`, no `$'..'` and
not which character was quoted, and bashlex is GPL. It reads what an assistant writes and is no shell: arithmetic and
what `${NAME%..}` comes to are passed over, and `case` patterns are read as words.

A word keeps what the shell would still do with it: what is quoted stands in a private area of Unicode where it would
mean something otherwise, a variable is its name between two marks, and UNKNOWN is what nobody can tell before it runs.
"""

from __future__ import annotations

import itertools
import re

TYPE_CHECKING = False  # as in typing, whose import alone costs a hook more than all it does
if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    Known = Callable[[str], Sequence[str]]  # what a variable may hold; nothing where nobody can tell

MOST_WORDS = 256  # that one word may stand for, by braces and variables
MOST_CHARS = 1 << 16  # of one word
DEEPEST = 12  # substitutions inside each other
UNKNOWN = "\uf8ff"
SPLIT, WHOLE, END = "\ue200", "\ue201", "\ue202"  # around a variable's name; WHOLE within double quotes
GAP = "\ue203"  # between words that come out of a variable
QUOTED = {ord(character): 0xE000 + ord(character) for character in "{}*?[]~"}
PATTERN = {ord(character): 0xE300 + ord(character) for character in "*?["}  # where the shell looks for files
AS_WRITTEN = {value: chr(key) for table in (QUOTED, PATTERN) for key, value in table.items()}
VARIABLE = re.compile(f"([{SPLIT}{WHOLE}])(\\w+){END}")
BRACES = re.compile(r"\{([^{}]*(?:,|\.\.)[^{}]*)\}")
PLAIN = re.compile(r"[^\s\\'\"$`;&|()<>]+")
OPERATOR = re.compile(r"\n|;;&?|;&|;|&&|\|\||\|&|&(?!>)|\||\(|\)")
REDIRECTION = re.compile(r"(?:\d+|\{\w+\})?(?:<<-|<<<|<<|<>|<&|>&|>>?!(?=\s)|>>|>\||<(?!\()|>(?!\())|&>>?")
NAMED = re.compile(r"\$(?:\{(\w+)\}|([A-Za-z_]\w*|[0-9@*#?$!-]))")
C_QUOTED = re.compile(r"\$'((?:[^'\\]|\\.)*)'?", re.DOTALL)
ESCAPES = {"n": "\n", "t": "\t", "e": "\x1b", "a": "\a", "b": "\b", "r": "\r", "f": "\f", "v": "\v"}
CODE = re.compile(r"\\(?:x([0-9A-Fa-f]{1,2})|u([0-9A-Fa-f]{1,4})|U([0-9A-Fa-f]{1,8})|([0-7]{1,3})|(.))", re.DOTALL)


class TooMuch(Exception):
    """A word that stands for too many, or substitutions too deep."""


class Command:
    """One simple command, or the edge of a subshell."""

    __slots__ = ("edge", "fed", "feeds", "targets", "words")

    def __init__(self, edge: str = "") -> None:
        self.edge = edge  # `(` or `)`: what `cd` does in between ends there
        self.words: list[str] = []
        self.targets: list[str] = []  # of redirections that write
        self.fed: list[str] = []  # here-documents and here-strings; a file behind `<` is not opened
        self.feeds = False  # whether the next one reads what this one prints


def commands(text: str) -> list[Command]:
    """The simple commands of a script in order, those of substitutions before the one that holds them."""
    reader = Reader(text.replace("\r\n", "\n"), 0, 0)
    while reader.place < len(reader.text):
        reader.read()
        reader.place += 1  # a parenthesis too many
    return reader.found


def words_of(word: str, known: Known) -> list[str]:
    """What a word stands for, with braces, tilde and variables expanded; patterns are left. Raises TooMuch."""
    found: list[str] = []
    for piece in _braced(word):
        found += itertools.islice(_filled(piece, known), MOST_WORDS + 1)
        if len(found) > MOST_WORDS:
            raise TooMuch
    return [one.translate(PATTERN).translate({code: chr(key) for key, code in QUOTED.items()}) for one in found]


def as_written(word: str) -> str:
    """The characters of a word or a pattern."""
    return word.translate(AS_WRITTEN)


def _braced(word: str) -> list[str]:
    done, waiting = [], [word]
    while waiting:
        one = waiting.pop()
        found = BRACES.search(one)
        if not found:
            done.append(one)
            continue
        parts = found[1].split(",") if "," in found[1] else [UNKNOWN]  # a range such as {1..3}
        waiting += [one[: found.start()] + part + one[found.end() :] for part in reversed(parts)]
        if len(done) + len(waiting) > MOST_WORDS:
            raise TooMuch
    return done


def _filled(word: str, known: Known) -> Iterator[str]:
    if word.startswith("~"):
        name, _, rest = word[1:].partition("/")
        home = next(iter(known("HOME")), UNKNOWN)
        is_own = not name or home.endswith(f"/{name}")
        word = f"{home if is_own else UNKNOWN}/{rest}"
    found = list(VARIABLE.finditer(word))
    if not found:
        yield word
        return
    names = sorted({match[2] for match in found})
    for chosen in itertools.product(*(known(name) or (UNKNOWN,) for name in names)):
        values = dict(zip(names, chosen, strict=True))
        if sum(len(values[match[2]]) for match in found) > MOST_CHARS:
            raise TooMuch
        pieces, at = [], 0
        for match in found:
            value = values[match[2]]
            pieces += [word[at : match.start()], re.sub(r"\s+", GAP, value) if match[1] == SPLIT else value]
            at = match.end()
        yield from filter(None, ("".join(pieces) + word[at:]).split(GAP))


class Reader:
    """Reads simple commands from a place on, up to a parenthesis that closes what it did not open."""

    def __init__(self, text: str, place: int, depth: int) -> None:
        if depth > DEEPEST:
            raise TooMuch
        self.text = text
        self.place = place
        self.found: list[Command] = []
        self._depth = depth
        self._open = 0
        self._command = Command()
        self._due: list[tuple[Command, str, bool]] = []  # here-documents whose text begins on the next line

    def read(self) -> None:
        """Reads on to the end, or to the parenthesis."""
        text = self.text
        while self.place < len(text):
            character = text[self.place]
            if character in " \t\r":
                self.place += 1
            elif text.startswith("\\\n", self.place):
                self.place += 2
            elif character == "#":
                end = text.find("\n", self.place)
                self.place = end if end >= 0 else len(text)
            elif operator := OPERATOR.match(text, self.place):
                if operator[0] == ")" and not self._open:
                    break
                self._end_command(operator[0])
                self.place = operator.end()
                if operator[0] == "\n":
                    self._read_documents()
            elif redirection := REDIRECTION.match(text, self.place):
                self.place = redirection.end()
                self._redirect(redirection[0].lstrip("0123456789"))
            else:
                self._command.words.append(self._word())
        self._end_command("")

    def _end_command(self, operator: str) -> None:
        command = self._command
        command.feeds = operator in ("|", "|&")
        if command.words or command.targets or command.fed or command.feeds:
            self.found.append(command)
        if operator in ("(", ")"):
            self._open += 1 if operator == "(" else -1
            self.found.append(Command(operator))
        self._command = Command()

    def _redirect(self, kind: str) -> None:
        kind = kind.rpartition("}")[2]
        while self.text[self.place : self.place + 1] in (" ", "\t"):
            self.place += 1
        start = self.place
        word = self._word()
        if kind in ("<<", "<<-"):
            is_quoted = any(mark in self.text[start : self.place] for mark in "'\"\\")
            self._due.append(
                (self._command, as_written(word) if not is_quoted else f"{as_written(word)}\0", kind == "<<-")
            )
        elif kind == "<<<":
            self._command.fed.append(as_written(word))
        elif kind == "<":
            self._command.fed.append("")
        elif kind != "<&" and not (kind == ">&" and (word.isdecimal() or word == "-")):
            self._command.targets.append(word)

    def _read_documents(self) -> None:
        for command, ending, is_indented in self._due:
            lines = []
            while self.place < len(self.text):
                end = self.text.find("\n", self.place)
                end = end if end >= 0 else len(self.text)
                line = self.text[self.place : end]
                self.place = end + 1
                if (line.lstrip("\t") if is_indented else line) == ending.rstrip("\0"):
                    break
                lines.append(line)
            body = "\n".join(lines)
            command.fed.append(body)
            if not ending.endswith("\0"):
                self._read_inner(body)
        self._due = []

    def _read_inner(self, body: str) -> None:
        """The commands of the substitutions in a text that is otherwise data."""
        for found in re.finditer(r"\$\((?!\()|`", body):
            if found[0] == "`":
                self._nested(body[found.end() : body.find("`", found.end())])
            else:
                inner = Reader(body, found.end(), self._depth + 1)
                inner.read()
                self.found += inner.found

    def _word(self) -> str:
        text, start = self.text, self.place
        parts: list[str] = []
        while self.place < len(text):
            character = text[self.place]
            if run := PLAIN.match(text, self.place):
                parts.append(run[0])
                self.place = run.end()
            elif character == "\\":
                escaped = text[self.place + 1 : self.place + 2]
                parts.append("" if escaped == "\n" else escaped.translate(QUOTED))
                self.place += 2
            elif character == "'":
                parts.append(self._until("'").translate(QUOTED))
            elif character == '"':
                parts.append(self._double_quoted())
            elif character == "$":
                parts.append(self._dollar(is_quoted=False))
            elif character == "`":
                self._nested(self._until("`").replace("\\`", "`"))
                parts.append(UNKNOWN)
            elif text.startswith(("<(", ">("), self.place) and not parts:
                parts.append(self._substitution(self.place + 2))
            else:
                break
        if self.place == start:
            self.place += 1  # what begins no word must not stop the reader
        return "".join(parts)

    def _until(self, mark: str) -> str:
        start = self.place + 1
        end = self.text.find(mark, start)
        while mark == "`" and end > 0 and self.text[end - 1] == "\\":
            end = self.text.find(mark, end + 1)
        end = end if end >= 0 else len(self.text)
        self.place = end + 1
        return self.text[start:end]

    def _double_quoted(self) -> str:
        text, parts = self.text, []
        self.place += 1
        while self.place < len(text) and text[self.place] != '"':
            character = text[self.place]
            if character == "\\" and text[self.place + 1 : self.place + 2] in ('"', "\\", "$", "`", "\n"):
                parts.append(text[self.place + 1].strip("\n").translate(QUOTED))
                self.place += 2
            elif character == "$":
                parts.append(self._dollar(is_quoted=True))
            elif character == "`":
                self._nested(self._until("`").replace("\\`", "`"))
                parts.append(UNKNOWN)
            else:
                parts.append(character.translate(QUOTED))
                self.place += 1
        self.place += 1
        return "".join(parts)

    def _dollar(self, *, is_quoted: bool) -> str:
        text = self.text
        if not is_quoted and text.startswith("$'", self.place):
            return self._c_quoted()
        if not is_quoted and text.startswith('$"', self.place):
            self.place += 1
            return self._double_quoted()
        if named := NAMED.match(text, self.place):
            self.place = named.end()
            name = named[1] or named[2]
            return f"{WHOLE if is_quoted else SPLIT}{name}{END}" if name.isidentifier() else UNKNOWN
        if text.startswith("$((", self.place):
            start, end = self.place + 3, text.find("))", self.place)
            self.place = end + 2 if end >= 0 else len(text)
            self._read_inner(text[start : self.place])
            return UNKNOWN
        if text.startswith("$(", self.place):
            return self._substitution(self.place + 2)
        if text.startswith("${", self.place):
            return self._parameter()
        self.place += 1
        return "$"

    def _parameter(self) -> str:
        """`${NAME...}`, which is known only where a plain name stands in it."""
        depth, start = 0, self.place
        while self.place < len(self.text):
            depth += {"{": 1, "}": -1}.get(self.text[self.place], 0)
            self.place += 1
            if depth == 0:
                break
        self._read_inner(self.text[start + 2 : self.place])
        return UNKNOWN

    def _c_quoted(self) -> str:
        found = C_QUOTED.match(self.text, self.place)
        assert found is not None, "the caller saw its beginning"
        self.place = found.end()
        return CODE.sub(_decoded, found[1]).translate(QUOTED)

    def _substitution(self, start: int) -> str:
        inner = Reader(self.text, start, self._depth + 1)
        inner.read()
        self._hold(inner.found)
        self.place = inner.place + 1
        return UNKNOWN

    def _nested(self, script: str) -> None:
        inner = Reader(script, 0, self._depth + 1)
        inner.read()
        self._hold(inner.found)

    def _hold(self, found: list[Command]) -> None:
        self.found += [Command("("), *found, Command(")")]


def _decoded(match: re.Match[str]) -> str:
    if digits := match[1] or match[2] or match[3]:
        return chr(min(int(digits, 16), 0x10FFFF))
    return chr(int(match[4], 8)) if match[4] else ESCAPES.get(match[5], match[5])
