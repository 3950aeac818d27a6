"""What can go wrong in the trainer, as one tree of its own.

    TrainerError                    foreseen: shown as one sentence, no traceback
      UsageError           exit 2   an argument or a setting that a person typed
      DataError            exit 1   a document, a pair or a checkpoint is not what it should be
        BelowBase          exit 1   a tuned model that may not be served
      NeedsRepair          exit 3   a library, a card, a permission or a back end stands in the way
        Busy               exit 3   somebody else holds the card or the lock; later it may be free
          QueueFull        exit 3   too many are waiting for an answer

Every error says what happened, where (`path:line`) and what to do next. Over HTTP the same sentence is sent, with the
status that the class names.
"""

from pathlib import PurePath


class TrainerError(Exception):
    """A foreseen failure. `str()` gives the whole sentence: place, what happened, what to do next."""

    exit_code = 3
    http_status = 500

    def __init__(self, what: str, *, where: PurePath | str | None = None, line: int | None = None, remedy: str = ""):
        super().__init__(what)
        self.what = what
        self.where = where
        self.line = line
        self.remedy = remedy

    def __str__(self) -> str:
        place = "" if self.where is None else f"{self.where}:{self.line}: " if self.line else f"{self.where}: "
        return f"{place}{as_sentence(self.what)}{' ' + as_sentence(self.remedy) if self.remedy else ''}"


class UsageError(TrainerError):
    """An argument or a setting that a person typed cannot be used."""

    exit_code = 2
    http_status = 422


class DataError(TrainerError):
    """A document, a pair, a checkpoint or a model's answer is not what it should be."""

    exit_code = 1
    http_status = 422


class BelowBase(DataError):
    """A tuned model scored below its base or repeated a canary, and is not served without force."""

    http_status = 409


class NeedsRepair(TrainerError):
    """A library, a card, a permission or a paid service stands in the way."""

    http_status = 503


class Busy(NeedsRepair):
    """The card, the training lock or the queue is held by somebody else."""

    http_status = 409


class QueueFull(Busy):
    """So many answers are waited for that one more is refused rather than kept waiting."""

    http_status = 429


def as_sentence(text: str) -> str:
    """The text, ended by a full stop where it has no end mark of its own."""
    text = text.strip()
    return text if text.endswith((".", "?", "!")) else f"{text}."
