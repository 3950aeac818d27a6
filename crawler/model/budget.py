"""What a model may cost a run and a day, in dollars and in tokens, with a hard stop.

Money is counted before it is spent: an estimate is reserved, and replaced by the true price afterwards. The ledger of
spending is one small file, so that `status` can show it and another process sees it. Where it cannot be read, nothing
is asked: the limit of the day would begin anew.
"""

from dataclasses import dataclass
from datetime import date
from pathlib import Path

import msgspec
from filelock import FileLock

from memory_server.errors import NeedsRepair
from memory_server.machine.files import UNREADABLE_JSON, make_folder, replace_file

CHARS_PER_TOKEN = 3.5  # a little fewer than English has, so that estimates are high rather than low


@dataclass(frozen=True, slots=True)
class Price:
    """What a model costs, in US dollars a million tokens; zero for one that runs at home or on a subscription."""

    input_usd: float = 0.0
    output_usd: float = 0.0

    def compute_cost(self, input_tokens: int, output_tokens: int) -> float:
        return (input_tokens * self.input_usd + output_tokens * self.output_usd) / 1e6

    def estimate(self, prompt_chars: int, max_output_tokens: int) -> float:
        """The most that one call can cost."""
        return self.compute_cost(int(prompt_chars / CHARS_PER_TOKEN) + 1, max_output_tokens)


class Spent(msgspec.Struct, frozen=True, omit_defaults=True):
    """What one day has cost."""

    usd: float = 0.0
    tokens: int = 0
    stopped: str = ""  # why nothing more is asked on this day; empty while it may be


class Budget:
    """The limits of one run. `today` is passed in; a day's spending of earlier runs counts too.

    `day_tokens` 0: no limit but that of money. Whatever reads the ledger raises NeedsRepair where that is damaged.
    """

    def __init__(self, ledger: Path, *, today: date, run_usd: float, day_usd: float, day_tokens: int = 0):
        self.spent_in_run = 0.0
        self._ledger = ledger
        self._today = today.isoformat()
        self._run_usd = run_usd
        self._day_usd = day_usd
        self._day_tokens = day_tokens

    def spent_today(self) -> Spent:
        """What all runs of this day have spent."""
        return self._days().get(self._today, Spent())

    def refusal(self, estimate_usd: float, tokens: int = 0) -> str:
        """Why a call may not be made; empty where it may. `tokens` of a reading, to which alone their limit applies."""
        today = self.spent_today()
        if tokens and today.stopped:
            return today.stopped
        if tokens and self._day_tokens and today.tokens + tokens > self._day_tokens:
            return f"the budget of {self._day_tokens:,} tokens a day is spent"
        if estimate_usd and (
            self.spent_in_run + estimate_usd > self._run_usd or today.usd + estimate_usd > self._day_usd
        ):
            return f"the budget does not allow another {estimate_usd:.4f} USD"
        return ""

    def spend(self, usd: float, *, tokens: int = 0) -> None:
        """Notes what is spent, or about to be; a negative amount of money gives back, tokens are never given back."""
        tokens = max(0, tokens)
        if usd or tokens:
            self.spent_in_run += usd
            self._note(usd=usd, tokens=tokens)

    def stop(self, why: str) -> None:
        """Asks nothing more on this day, in no process."""
        self._note(stopped=why)

    def _note(self, *, usd: float = 0.0, tokens: int = 0, stopped: str = "") -> None:
        make_folder(self._ledger.parent)
        with FileLock(f"{self._ledger}.lock"):  # another run spends at the same time
            days = self._days()
            old = days.get(self._today, Spent())
            days[self._today] = Spent(old.usd + usd, old.tokens + tokens, stopped or old.stopped)
            replace_file(self._ledger, msgspec.json.encode(days, order="sorted"))

    def _days(self) -> dict[str, Spent]:
        try:
            return msgspec.json.decode(self._ledger.read_bytes(), type=dict[str, Spent])
        except FileNotFoundError:
            return {}
        except (*UNREADABLE_JSON, OSError) as error:
            what = "what was paid on which day cannot be read, so no model is asked"
            remedy = "Mend the file, or move it away: what today has cost is then counted from nothing"
            raise NeedsRepair(what, where=self._ledger, remedy=remedy) from error
