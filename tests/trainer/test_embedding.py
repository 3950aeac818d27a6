"""Teaching a small embedding model, and the graph that the program runs of it."""

import dataclasses
import re
from pathlib import Path

import numpy as np
import pytest
import torch
from tokenizers.implementations.bert_wordpiece import BertWordPieceTokenizer
from transformers import BertConfig, BertModel, PreTrainedTokenizerFast

from memory_server.embedding.catalogue import Catalogue
from memory_server.embedding.onnx_engine import OnnxEngine
from trainer.cli.embedder import embed
from trainer.embedding.batches import Teacher, rarity_of
from trainer.embedding.encoder import Encoded, Encoder
from trainer.embedding.export import write_model
from trainer.embedding.figures import Found, ask
from trainer.embedding.fit import Recipe, teach
from trainer.embedding.losses import SCALE, Answers, contrast, late_loss
from trainer.embedding.questions import Passage, write_passages
from trainer.errors import BelowBase
from trainer.pairs import Pair, write_pairs

pytestmark = pytest.mark.trainer

MARKS = ("[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]")
THINGS = tuple(f"thing{number}" for number in range(40))
NAMES = tuple(f"name{number}" for number in range(40))  # what a question calls the thing of the same number
WORDS = ("which", "port", "has", "the", "number", ".", "?", *THINGS, *NAMES)
QUICK = Recipe(steps=100, batch=16, learning_rate=3e-3)


@pytest.fixture
def base(tmp_path: Path) -> Path:
    """A BERT of random weights that knows 87 words."""
    folder = tmp_path / "base"
    folder.mkdir()
    (folder / "vocab.txt").write_text("\n".join([*MARKS, *WORDS]), encoding="utf-8")
    torch.set_num_threads(1)
    torch.manual_seed(0)
    shape = {"hidden_size": 32, "intermediate_size": 64, "num_hidden_layers": 2, "num_attention_heads": 2}
    BertModel(BertConfig(vocab_size=len(MARKS) + len(WORDS), **shape)).save_pretrained(folder)
    pieces = BertWordPieceTokenizer(vocab=str(folder / "vocab.txt"), lowercase=True)
    marks = {"pad_token": "[PAD]", "unk_token": "[UNK]", "cls_token": "[CLS]", "sep_token": "[SEP]"}
    PreTrainedTokenizerFast(tokenizer_object=pieces._tokenizer, **marks).save_pretrained(folder)
    return folder


def passages() -> list[Passage]:
    """One a thing; its questions never name the thing itself."""
    return [
        Passage(
            thing,
            "things",
            f"session{number // 5}",
            number % 5,
            "the port",
            f"{thing} has the number {number} .",
            (f"which port has {name} ?",),
        )
        for number, (thing, name) in enumerate(zip(THINGS, NAMES, strict=True))
    ]


def test_a_taught_model_finds_what_it_did_not_find_before(base: Path) -> None:
    encoder = Encoder(base, frozen_layers=0)
    before = ask(encoder, passages())

    teach(encoder, Teacher(passages(), encoder), QUICK)

    after = ask(encoder, passages())
    assert after.hit(3) > before.hit(3) + 0.4
    assert after.above(before, 3)[0] > 0.2


def test_the_same_seed_teaches_the_same_and_frozen_layers_stay(base: Path) -> None:
    recipe = dataclasses.replace(QUICK, steps=4)
    first, second = (Encoder(base) for _ in range(2))

    learnt, again = teach(first, Teacher(passages(), first), recipe), teach(second, Teacher(passages(), second), recipe)

    assert all(torch.equal(learnt[name], again[name]) for name in learnt)
    assert not any(".layer.0." in name or "embeddings" in name for name in learnt)


def test_what_is_kept_of_nothing_is_the_base(base: Path) -> None:
    encoder, untouched = Encoder(base, frozen_layers=0), Encoder(base, frozen_layers=0)

    teach(encoder, Teacher(passages(), encoder), dataclasses.replace(QUICK, steps=4, kept=0.0))

    pairs = zip(encoder.parameters(), untouched.parameters(), strict=True)
    assert all(torch.equal(one, other) for one, other in pairs)


def test_every_question_of_a_batch_has_its_own_passage_in_it_once(base: Path) -> None:
    teacher = Teacher(passages(), Encoder(base, frozen_layers=0))

    batches = list(teacher.batches(20, size=12, seed=1))

    for batch in batches:
        assert len(batch.passages) == len(set(batch.passages)) == 12
        assert [batch.passages[row] for row in batch.answers.right] == [place for place, _ in batch.questions]
        assert not batch.answers.ignored[range(len(batch.questions)), batch.answers.right].any()
    assert {place for batch in batches for place in batch.passages} == set(range(len(THINGS)))


