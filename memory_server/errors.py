"""What can go wrong, as one tree.

    OneirosError                    foreseen: shown as one sentence, no traceback
      UsageError           exit 2   an argument, query or setting that a person typed
      ContentError         exit 1   a topic, transcript or proposal is not what it should be
      NeedsRepair          exit 3   index, model, daemon, lock, permission: `oneiros doctor` knows

Every error says what happened, where, and what to do next. Foreign exceptions are translated where they arise.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import PurePath

from memory_server.escaping import escape_line, escape_text

MOST_NEAR = 3  # names that a person is reminded of


class OneirosError(Exception):
    """A foreseen failure. `str()` gives the whole sentence: place, what happened, what to do next.

    What it repeats of a file, its name or a program cannot steer a terminal; line breaks of its own stay.
    """

    exit_code = 3

    def __init__(self, what: str, *, where: PurePath | str | None = None, line: int | None = None, remedy: str = ""):
        super().__init__(what)
        self.what = what
        self.where = where
        self.line = line
        self.remedy = remedy

    def __str__(self) -> str:
        place = "" if self.where is None else f"{self.where}:{self.line}: " if self.line else f"{self.where}: "
        return escape_text(f"{place}{as_sentence(self.what)}{' ' + as_sentence(self.remedy) if self.remedy else ''}")


class UsageError(OneirosError):
    """An argument, a query or a setting that a person typed cannot be used."""

    exit_code = 2


class ContentError(OneirosError):
    """A file of the memory is not what it should be, or is not there."""

    exit_code = 1


class NeedsRepair(OneirosError):
    """An index, a model, a lock or a permission stands in the way; `oneiros doctor` names the repair."""

    exit_code = 3


@dataclass(frozen=True, slots=True)
class Problem:
    """One thing wrong with one file. A bad file among many is reported as this and does not end the run."""

    path: str  # relative to the memory root
    line: int  # counted from 1
    what: str
    remedy: str = ""
    rule: str = ""  # the name of the rule that was broken, stable, for programs

    def __str__(self) -> str:
        sentence = (
            f"{self.path}:{self.line}: {as_sentence(self.what)}{' ' + as_sentence(self.remedy) if self.remedy else ''}"
        )
        return escape_line(sentence)  # a file may be called anything


def nearest_or(remedy: str, wanted: str, known: Iterable[str]) -> str:
    """What to do about a name that is none of the known ones: take the nearest, where one is near, else `remedy`."""
    import difflib  # noqa: PLC0415  where a name was wrong alone

    names = {alias.casefold(): name for name in known for alias in (name, name.rpartition("/")[2])}
    near = difflib.get_close_matches(wanted.casefold(), names, n=MOST_NEAR)
    meant = dict.fromkeys(escape_line(names[one]) for one in near)
    return f"Did you mean {' or '.join(meant)}?" if meant else remedy


def as_sentence(text: str) -> str:
    """The text, ended by a full stop where it has no end mark of its own."""
    text = text.strip()
    return text if text.endswith((".", "?", "!")) else f"{text}."
