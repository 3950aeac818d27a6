"""What a model may cost: money and tokens, a run and a day, over processes and older ledgers."""

from concurrent.futures import ThreadPoolExecutor
from datetime import date
from pathlib import Path

import pytest

from crawler.model.budget import Budget, Price, Spent
from memory_server.errors import NeedsRepair

FIRST, SECOND = date(2026, 3, 1), date(2026, 3, 2)


def budget(folder: Path, today: date = FIRST, *, usd: float = 1.0, day_tokens: int = 0) -> Budget:
    return Budget(folder / "spent.json", today=today, run_usd=usd, day_usd=1.5, day_tokens=day_tokens)


def test_two_runs_that_spend_at_once_are_both_counted(tmp_path: Path) -> None:
    budgets = [budget(tmp_path) for _ in range(4)]

    with ThreadPoolExecutor(4) as threads:
        list(threads.map(lambda one: [one.spend(0.25, tokens=10) for _ in range(25)], budgets))

    assert budgets[0].spent_today() == Spent(usd=25.0, tokens=1_000)


def test_a_days_spending_is_seen_by_the_next_run(tmp_path: Path) -> None:
    budget(tmp_path).spend(1.0)

    second, tomorrow = budget(tmp_path), budget(tmp_path, SECOND)

    assert (second.refusal(0.4), tomorrow.refusal(0.6)) == ("", "")
    assert second.refusal(0.6) == "the budget does not allow another 0.6000 USD"


def test_a_run_stops_at_its_own_limit_before_that_of_the_day(tmp_path: Path) -> None:
    run = budget(tmp_path)
    run.spend(0.9)

    assert run.refusal(0.2) and not budget(tmp_path).refusal(0.2)


def test_tokens_of_a_day_are_counted_over_runs_and_begin_anew_on_the_next(tmp_path: Path) -> None:
    budget(tmp_path, day_tokens=1_000).spend(0, tokens=800)

    again, tomorrow = budget(tmp_path, day_tokens=1_000), budget(tmp_path, SECOND, day_tokens=1_000)

    assert again.refusal(0, tokens=201) == "the budget of 1,000 tokens a day is spent"
    assert (again.refusal(0, tokens=200), tomorrow.refusal(0, tokens=1_000)) == ("", "")


def test_no_number_of_tokens_is_no_limit(tmp_path: Path) -> None:
    run = budget(tmp_path)
    run.spend(0, tokens=10**9)

    assert run.refusal(0, tokens=10**9) == ""


def test_a_day_that_was_stopped_is_stopped_for_every_run_of_it(tmp_path: Path) -> None:
    budget(tmp_path).spend(0.1, tokens=5)
    budget(tmp_path).stop("the usage limit is met")

    assert budget(tmp_path).refusal(0, tokens=1) == "the usage limit is met"
    assert budget(tmp_path).spent_today() == Spent(0.1, 5, "the usage limit is met")
    assert budget(tmp_path, SECOND).refusal(0, tokens=1) == ""


def test_a_chat_is_bound_by_money_alone(tmp_path: Path) -> None:
    run = budget(tmp_path, day_tokens=10)
    run.spend(0, tokens=10)
    run.stop("the usage limit is met")

    assert (run.refusal(0.5), bool(run.refusal(2.0))) == ("", True)


@pytest.mark.parametrize("text", ["", "{", '{"2026-03-01": "much"}', "[]", '{"2026-03-01": \xff}'])
def test_a_damaged_ledger_is_named_and_lets_nothing_be_spent(tmp_path: Path, text: str) -> None:
    file = tmp_path / "spent.json"
    file.write_text(text, encoding="latin-1")
    run = budget(tmp_path)

    for ask in (run.spent_today, lambda: run.refusal(0.1), lambda: run.spend(0.1), lambda: run.stop("enough")):
        with pytest.raises(NeedsRepair, match=r"spent\.json: .* no model is asked\. Mend the file, or move it away"):
            ask()

    assert file.read_text(encoding="latin-1") == text


def test_what_is_given_back_was_not_spent(tmp_path: Path) -> None:
    run = budget(tmp_path)

    run.spend(0.75)
    run.spend(-0.75)

    assert (run.spent_today().usd, run.spent_in_run, run.refusal(1.0)) == (0.0, 0.0, "")


@pytest.mark.parametrize(
    ("price", "estimate"), [(Price(), 0.0), (Price(3, 15), (101 * 3 + 50 * 15) / 1e6), (Price(0, 400), 0.02)]
)
def test_an_estimate_is_the_most_that_a_call_can_cost(price: Price, estimate: float) -> None:
    assert price.estimate(350, 50) == pytest.approx(estimate)
