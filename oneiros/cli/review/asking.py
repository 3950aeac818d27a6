"""Questions at a terminal: one key of several, or words with completion. `?` tells at each what may be answered."""

import os
import readline
import sys
import termios
import tty
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from string import ascii_lowercase

import typer

from memory_server.escaping import escape_line
from oneiros.cli.terminal.output import data, show

# what answers another question, by reflex, and makes no topic: a key of the review, a yes
REFLEXES = frozenset((*ascii_lowercase, *"yes no ok okay ja nein enter quit exit cancel help".split()))
END = "\x04"  # where the input ends, or is interrupted
NEW, NONE = "new", "-"
OTHER = "any other name of two letters or more"
WHERE = f"Enter takes what stands in brackets, Tab completes; {OTHER}, or `new`, makes a new topic. There are:"
NO_TOPIC = f"Enter takes what stands in brackets; {OTHER}, or `new`, makes a new topic. There is none yet."
SECTION = f"Enter takes what stands in brackets, `-` none; {OTHER} makes a new section. There are:"
NAME = "The new topic's name: a few plain words, by which you would look for it."


def ask_key(question: str, keys: Mapping[str, str], *, default: str = "") -> str:
    """The key that a person types, or END. `keys`: what each does; `default`: what Enter alone stands for."""
    read = _read_key if sys.stdin.isatty() and os.environ.get("TERM") != "dumb" else _read_answer
    while True:
        answer = read(f"{question} [{','.join(keys)},?]? ")
        key = answer.strip().casefold()[:1] or default
        if key in keys or key == END:
            return key
        if key:  # Enter behind a key, which needs none
            show("\n".join(f"{key} - {does}" for key, does in keys.items()))


def ask_words(
    question: str, help_text: str, *, default: str = "", known: Sequence[str] = (), is_name: bool = False
) -> str:
    """The words that a person types, or END; `default` for Enter alone. `?` shows `help_text` and the known answers, as
    does one of REFLEXES where a name is asked for, unless it is a known one.
    """
    refused = REFLEXES - {default.casefold(), *map(str.casefold, known)} if is_name else ()
    while True:
        with _completing(known):
            answer = _read_answer(question).strip() or default
        if answer != "?" and answer.casefold() not in refused:
            return answer
        data("\n".join([help_text, *(f"  {escape_line(name)}" for name in known)]))


def ask_place(
    known: Mapping[str, Sequence[str]], target: str, section: str, *, is_new_section: bool = False
) -> tuple[str, str] | None:
    """The topic and the section that a person wants; None where they take what there is. Raises typer.Abort where the
    input ends, or is interrupted.

    `known`: the topics with their sections. `target`: the path of the topic that Enter takes. `is_new_section`: a
    section is asked for also where the topic has none.
    """
    here = target if target in known else target.rpartition("/")[2].removesuffix(".md")
    where = WHERE if known else NO_TOPIC
    prompt = f"Where? [{escape_line(here)}] / new "
    wanted = _require(ask_words(prompt, where, default=here, known=list(known), is_name=True))
    if wanted.casefold() == NEW:
        wanted = _require(ask_words("Its name? ", NAME))
    name = next((one for one in known if one.casefold() == wanted.casefold()), wanted)
    present = section if name == here or section in known.get(name, ()) else ""
    if name in known and (known[name] or is_new_section):
        prompt = f"Section? [{escape_line(present) or 'none'}] "
        answer = _require(ask_words(prompt, SECTION, default=present, known=list(known[name]), is_name=True))
        present = "" if answer == NONE else answer
    is_same = (name, present) == (here, section)
    return None if is_same or not name else (name, present)


def _require(answer: str) -> str:
    if answer == END:
        raise typer.Abort
    return answer


def _read_key(question: str) -> str:
    """The key that is pressed, without Enter. What was typed before the question stood there answers nothing, nor does
    what comes in the same moment behind a key: the rest of an arrow key, or of what is pasted.
    """
    before = termios.tcgetattr(sys.stdin)
    try:
        tty.setcbreak(sys.stdin)
        print(question, end="", flush=True)
        pressed = os.read(sys.stdin.fileno(), 1024).decode("utf-8", "replace")[:1] or END
    except KeyboardInterrupt:
        pressed = END
    finally:
        termios.tcsetattr(sys.stdin, termios.TCSADRAIN, before)
    data(pressed if pressed.isprintable() else "")
    return pressed


def _read_answer(question: str) -> str:
    try:
        return input(question)
    except (EOFError, KeyboardInterrupt):
        data("")
        return END


@contextmanager
def _completing(known: Sequence[str]) -> Iterator[None]:
    """Completes what is typed to one of these names."""

    def complete(begun: str, number: int) -> str | None:
        fitting = [name for name in known if name.casefold().startswith(begun.casefold())]
        return fitting[number] if number < len(fitting) else None

    before, delimiters = readline.get_completer(), readline.get_completer_delims()
    readline.set_completer(complete)
    readline.set_completer_delims("")  # a name may have blanks
    # macOS has another library under the same name
    readline.parse_and_bind("bind ^I rl_complete" if "libedit" in (readline.__doc__ or "") else "tab: complete")
    try:
        yield
    finally:
        readline.set_completer(before)
        readline.set_completer_delims(delimiters)
