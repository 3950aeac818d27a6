"""A shell command taken apart: simple commands with their words, where they write, and what they are fed.

Written by hand, since a hook has the standard library alone: shlex knows no here-document, no `$( )` and not which
character was quoted, and bashlex is GPL. It is no shell: what it does not know (`${NAME%..}`, `$'\\x72'`, `{1..3}`,
what a substitution prints) becomes UNKNOWN, and whoever judges the command decides what that means.
"""

from __future__ import annotations

import re

TYPE_CHECKING = False  # as in typing, whose import alone costs a hook more than all it does
if TYPE_CHECKING:
    from typing import Protocol

    class Shell(Protocol):
        """What is told of each step, in the order in which a shell comes to it."""

        def known(self, name: str) -> str: ...  # what a variable holds; UNKNOWN where nobody can tell
        def step(self, command: Command) -> None: ...
        def enter(self) -> None: ...  # a subshell: what `cd` does in it ends with it
        def leave(self) -> None: ...
        def unclear(self, why: str) -> None: ...


MOST_WORDS = 256  # that braces may make of one
DEEPEST = 12  # parentheses inside each other
UNKNOWN = "\uf8ff"
GAP = "\ue200"  # between words that come out of one variable
MARKED = {ord(character): 0xE000 + ord(character) for character in "*?[{"}  # where it is not quoted
AS_WRITTEN = {mark: chr(key) for key, mark in MARKED.items()}
PATTERN = re.compile("[" + "*?[".translate(MARKED) + "]")
BRACES = re.compile("{".translate(MARKED) + r"([^{}]*(?:,|\.\.)[^{}]*)\}")
SKIPPED = re.compile(r"(?:[ \t\r]|\\\n|#[^\n]*)+")
OPERATOR = re.compile(r"\n|;;?&?|&&|\|\||\|&?|&|\(|\)")
REDIRECTION = re.compile(r"(?:\d+|\{\w+\})?(<<<|<<-?|<>|<&|<(?!\()|>&|>\||>>?!?(?!\())|(&>>?)")
PLAIN = re.compile(r"[^\s\\'\"$`;&|()<>]+")
IN_QUOTES = re.compile(r"(?:[^\"\\$`]|\\.)+", re.DOTALL)
NESTED = re.compile(r"[$<>]\(")
NAMED = re.compile(r"\$(?:\{([A-Za-z_]\w*)\}|([A-Za-z_]\w*))")
PARAMETER = re.compile(r"\$(?:\{[#!]?\w*|[0-9@*#?$!-])")  # the rest up to the brace is read as words
C_QUOTED = re.compile(r"\$'((?:[^'\\]|\\.)*)'?", re.DOTALL)


class TooMuch(Exception):
    """A word that stands for too many, or parentheses too deep."""


class Command:
    """One simple command."""

    __slots__ = ("fed", "is_fed", "targets", "words")

    def __init__(self, *, is_fed: bool) -> None:
        self.words: list[str] = []
        self.targets: list[str] = []  # of redirections that write
        self.fed: list[str] = []  # here-documents and here-strings; a file behind `<` is not opened
        self.is_fed = is_fed  # whether a pipe leads into it


