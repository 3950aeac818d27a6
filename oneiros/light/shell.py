"""A shell command taken apart: simple commands with their words, where they write, and what they are fed.

Written by hand, since a hook has the standard library alone: shlex knows no here-document, no `$( )` and not which
character was quoted, and bashlex is GPL. It is no shell: what it does not know (`${NAME%..}`, `$'\\x72'`, `{a,b}`,
what a substitution prints) becomes UNKNOWN, and whoever judges the command decides what that means.
"""

from __future__ import annotations

import re

DEEPEST = 12  # parentheses and scripts inside each other
MOST_DOCUMENTS = 50  # of one script
UNKNOWN = "\uf8ff"
GAP = "\ue200"  # between words that come out of one variable
MARKED = {ord(character): 0xE000 + ord(character) for character in "*?[{"}  # where it is not quoted
AS_WRITTEN = {mark: chr(key) for key, mark in MARKED.items()}
PATTERN = re.compile("[" + "*?[".translate(MARKED) + "]")
BRACES = re.compile("{".translate(MARKED) + r"[^{}]*(?:,|\.\.)[^{}]*\}")
SKIPPED = re.compile(r"(?:[ \t\r]|\\\n|#[^\n]*)+")
OPERATOR = re.compile(r"\n|;;?&?|&&|\|\||\|&?|&|\(|\)")
REDIRECTION = re.compile(r"(?:\d+|\{\w+\})?(<<<|<<-?|<>|<&|<(?!\()|>&|>\||>>?!?(?!\())|(&>>?)")
PLAIN = re.compile(r"[^\s\\'\"$`;&|()<>]+")
IN_QUOTES = re.compile(r"(?:[^\"\\$`]|\\.)+|\\", re.DOTALL)
IN_DOCUMENT = re.compile(r"(?:[^\\$`]|\\.)+|\\", re.DOTALL)
IN_BACKQUOTES = re.compile(r"`((?:[^\\`]|\\.)*)`?", re.DOTALL)
NESTED = re.compile(r"[$<>]\(")
NAMED = re.compile(r"\$(?:\{([A-Za-z_]\w*)\}|([A-Za-z_]\w*))")
PARAMETER = re.compile(r"\$[0-9@*#?$!-]")
BRACED = re.compile(r"\$(?:\{[#!]?(?:\w+|[@*#?$!-])?|\[)")  # up to what is done with the value; `$[` calculates
UNQUOTED = re.compile(r"[^\\'\"$`}\]]+")
C_QUOTED = re.compile(r"\$'(?:[^'\\]|\\.)*'?", re.DOTALL)


class TooMuch(Exception):
    """Too long, too many words, or parentheses too deep."""


class Command:
    """One simple command."""

    def __init__(self, *, is_fed: bool) -> None:
        self.words: list[str] = []
        self.targets: list[str] = []  # of redirections that write
        self.fed: list[str] = []  # here-documents and here-strings; a file behind `<` is not opened
        self.is_fed = is_fed  # whether a pipe leads into it


