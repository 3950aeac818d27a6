"""What is known about a model before any of its files is opened: its `model.toml`, as data.

ModelKind, pooling, prefixes, lengths and the files with their hashes are read from a folder's `model.toml`, so that no
engine knows a model by name. The folder's name is the model's. Where the files lie is the matter of `catalogue.py`.
"""

import hashlib
import re
from dataclasses import MISSING, dataclass, field, fields
from enum import StrEnum
from functools import lru_cache
from pathlib import Path, PurePosixPath
from typing import Annotated

from msgspec import Meta

from memory_server.errors import UsageError
from memory_server.settings import check_settings, find_line, parse_toml

DESCRIPTION = "model.toml"
MAX_PASSAGE_TOKENS = 256  # chunks are cut to fit; reading further costs time and finds nothing
NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]*")
HASH = re.compile(r"[0-9a-f]{64}")
REMEDY = "Mend that key; docs/models.md names all of them"

Length = Annotated[int, Meta(ge=1, le=100_000)]
Hashes = Annotated[dict[str, str], Meta(description='a table of files, each "FILE" = "its sha256"')]


class ModelKind(StrEnum):
    """What a model makes of text, and so where it is used."""

    DENSE = "dense"  # one vector a text
    SPARSE = "sparse"  # weights of a passage over the vocabulary; a question is looked up in a table
    LATE = "late"  # one vector a token
    CROSS = "cross"  # one score for a question and a passage, read together


class Pooling(StrEnum):
    """How one vector is made of a passage's token vectors."""

    MEAN = "mean"
    CLS = "cls"


class Activation(StrEnum):
    """How the logit of a word becomes its weight in a passage."""

    LOG = "log(1+relu)"
    LOG_LOG = "log(1+log(1+relu))"


SETTING_OF = {  # by which a kind is turned on; which dense one is used belongs to the memory
    ModelKind.SPARSE: "sparse_model",
    ModelKind.LATE: "late_model",
    ModelKind.CROSS: "rerank_model",
}


@dataclass(frozen=True, slots=True)
class ModelCard:
    """A `model.toml`. Paths are relative to the model's folder, or to its repository on the hub."""

    kind: ModelKind
    weights: str  # the ONNX graph
    tokenizer: str  # tokenizer.json, or a vocabulary with one word piece a line
    licence: str
    megabytes: Length  # what a download takes, rounded
    languages: tuple[str, ...]  # two letters each; `many` where it was trained on dozens
    name: str = ""  # of its folder
    short_names: tuple[str, ...] = ()
    repository: str = ""  # on the hub; empty where it cannot be downloaded
    revision: str = "main"  # a commit of the repository, where it is pinned
    more_files: tuple[str, ...] = ()  # that the graph reads, such as its tensors where these are too many for one file
    sha256: Hashes = field(default_factory=dict)  # of the files that are known, at that revision
    note: str = ""  # what to know before choosing it
    max_tokens: Length = MAX_PASSAGE_TOKENS
    query_prefix: str = ""
    passage_prefix: str = ""
    # of dense and late models
    dimensions: Annotated[int, Meta(ge=0, le=10_000)] = 0
    pooling: Pooling = Pooling.MEAN
    # of sparse models
    query_weights: str = ""  # a JSON file: what each piece of the vocabulary weighs in a question
    activation: Activation = Activation.LOG
    least_share: Annotated[float, Meta(ge=0, lt=1)] = 0.0  # of a passage's greatest weight; less is left out
    # of late models: pieces of the vocabulary that stand behind the first mark and tell questions from passages
    query_marker: str = ""
    passage_marker: str = ""
    lowercase: bool = False

    def __post_init__(self) -> None:
        for key in ("weights", "tokenizer", *(("query_weights",) if self.kind is ModelKind.SPARSE else ())):
            _require_inside(key, getattr(self, key))
        for path in self.more_files:
            _require_inside("more_files", path)
        for path, value in self.sha256.items():
            if path not in self.files or not HASH.fullmatch(value):
                what = "names no file of the model" if path not in self.files else "is no sha256 of it"
                raise UsageError(f"sha256 holds {path!r}, which {what}", remedy=REMEDY)
        if self.kind in (ModelKind.DENSE, ModelKind.LATE) and not self.dimensions:
            raise UsageError(f"dimensions is missing, which a {self.kind} model needs", remedy=REMEDY)

    @property
    def files(self) -> tuple[str, ...]:
        """All that is needed of the model, the weights first."""
        table = (self.query_weights,) if self.kind is ModelKind.SPARSE else ()
        return (self.weights, self.tokenizer, *table, *self.more_files)


