"""What commands print: data on stdout, talk on stderr; and the options that say how.

On a terminal text is wrapped at words, coloured, with links, through a pager where it is long. Where the output is no
terminal, text is left as it is, byte for byte. Colour is left out with NO_COLOR, TERM=dumb and --no-color too; it never
carries a meaning alone.
"""

import datetime as dt
import json
import os
import re
import shlex
import shutil
import signal
import subprocess
import sys
import time
import unicodedata
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, TextIO

import typer

from memory_server.errors import UsageError, nearest_or
from memory_server.escaping import escape_text

if TYPE_CHECKING:
    from memory_server.index.build import Progress

TELL_SECONDS = 10.0  # between two lines about what is under way
UNSEEN = re.compile(r"\x1b\[[\d;]*m|\x1b\]8;;.*?\x1b\\")  # what colours and links put into a text
PIECE = re.compile(r"\s*(?:`[^`]+`\S*|oneiros \S+(?: '[^']*'| \S+)?|\S+)")  # a command is not broken where it fits
LEAD = re.compile(r"\s*\d+  |\S{1,10} {2,}|\s*(?:[-+*] )?")  # below which the rest of a line begins
KNOWS_LINKS = {"VTE_VERSION", "KITTY_WINDOW_ID", "WT_SESSION", "KONSOLE_VERSION", "ITERM_SESSION_ID", "WEZTERM_PANE"}
TERMS_WITH_LINKS = ("foot", "xterm-ghostty", "xterm-kitty", "alacritty", "wezterm")
PROGRAMS_WITH_LINKS = ("vscode", "ghostty", "WezTerm", "iTerm.app", "Hyper", "rio")


def name_typed_project(context: typer.Context, project: str) -> str:
    """The name of a project that a person typed, which may be its folder."""
    if "/" not in project:
        return project
    from oneiros.hooks.whereabouts import locate_project  # this is more than most commands cost

    environment = context.obj
    folder = (environment.working_folder / Path(project).expanduser()).resolve()
    is_there = folder.is_dir()
    return locate_project(str(folder), environment.choice.root, environment.person) if is_there else project


def require_known(context: typer.Context, project: str) -> str:
    """The project. Raises UsageError where there is none of that name but one that is nearly called so."""
    project = name_typed_project(context, project)
    root = context.obj.choice.root if project else None
    if root and root.index_page.exists():
        from memory_server.fields import fold  # these are more than most commands cost
        from oneiros.ingest.readings import list_projects

        known = list_projects(root)
        is_known = fold(project) in map(fold, known)
        if not is_known and (remedy := nearest_or("", project, known)):
            raise UsageError(f"there is no project {project!r}", remedy=remedy)
    return project


OfAnyProject = Annotated[
    str, typer.Option("--project", help="of this project alone", show_default=False, callback=name_typed_project)
]
OfProject = Annotated[
    str, typer.Option("--project", help="of this project alone", show_default=False, callback=require_known)
]
AsJson = Annotated[bool, typer.Option("--json", help="one JSON object on stdout")]
Yes = Annotated[bool, typer.Option("--yes", "-y", help="do not ask")]
NoColor = Annotated[bool, typer.Option("--no-color", help="plain text")]


def talk(text: str = "") -> None:
    """A remark for the person, on stderr; what it repeats of a file or its name cannot steer the terminal."""
    print(inspect_stream(sys.stderr, os.environ).wrap(escape_text(text)), file=sys.stderr)


def data(text: str) -> None:
    """What was asked for, on stdout, as it is."""
    print(text)


def data_json(value: Any) -> None:
    """One JSON object on stdout."""
    print(json.dumps(value, ensure_ascii=not _writes_all(), indent=2))


def data_line(value: Any) -> None:
    """One JSON object on a line of its own, at once: for a stream that somebody reads while it is written."""
    print(json.dumps(value, ensure_ascii=not _writes_all()), flush=True)


def _writes_all() -> bool:
    """Whether stdout takes every character; what it does not take is written out, in JSON in JSON's way."""
    return sys.stdout.encoding.casefold().replace("_", "-") == "utf-8"


def moment_text(text: str) -> str:
    """A moment for a person; empty for none."""
    try:
        return f"{dt.datetime.fromisoformat(text).astimezone():%Y-%m-%d %H:%M}"
    except ValueError:
        return ""


def is_conversation() -> bool:
    """Whether a person reads what is said here and can answer."""
    return sys.stdin.isatty() and sys.stderr.isatty()


def confirm(question: str, *, yes: bool) -> None:
    """Asks before something is done. Raises UsageError where nobody can answer."""
    if yes:
        return
    if not is_conversation():
        raise UsageError("nobody can be asked here, so nothing was changed", remedy="Look at --dry-run, then add --yes")
    typer.confirm(question, default=False, err=True, abort=True)