def test_one_wording_of_each_question_is_asked(base: Path) -> None:
    reworded = [
        dataclasses.replace(one, questions=(*one.questions, "first ?", "second", "second ?")) for one in passages()
    ]
    teacher = Teacher(reworded, Encoder(base, frozen_layers=0))

    (batch,) = teacher.batches(1, size=12, seed=1)

    asked = [which for place, which in batch.questions if place == batch.passages[0]]
    assert [which // 2 for which in asked] == [0, 1]


def test_a_passage_that_says_the_same_is_not_wrong(base: Path) -> None:
    twins = [*passages(), dataclasses.replace(passages()[0], id="twin", place=99)]
    teacher = Teacher(twins, Encoder(base, frozen_layers=0))

    (batch,) = teacher.batches(1, size=len(twins), seed=1)

    asked = [place for place, _ in batch.questions]
    row, twin = asked.index(0), batch.passages.index(len(twins) - 1)
    assert batch.answers.ignored[row].nonzero().flatten().tolist() == [twin]


def test_late_interaction_is_the_weighted_mean_of_each_words_best_match() -> None:
    chance = torch.Generator().manual_seed(3)

    def encoded(count: int, length: int) -> Encoded:
        tokens = torch.nn.functional.normalize(torch.randn(count, length, 8, generator=chance), dim=-1)
        words = torch.rand(count, length, generator=chance) > 0.3
        words[:, 1] = True
        ids = torch.randint(20, (count, length), generator=chance)
        return Encoded(tokens[:, 0], tokens, words, ids)

    questions, held = encoded(5, 4), encoded(6, 9)
    rarity, right = torch.rand(20, generator=chance), torch.tensor([0, 1, 2, 3, 3])
    answers = Answers(right, torch.zeros(5, 6, dtype=torch.bool))

    found = late_loss(questions, held, rarity, answers)

    scores = torch.zeros(5, 6)
    for q in range(5):
        for p in range(6):
            of_words = [t for t in range(4) if questions.words[q, t]]
            weights = [float(rarity[questions.ids[q, t]]) for t in of_words]
            best = [
                max(float(questions.tokens[q, t] @ held.tokens[p, s]) for s in range(9) if held.words[p, s])
                for t in of_words
            ]
            scores[q, p] = sum(w * b for w, b in zip(weights, best, strict=True)) / sum(weights)
    assert float(found) == pytest.approx(float(contrast(scores, answers)), abs=1e-5)


def test_an_ignored_passage_does_not_count_against_the_right_one() -> None:
    scores = torch.tensor([[0.5, 0.5, -1.0]])
    ignored = torch.tensor([[False, True, False]])

    assert float(contrast(scores, Answers(torch.tensor([0]), ignored))) == pytest.approx(np.log1p(np.exp(-1.5 * SCALE)))


def test_a_piece_in_few_passages_tells_more() -> None:
    assert rarity_of([{1, 2}, {1}, {1, 3}], 5).argsort().tolist()[0] == 1


def test_the_program_makes_the_same_vectors_of_the_graph(base: Path, tmp_path: Path) -> None:
    encoder = Encoder(base, frozen_layers=0)
    teach(encoder, Teacher(passages(), encoder), dataclasses.replace(QUICK, steps=4))

    write_model(
        encoder, tmp_path / "added" / "taught", {"licence": "Apache-2.0", "languages": ("en",), "note": 'say "it"'}
    )

    files = Catalogue(tmp_path / "nowhere", added=tmp_path / "added").find("taught")
    texts = [one.embedded for one in passages()] + ["which port has name3 ?"]
    made = OnnxEngine(files).embed(texts)
    with torch.no_grad():
        wanted = encoder.encode(encoder.read_passages(texts))
    assert (files.card.note, files.card.dimensions) == ('say "it"', 32)
    assert float(np.sum(np.stack([one.vector for one in made]) * wanted.vectors.numpy(), axis=1).min()) > 0.999
    assert [len(one.tokens) for one in made] == [
        int(encoder.tokenizer(text, return_length=True)["length"][0]) - 2 for text in texts
    ]


def test_the_command_writes_a_model_and_says_what_it_finds_of_what_was_left_out(
    base: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    others = [dataclasses.replace(one, set="others") for one in passages()[:10]]
    write_passages(tmp_path / "all.jsonl.xz", [*passages()[10:], *others], [])

    embed(tmp_path / "all.jsonl.xz", without=["others"], base=base, out=tmp_path / "taught", steps=3)

    told = capsys.readouterr()
    assert "30 passages, 30 questions, 10 passages left out" in told.err
    assert re.search(r"among the first 3 on what was left out: 0\.\d+ before, 0\.\d+ taught", told.err)
    assert sorted(file.name for file in (tmp_path / "taught").iterdir()) == ["model.onnx", "model.toml", "vocab.txt"]


def test_own_pairs_that_teach_nothing_make_no_model(base: Path, tmp_path: Path) -> None:
    write_passages(tmp_path / "all.jsonl.xz", passages(), [])
    own = [Pair(f"which port has {name} ?", f"{name} has the number .", source=f"{name}.md") for name in NAMES]
    write_pairs(tmp_path / "pairs.jsonl", own)

    with pytest.raises(BelowBase, match="finds no more of what was left out"):
        embed(tmp_path / "all.jsonl.xz", pairs=tmp_path / "pairs.jsonl", base=base, out=tmp_path / "taught", steps=1)

    assert not (tmp_path / "taught").exists()


def test_a_folder_says_how_it_pools(base: Path) -> None:
    (base / "1_Pooling").mkdir()
    (base / "1_Pooling" / "config.json").write_text('{"pooling_mode_cls_token": true}', encoding="utf-8")

    found = Encoder(base, frozen_layers=0).pooling
    assert (found, Encoder(base, query_prefix="query: ").query_prefix) == (
        "cls",
        "query: ",
    )


def test_places_tell_how_often_the_right_passage_is_among_the_first() -> None:
    found = Found((0, 2, 5, 0))

    assert [found.hit(first) for first in (1, 3, 10)] == [0.5, 0.75, 1.0]
    assert found.above(found, 3) == (0.0, 0.0)