class Reader:
    """Reads a script up to its end, or up to the parenthesis that closes what it began in."""

    def __init__(self, text: str, shell: Shell, place: int = 0, depth: int = 0, *, is_fed: bool = False) -> None:
        if depth > DEEPEST:
            raise TooMuch
        self.text = text
        self.place = place
        self._shell = shell
        self._depth = depth
        self._is_fed = is_fed
        self._command = Command(is_fed=is_fed)

    def read(self) -> None:
        """Tells the shell of each command, those of a substitution before the one that holds it."""
        operator = ""
        while self.place < len(self.text) and not (operator == ")" and self._depth):
            operator = ""
            if skipped := SKIPPED.match(self.text, self.place):
                self.place = skipped.end()
            elif redirection := REDIRECTION.match(self.text, self.place):
                self.place = redirection.end()
                self._redirect(redirection[1] or redirection[2])
            elif found := OPERATOR.match(self.text, self.place):
                operator = found[0]
                self.place = found.end()
                self._end_command(operator)
            else:
                self._command.words += self._words()
        self._end_command("")

    def _end_command(self, operator: str) -> None:
        command, is_fed = self._command, self._command.is_fed
        if command.words or command.targets or command.fed:
            self._shell.step(command)
        self._command = Command(is_fed=self._is_fed or operator in ("|", "|&"))
        if operator == "(":
            self._inside(is_fed=is_fed)

    def _inside(self, *, is_fed: bool = False) -> None:
        """Reads what stands in parentheses; the place is behind the first."""
        self._shell.enter()
        inner = Reader(self.text, self._shell, self.place, self._depth + 1, is_fed=is_fed)
        inner.read()
        self.text, self.place = inner.text, inner.place  # without the here-documents that were read
        self._shell.leave()

    def _redirect(self, kind: str) -> None:
        if skipped := SKIPPED.match(self.text, self.place):
            self.place = skipped.end()
        start = self.place
        word = "".join(self._words())
        if kind in ("<<", "<<-"):
            is_quoted = any(mark in self.text[start : self.place] for mark in "'\"\\")
            body = self._document(word, "\t*" if kind == "<<-" else "")
            if not is_quoted and ("$(" in body or "`" in body):
                self._shell.unclear("a here-document in it runs commands")
            self._command.fed.append(body)
        elif kind == "<<<":
            self._command.fed.append(word)
        elif kind not in ("<", "<&") and not (kind == ">&" and (word.isdecimal() or word == "-")):
            self._command.targets.append(word)

    def _document(self, ending: str, indent: str) -> str:
        """Cuts a here-document out of the text behind this line."""
        start = self.text.find("\n", self.place) + 1 or len(self.text)
        found = re.compile(f"^{indent}{re.escape(ending)}$", re.MULTILINE).search(self.text, start)
        body = self.text[start : found.start() if found else len(self.text)]
        self.text = self.text[:start] + (self.text[found.end() + 1 :] if found else "")
        return body

    def _words(self) -> list[str]:
        start, parts = self.place, []
        while self.place < len(self.text):
            character = self.text[self.place]
            if run := PLAIN.match(self.text, self.place):
                parts.append(run[0].translate(MARKED))
                self.place = run.end()
            elif character == "\\":
                parts.append(self.text[self.place + 1 : self.place + 2].strip("\n"))
                self.place += 2
            elif character == "'":
                parts.append(self._until("'"))
            elif character == '"':
                parts.append(self._double_quoted())
            elif character in "$`" or NESTED.match(self.text, self.place):
                parts.append(re.sub(r"^$|\s+", GAP, self._expanded()))
            else:
                break
        self.place += self.place == start  # what begins no word must not stop the reader
        split = "".join(parts).split(GAP)
        return [word for part in split if part or len(split) == 1 for word in _braced(part)]

    def _until(self, mark: str) -> str:
        start = self.place + 1
        end = self.text.find(mark, start)
        self.place = end + 1 if end >= 0 else len(self.text)
        return self.text[start : self.place - (end >= 0)]

    def _double_quoted(self) -> str:
        parts = []
        self.place += 1
        while self.place < len(self.text) and self.text[self.place] != '"':
            if run := IN_QUOTES.match(self.text, self.place):
                parts.append(re.sub(r'\\(["\\$`\n])', lambda found: found[1].strip("\n"), run[0]))
                self.place = run.end()
            elif self.text[self.place] == "\\":
                self.place += 1
            else:
                parts.append(self._expanded(is_quoted=True))
        self.place += 1
        return "".join(parts)

    def _expanded(self, *, is_quoted: bool = False) -> str:
        """What a `$`, a backquote or `<(` stands for."""
        text = self.text
        if text[self.place] == "`":
            self._shell.enter()
            Reader(self._until("`"), self._shell, 0, self._depth + 1).read()
            self._shell.leave()
        elif NESTED.match(text, self.place):
            self.place += 2
            self._inside()
        elif not is_quoted and (found := C_QUOTED.match(text, self.place)):
            self.place = found.end()
            return found[1] if "\\" not in found[1] else UNKNOWN
        elif found := NAMED.match(text, self.place):
            self.place = found.end()
            return self._shell.known(found[1] or found[2])
        elif found := PARAMETER.match(text, self.place):
            self.place = found.end()
        else:
            self.place += 1
            return "" if text.startswith('"', self.place) and not is_quoted else "$"
        return UNKNOWN


def as_written(word: str) -> str:
    """The characters of a word or a pattern."""
    return word.translate(AS_WRITTEN)


def _braced(word: str) -> list[str]:
    """What braces make of a word. Raises TooMuch."""
    done, waiting = [], [word]
    while waiting:
        one = waiting.pop()
        if found := BRACES.search(one):
            parts = found[1].split(",") if "," in found[1] else [UNKNOWN]  # a range such as {1..3}
            waiting += [one[: found.start()] + part + one[found.end() :] for part in reversed(parts)]
        else:
            done.append(one)
        if len(done) + len(waiting) > MOST_WORDS:
            raise TooMuch
    return done
