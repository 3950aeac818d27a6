"""What paid back ends may cost a run and a day, with a hard stop.

Money is counted before it is spent: an estimate is reserved, and replaced by the true price afterwards. The ledger of
spending is one small file, so that `status` can show it and another process sees it.
"""

import json
from dataclasses import dataclass
from datetime import date
from pathlib import Path

from filelock import FileLock

from memory_server.machine.files import replace_file

CHARS_PER_TOKEN = 3.5  # a little fewer than English has, so that estimates are high rather than low


@dataclass(frozen=True, slots=True)
class Price:
    """What a model costs, in US dollars a million tokens; zero for one that runs at home."""

    input_usd: float = 0.0
    output_usd: float = 0.0

    def of(self, input_tokens: int, output_tokens: int) -> float:
        return (input_tokens * self.input_usd + output_tokens * self.output_usd) / 1e6

    def estimate(self, prompt_chars: int, max_output_tokens: int) -> float:
        """The most that one call can cost."""
        return self.of(int(prompt_chars / CHARS_PER_TOKEN) + 1, max_output_tokens)


class Budget:
    """The money of one run. `today` is passed in; a day's spending of earlier runs counts too."""

    def __init__(self, ledger: Path, *, today: date, run_usd: float, day_usd: float):
        self.spent_in_run = 0.0
        self._ledger = ledger
        self._today = today.isoformat()
        self._run_usd = run_usd
        self._day_usd = day_usd

    def spent_today(self) -> float:
        """What all runs of this day have spent."""
        return self._days().get(self._today, 0.0)

    def allows(self, estimate_usd: float) -> bool:
        """Whether a call may be made. What costs nothing is always allowed."""
        if estimate_usd == 0:
            return True
        in_run = self.spent_in_run + estimate_usd <= self._run_usd
        return in_run and self.spent_today() + estimate_usd <= self._day_usd

    def spend(self, usd: float) -> None:
        """Notes money that is spent, or about to be; a negative amount gives back."""
        if usd == 0:
            return
        self.spent_in_run += usd
        self._ledger.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
        with FileLock(f"{self._ledger}.lock"):  # another run, or the recorder's, spends at the same time
            days = self._days()
            days[self._today] = days.get(self._today, 0.0) + usd
            replace_file(self._ledger, json.dumps(days, sort_keys=True).encode())

    def _days(self) -> dict[str, float]:
        if not self._ledger.exists():
            return {}
        return {str(day): float(usd) for day, usd in json.loads(self._ledger.read_text(encoding="utf-8")).items()}