class Reader:
    """Reads scripts, and takes each step in the order in which a shell comes to it."""

    def __init__(self, folder: str) -> None:
        self.folder = folder  # what `cd` does in parentheses ends with them
        self.depth = 0
        self._text, self._place = "", 0
        self._documents = 0  # here-documents so far: for each the rest of its line is read again
        self._command = Command(is_fed=False)

    def step(self, command: Command) -> None:
        """Takes one simple command, those of a substitution before the one that holds it."""

    def known(self, name: str) -> str:  # noqa: ARG002
        """What a variable holds; UNKNOWN where nobody can tell."""
        return UNKNOWN

    def read(self, text: str) -> None:
        """Reads a script, which may stand inside of another. Raises TooMuch."""
        outer = self._text, self._place
        self._text, self._place = text, 0
        while self._place < len(self._text):  # a parenthesis too many does not end it
            self._read_inside(is_fed=False)
        self._text, self._place = outer

    def _read_inside(self, *, is_fed: bool) -> None:
        """Reads on to the end, or to the parenthesis that closes what was opened before this place."""
        command, folder = self._command, self.folder
        self._command = Command(is_fed=is_fed)
        self.depth += 1
        if self.depth > DEEPEST:
            raise TooMuch
        is_open = True
        while self._place < len(self._text) and is_open:
            if redirection := self._skip(REDIRECTION):
                self._redirect(redirection[1] or redirection[2])
            elif operator := self._skip(OPERATOR):
                self._end_command(operator[0], is_fed=is_fed)
                is_open = operator[0] != ")"
            elif not self._skip(SKIPPED):
                self._command.words += self._words()
        self._end_command("", is_fed=is_fed)
        self.depth -= 1
        self._command, self.folder = command, folder

    def _end_command(self, operator: str, *, is_fed: bool) -> None:
        command, self._command = self._command, Command(is_fed=is_fed or operator in ("|", "|&"))
        if command.words or command.targets or command.fed:
            self.step(command)
        if operator == "(":
            self._read_inside(is_fed=command.is_fed)

    def _skip(self, pattern: re.Pattern[str]) -> re.Match[str] | None:
        found = pattern.match(self._text, self._place)
        self._place = found.end() if found else self._place
        return found

    def _redirect(self, kind: str) -> None:
        self._skip(SKIPPED)
        start = self._place
        word = "".join(self._words())
        if kind in ("<<", "<<-"):
            is_quoted = any(mark in self._text[start : self._place] for mark in "'\"\\")
            self._command.fed.append(self._document(word, is_quoted=is_quoted, tabs="\t*" if kind == "<<-" else ""))
        elif kind == "<<<":
            self._command.fed.append(word)
        elif kind == "<" and self._text.startswith("<(", start):
            self._command.is_fed = True
        elif kind not in ("<", "<&") and not (kind == ">&" and (word.isdecimal() or word == "-")):
            self._command.targets.append(word)

    def _document(self, ending: str, *, is_quoted: bool, tabs: str) -> str:
        """Cuts a here-document out of the text behind this line; what it runs is read."""
        last = re.compile(rf"^{tabs}{re.escape(ending)}$", re.MULTILINE)
        if not last.search(self._text, self._place):
            return ""
        self._documents += 1
        if self._documents > MOST_DOCUMENTS:
            raise TooMuch
        start = self._end_of_line()
        found = last.search(self._text, start)
        if not found:
            return ""
        body = self._text[start : found.start()]
        self._text = self._text[:start] + self._text[found.end() + 1 :]
        if not is_quoted:
            self.read_expansions(body)
        return body

    def _end_of_line(self) -> int:
        """Where the next line starts that is in no quotes. Raises TooMuch where a parenthesis closes before it.

        Shells differ in where such a here-document is, and in `$((1<<2))` there is none.
        """
        scout = Reader(self.folder)
        scout.depth, scout._text, scout._place = self.depth + 1, self._text, self._place
        return len(self._text) - scout._rest_behind_line()

    def _rest_behind_line(self) -> int:
        """How many characters stand behind the line; what a here-document in it holds is cut out of this text."""
        while self._place < len(self._text):
            if redirection := self._skip(REDIRECTION):
                if not redirection[0].endswith(("<<", "<<-")):
                    self._redirect(redirection[1] or redirection[2])
            elif operator := self._skip(OPERATOR):
                if operator[0] == "\n":
                    break
                if operator[0] == ")":
                    raise TooMuch
                self._end_command(operator[0], is_fed=False)
            elif not self._skip(SKIPPED):
                self._words()
        return len(self._text) - self._place

    def read_expansions(self, text: str) -> None:
        """Reads what a text runs that a shell expands, in which a quote is a character as any other."""
        outer = self._text, self._place
        self._text, self._place = text, 0
        while self._place < len(self._text):
            if not self._skip(IN_DOCUMENT):
                self._expanded(is_quoted=True)
        self._text, self._place = outer

    def _words(self) -> list[str]:
        start, parts = self._place, []
        while self._place < len(self._text):
            character = self._text[self._place]
            if run := self._skip(PLAIN):
                parts.append(run[0].translate(MARKED))
            elif character == "\\":
                parts.append(self._text[self._place + 1 : self._place + 2].strip("\n"))
                self._place += 2
            elif character == "'":
                parts.append(self._until("'"))
            elif character == '"':
                parts.append(self._double_quoted())
            elif character == "(" and self._text[start : self._place].endswith(("?", "*", "+", "@", "!")):
                self._place += 1  # `+(a|b)`, a pattern where the shell is told so
                self._read_inside(is_fed=False)
                parts.append(UNKNOWN)
            elif character in "$`" or NESTED.match(self._text, self._place):
                parts.append(re.sub(r"^$|\s+", GAP, self._expanded()))
            else:
                break
        self._place += self._place == start  # what begins no word must not stop the reader
        split = BRACES.sub(UNKNOWN, "".join(parts)).split(GAP)
        return [word for word in split if word or len(split) == 1]

    def _until(self, mark: str) -> str:
        text, _, _ = self._text[self._place + 1 :].partition(mark)
        self._place += len(text) + 2
        return text

    def _double_quoted(self) -> str:
        parts = []
        self._place += 1
        while self._place < len(self._text) and self._text[self._place] != '"':
            run = self._skip(IN_QUOTES)
            parts.append(re.sub(r'\\(\n|["\\$`])', lambda found: found[1].strip("\n"), run[0]) if run else "")
            parts.append("" if run else self._expanded(is_quoted=True))
        self._place += 1
        return "".join(parts)

    def _expanded(self, *, is_quoted: bool = False) -> str:
        """What a `$`, a backquote or `<(` stands for; what it runs is read."""
        if found := self._skip(IN_BACKQUOTES):
            self.read(re.sub(r"\\([$`\\])", r"\1", found[1]))
        elif self._skip(NESTED):
            self._read_inside(is_fed=False)
        elif found := self._skip(NAMED):
            return self.known(found[1] or found[2])
        elif found := self._skip(BRACED):
            self._read_braced("]" if found[0] == "$[" else "}", is_quoted=is_quoted)
        elif (is_quoted or not self._skip(C_QUOTED)) and not self._skip(PARAMETER):
            self._place += 1
            return "$" if is_quoted or not self._text.startswith('"', self._place) else ""
        return UNKNOWN

    def _read_braced(self, ending: str, *, is_quoted: bool) -> None:
        """Reads what `${NAME` does with a value. Raises TooMuch where nobody can tell what is a quote, or what runs."""
        self.depth += 1
        if self._text.startswith("@P", self._place) or self.depth > DEEPEST:
            raise TooMuch
        while self._place < len(self._text) and self._text[self._place] != ending:
            character = self._text[self._place]
            if is_quoted and character in "'\"":  # `#` takes it for a quote, `:-` does not
                raise TooMuch
            if character == "'":
                self._until("'")
            elif character == '"':
                self._double_quoted()
            elif character in "$`":
                self._expanded(is_quoted=is_quoted)
            elif not self._skip(UNQUOTED):
                self._place += 2 if character == "\\" else 1
        self._place += 1
        self.depth -= 1


def as_written(word: str) -> str:
    """The characters of a word or a pattern."""
    return word.translate(AS_WRITTEN)