@contextmanager
def show_progress() -> Iterator[Callable[["Progress"], None]]:
    """A bar on stderr with rate and time left, only when it takes more than a second; where no terminal draws it, a
    line of every ten seconds or so.
    """
    if not sys.stderr.isatty() or os.environ.get("TERM", "dumb") == "dumb":
        yield _make_teller()
        return
    from oneiros.cli.terminal.progress import Bar

    with Bar() as bar:
        yield bar.show


def _make_teller() -> Callable[["Progress"], None]:
    """Tells what is under way in plain lines, the first after TELL_SECONDS."""
    told = time.monotonic()

    def tell(step: "Progress") -> None:
        nonlocal told
        if (now := time.monotonic()) - told >= TELL_SECONDS:
            told = now
            talk(f"{step.stage} {step.done} of {step.total}")

    return tell


@dataclass(frozen=True, slots=True)
class Screen:
    """What an output shows. `columns` and `rows` are 0 where it is no terminal."""

    columns: int = 0
    rows: int = 0
    has_colour: bool = False
    has_links: bool = False

    def style(self, text: str, **how: Any) -> str:
        """`typer.style` where there is colour."""
        return typer.style(text, **how) if self.has_colour else text

    def link(self, text: str, file: Path) -> str:
        """The text, leading to a file (OSC 8)."""
        return f"\x1b]8;;{file.as_uri()}\x1b\\{text}\x1b]8;;\x1b\\" if self.has_links else text

    def colour_diff(self, text: str) -> str:
        """The text with its lines that come in green, those that go in red; their signs stand behind four blanks."""
        colours = {"+": "green", "-": "red"}
        lines = text.split("\n")
        signs = (line[4:5] if line[:4].isspace() else "" for line in lines)
        return "\n".join(
            self.style(line, fg=colours[sign]) if sign in colours else line
            for sign, line in zip(signs, lines, strict=True)
        )

    def wrap(self, text: str) -> str:
        """The text with each line broken between words; what follows stands below where the line's words began."""
        if not self.columns:
            return text
        return "\n".join(row for line in text.split("\n") for row in self._break(line))

    def _break(self, line: str) -> Iterator[str]:
        lead = LEAD.match(UNSEEN.sub("", line))
        below = " " * min(len(lead[0]) if lead else 0, self.columns // 3)
        row = ""
        for piece in PIECE.findall(line):
            words = [piece] if measure_width(below + piece) <= self.columns else re.findall(r"\s*\S+", piece)
            for word in words:
                if row.strip() and measure_width(row + word) > self.columns:
                    yield row
                    row = below + word.lstrip()
                else:
                    row += word
        yield row


def inspect_stream(stream: TextIO, variables: Mapping[str, str], *, no_color: bool = False) -> Screen:
    """What a stream shows."""
    if not stream.isatty() or variables.get("TERM") == "dumb":
        return Screen()
    size = shutil.get_terminal_size()
    has_colour = not (no_color or variables.get("NO_COLOR"))
    return Screen(size.columns, size.lines, has_colour, _knows_links(variables))


def see_stdout(*, no_color: bool = False) -> Screen:
    """What stdout of this process shows."""
    return inspect_stream(sys.stdout, os.environ, no_color=no_color)


def _knows_links(variables: Mapping[str, str]) -> bool:
    """Whether the terminal says that it is one of those that make a link of OSC 8; screen and tmux hide it."""
    if forced := variables.get("FORCE_HYPERLINK"):
        return forced != "0"
    term = variables.get("TERM", "")
    is_known = not KNOWS_LINKS.isdisjoint(variables) or variables.get("TERM_PROGRAM") in PROGRAMS_WITH_LINKS
    return not term.startswith(("screen", "tmux")) and (is_known or term.startswith(TERMS_WITH_LINKS))


def measure_width(text: str) -> int:
    """The columns that a text takes: two for a wide character, none for a mark above another, colours and links."""
    if text.isascii() and "\x1b" not in text:
        return len(text)
    return sum(
        0 if unicodedata.combining(one) else 1 + (unicodedata.east_asian_width(one) in "WF")
        for one in UNSEEN.sub("", text)
    )


def show(text: str) -> None:
    """What was asked for, on stdout, for a person to read."""
    print(see_stdout().wrap(text))


def show_long(text: str) -> None:
    """The same through the person's pager, where it is longer than the terminal and there is one."""
    screen = see_stdout()
    shown = screen.wrap(text)
    pager = shlex.split(os.environ.get("PAGER", "less"))
    if not (screen.rows and shown.count("\n") + 2 > screen.rows and pager and shutil.which(pager[0])):
        print(shown)
        return
    sys.stdout.flush()
    with_colours = {"LESS": "FRX", **os.environ}  # as git starts it
    before = signal.signal(signal.SIGINT, lambda *_: None)  # Ctrl-C is the pager's, which has the terminal
    try:
        subprocess.run(pager, input=shown + "\n", text=True, encoding="utf-8", check=False, env=with_colours)
    finally:
        signal.signal(signal.SIGINT, before)
