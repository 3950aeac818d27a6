"""A shell command as its simple commands, with the lexer of the standard library.

It is no shell: it follows no variable beyond one value, no loop, no here-document and no quotes inside of others.
`is_plain` tells where that matters, and whoever judges a command denies what is not plain.
"""

import re
import shlex
from collections.abc import Mapping, Sequence

MARKS = ";&|()<>\n"
HIDDEN = {ord(mark): 0xE000 + ord(mark) for mark in MARKS}  # where they are quoted
SHOWN = {hidden: mark for mark, hidden in HIDDEN.items()}
ROUGH = {**dict.fromkeys(map(ord, "\"'\\")), **dict.fromkeys(map(ord, ";&|()<>`"), " ")}  # no quotes, marks as spaces
MAX_VALUE = 200  # characters of a variable, which may stand many times in one command
FIRST_COMMENTS = re.compile(r"\A(?:\s*#[^\n]*\n)+")  # in no quotes, since nothing stands before them
ESCAPED = re.compile(r"\\(.)", re.DOTALL)
QUOTED = re.compile(r"'[^']*'|\"(?:[^\"\\]|\\.)*\"|\\.", re.DOTALL)
COMMENT = re.compile(r"(?<![^\s;&|()<>])#")
SUBSTITUTED = re.compile(r"(?<!\\)(?:\$\(([^()]*)\)|`([^`\\]*)`)")
NOT_PLAIN = re.compile(r"\$(?:[('\"\[]|\{(?!\w+\}))|`|<<|[<>]\(|" + COMMENT.pattern)
VARIABLE = re.compile(r"\$(?:\{(\w+)\}|(\w+))")
DEFAULT = re.compile(r"\$\{\w+:?[-=+]([^{}$]*)\}")
ESCAPES = re.compile(r"\$'((?:[^'\\]|\\.)*)'", re.DOTALL)
BRACES = re.compile(r"\{([^{},]*,[^{}]*)\}")
MAX_EXPANDED = 64  # words that one word with braces becomes
ASSIGNMENT = re.compile(r"(\w+)\+?=(.*)", re.DOTALL)


class SimpleCommand:
    """One simple command: its words, with what is assigned before it and what it is fed, and the files it writes."""

    def __init__(self, words: Sequence[str] = ()) -> None:
        self.words = [*words]
        self.targets: list[str] = []


class Unreadable(Exception):
    """A quote is open, or a redirection leads nowhere."""


def drop_first_comments(text: str) -> str:
    """A command without the comments that it begins with."""
    return FIRST_COMMENTS.sub("", text.replace("\r\n", "\n"))


def join_lines(text: str) -> str:
    """A command in which no line goes on behind a backslash; in a comment none would."""
    return ESCAPED.sub(lambda found: "" if found[1] == "\n" else found[0], text)


def read_escapes(text: str) -> str:
    """A command with the characters that `$'mem\\x6fry'` stands for in its place."""
    return ESCAPES.sub(lambda found: shlex.quote(found[1].encode().decode("unicode_escape", "replace")), text)


def expand_braces(word: str) -> list[str]:
    """The words that a shell makes of one with braces; those that stand for themselves come back as they are."""
    words = [word]
    while (
        len(words) < MAX_EXPANDED
        and (place := next((at for at, one in enumerate(words) if BRACES.search(one)), -1)) >= 0
    ):
        found = BRACES.search(words[place])
        assert found
        start, end = words[place][: found.start()], words[place][found.end() :]
        words[place : place + 1] = [f"{start}{part}{end}" for part in found[1].split(",")]
    return words


def split_steps(text: str) -> list[SimpleCommand]:
    """The simple commands of a text, in order. Raises Unreadable."""
    text = QUOTED.sub(lambda found: found[0].translate(HIDDEN), text)
    lexer = shlex.shlex(text, posix=True, punctuation_chars=MARKS)
    lexer.whitespace, lexer.whitespace_split, lexer.commenters = " \t", True, ""
    steps, redirection = [SimpleCommand()], ""
    try:
        for word in lexer:
            if not word or word.strip(MARKS):
                (steps[-1].targets if ">" in redirection else steps[-1].words).append(word.translate(SHOWN))
                redirection = ""
            elif redirection:
                raise Unreadable
            else:
                redirection = word if set(word) & set("<>") else ""
                if redirection and steps[-1].words and steps[-1].words[-1].isdecimal():
                    steps[-1].words.pop()  # `2>`
                if word in ("&", "&&") or (set(word) & set(";|()\n") and word != ">|"):
                    steps.append(SimpleCommand())
    except ValueError as error:
        raise Unreadable from error
    return steps


def take_substitutions(text: str) -> tuple[str, list[str]]:
    """A text with `$X` in the place of each `$( )` and backquotes, and what stood in them, innermost first.

    Raises Unreadable where one may stand in single quotes that end inside of it.
    """
    inner: list[str] = []
    while found := SUBSTITUTED.search(text):
        inner.append(found[1] or found[2] or "")
        if "'" in inner[-1] and "'" in text[: found.start()]:
            raise Unreadable
        text = f"{text[: found.start()]}$X{text[found.end() :]}"
    return text, inner


def split_roughly(text: str) -> list[SimpleCommand]:
    """The words of each line as a step, quoted or not, for a text that nobody can read."""
    return [SimpleCommand(line.translate(ROUGH).split()) for line in text.splitlines()]


def is_plain(text: str) -> bool:
    """Whether the steps of a text are surely those that a shell would run."""
    return not NOT_PLAIN.search(text)


def replace_variables(steps: list[SimpleCommand], variables: Mapping[str, str]) -> None:
    """Puts in the place of each variable the value that it was given last, came with or has by default; others stay.

    Of a word with braces it makes those that it stands for.
    """
    values = dict(variables)

    def fill(word: str) -> str:
        word = VARIABLE.sub(lambda name: values.get(name[1] or name[2], name[0]), DEFAULT.sub(r"\1", word))
        if (given := ASSIGNMENT.fullmatch(word)) and len(given[2]) < MAX_VALUE:
            values[given[1]] = given[2]
        return word

    for step in steps:
        pairs = [(word, fill(word)) for word in step.words]
        split = [one for word, text in pairs for one in (text.split() if word.startswith("$") else [text])]
        step.words = [word for one in split for word in expand_braces(one)]
        step.targets = [word for target in step.targets for word in expand_braces(fill(target))]