def _require_inside(key: str, path: str) -> None:
    """Raises UsageError for a path that could lead out of the model's folder."""
    parts = PurePosixPath(path).parts
    if not path or path.startswith("/") or ".." in parts or "\\" in path or ":" in path or "\0" in path:
        raise UsageError(f"{key} is {path!r}, no file of the model's folder", remedy=REMEDY)


def read_card(file: Path) -> ModelCard:
    """The model that a `model.toml` describes, by its folder's name. Raises UsageError with file, line, key, remedy."""
    name = file.parent.name
    if not NAME.fullmatch(name):
        remedy = "Name the folder by letters, digits, `.`, `_` and `-`"
        raise UsageError("the name of the folder is no name of a model", where=file.parent, remedy=remedy)
    try:
        text = file.read_bytes().decode("utf-8")
    except OSError as error:
        remedy = f"Put a {DESCRIPTION} there; docs/models.md says what stands in it"
        raise UsageError(f"it cannot be read ({error.strerror})", where=file, remedy=remedy) from error
    except UnicodeDecodeError as error:
        raise UsageError("it is not UTF-8 text", where=file, remedy="Save the file as UTF-8") from error
    values = parse_toml(text, file, "the description is") | {"name": name}
    for one in fields(ModelCard):
        if one.default is MISSING and one.default_factory is MISSING and one.name not in values:
            raise UsageError(f"{one.name} is missing", where=file, remedy=REMEDY)
    try:
        return check_settings(values, ModelCard)
    except UsageError as error:
        line = find_line(text, error.what.partition(" ")[0])
        raise UsageError(error.what, where=file, line=line, remedy=error.remedy) from error


@dataclass(frozen=True, slots=True)
class ModelFiles:
    """A model that can be loaded: its card, its files, and why these."""

    card: ModelCard
    weights: Path
    tokenizer: Path
    weight_hash: str  # sha256 of the weight file
    reason: str
    query_weights: Path | None = None  # of a sparse model
    late: "ModelFiles | None" = None  # the model that makes the token vectors in the place of a dense one

    @property
    def fingerprint(self) -> str:
        """16 hexadecimal digits that differ whenever the same text would get another vector or other weights."""
        card = self.card
        parts = [card.name, "float32", self.weight_hash, card.pooling, card.max_tokens, card.query_prefix]
        parts += [f"passage:{card.passage_prefix}"] if card.passage_prefix else []
        if card.kind is not ModelKind.DENSE:
            parts += [card.kind, card.activation, card.least_share, card.query_marker, card.passage_marker]
        parts += [self.late.fingerprint] if self.late else []
        return hashlib.sha256("|".join(map(str, parts)).encode()).hexdigest()[:16]

    @property
    def token_dimensions(self) -> int:
        """The length of a token vector."""
        return (self.late or self).card.dimensions


def file_hash(file: Path) -> str:
    """sha256 of a file, in hexadecimal digits."""
    with file.open("rb") as stream:
        return hashlib.file_digest(stream, "sha256").hexdigest()


def hash_once(file: Path) -> str:
    """The same, read once a process for as long as the file's inode, size and times stay."""
    found = file.stat()
    return _hash_stamped(file, (found.st_dev, found.st_ino, found.st_size, found.st_mtime_ns, found.st_ctime_ns))


@lru_cache(maxsize=32)  # the files of the models in use; weights take 25 ms and more at each opening of a memory
def _hash_stamped(file: Path, _stamp: tuple[int, ...]) -> str:
    return file_hash(file)
