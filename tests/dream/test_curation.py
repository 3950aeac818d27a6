"""The scorer of curation, and the systems that are entered."""

from collections.abc import Sequence
from pathlib import Path

import pytest

from benchmarks.curation.pieces import MOST_WORDS, Offer, Piece, Wanted, read_offers, read_pieces
from benchmarks.curation.score import compute_figures, judge_offers
from benchmarks.curation.systems import offer_by_oneiros, offer_by_plain_prompt, offer_by_rules, offer_read
from benchmarks.recorded import hash_prompt, pack_answers, recorded_pairs, write_prompts

PORT = Wanted("The relay listens on 2525.", "2525 & listen*|port", kind="fact")


def make_piece(
    name: str = "p001", keep: Sequence[Wanted] = (PORT,), either: Sequence[Wanted] = (), origin: str = "planted"
) -> Piece:
    return Piece(name, origin, "relay", "2026-01-05", "looks like it", [("person", "Port 2525.")], keep, either)


@pytest.mark.parametrize(
    ("statement", "is_said"),
    [
        ("The port is 2525.", True),
        ("It LISTENS on 2525", True),
        ("The port is 25255.", False),
        ("It answers at 2525.", False),
        (f"The port is 2525 {'word ' * MOST_WORDS}", False),
    ],
)
def test_a_statement_says_what_is_kept_by_the_words_that_must_be_there(statement: str, is_said: bool) -> None:
    assert PORT.matches(statement) is is_said


def test_right_wrong_and_uncounted_offers_are_told_apart() -> None:
    elsewhere = Wanted("The shop writes from orders@.", "orders", scope="shop")
    pieces = [make_piece(either=[elsewhere]), make_piece("r002", keep=[], origin="real")]
    offers = [
        Offer("p001", "The relay's port is 2525."),
        Offer("p001", "Mail comes from orders@.", scope="shop"),
        Offer("p001", "Mail of the relay comes from orders@."),
        Offer("r002", "The cause was a full disk.", kind="finding"),
    ]

    figures = compute_figures(judge_offers(offers, pieces))["all"]

    assert (figures["right"], figures["wrong"]) == (1, 1)
    assert (figures["precision"][0], figures["recall"][0], figures["recall_by_kind"]) == (0.5, 1.0, {"fact": [1, 1]})
    assert figures["fell_for"]["looks like it"][0] == 0.5


def test_offers_are_read_with_what_may_be_left_out(tmp_path: Path) -> None:
    file = tmp_path / "offers.jsonl"
    file.write_text('{"piece": "p001", "statement": "Port 2525."}\n', encoding="utf-8")

    assert [*read_offers(file)] == [Offer("p001", "Port 2525.", "", "project")]


def test_each_of_the_200_pieces_is_labelled_so_that_its_own_statements_are_right() -> None:
    pieces = read_pieces()
    offers = [Offer(piece.id, one.statement, one.kind, one.scope) for piece in pieces for one in piece.keep]

    figures = compute_figures(judge_offers(offers, pieces))

    assert len({piece.id for piece in pieces}) == 200
    assert 90 < figures["held back"]["pieces"] < 110
    assert [figures["all"][name][0] for name in ("precision", "recall", "scope")] == [1.0, 1.0, 1.0]


def test_a_handful_of_pieces_goes_through_rules_of_both_kinds_and_what_a_model_read() -> None:
    handful = [piece for piece in read_pieces() if piece.project == "relay"][:5]

    read = [*offer_by_oneiros(handful)]
    plain = [offer.piece for offer in offer_by_rules(handful)]
    own = [*offer_read(handful)]

    assert set(plain) <= {piece.id for piece in handful}
    assert [(offer.piece, "logging dependency" in offer.statement) for offer in own] == [("p026", True)]
    assert ("p026", "rule") in {(offer.piece, offer.kind) for offer in read}
    assert [each.piece.id for each in judge_offers(read, handful) if each.wrong] == []


def test_what_a_model_answered_to_the_plain_prompt_is_found_for_every_project() -> None:
    pieces = read_pieces()

    offers = [*offer_by_plain_prompt(pieces)]

    named = {piece.id: piece.project for piece in pieces}
    assert {named[offer.piece] for offer in offers} > {"shop", "relay", "atlas", "ledger", "homelab", "thesis"}


def test_prompts_that_were_answered_are_packed_with_their_answers(tmp_path: Path) -> None:
    write_prompts(["What is kept of p001?", "And of p002?"], tmp_path / "plain")
    (tmp_path / "plain" / "001.answer.txt").write_text("[]", encoding="utf-8")

    pack_answers(tmp_path / "plain", tmp_path / "plain.jsonl.xz")

    assert [*recorded_pairs(tmp_path / "plain.jsonl.xz")] == [(hash_prompt("What is kept of p001?"), "[]")]
