"""What the service may do and where; read once by the command line and handed down."""

from dataclasses import dataclass
from pathlib import Path

PORT = 3011


@dataclass(frozen=True, slots=True)
class Settings:
    """The service's settings."""

    home: Path  # runs, data sets and the token lie below it
    token: str
    host: str = "127.0.0.1"
    names: tuple[str, ...] = ()  # further names of this machine that requests may carry
    threads: int = 1
    use_card: bool = True
    allow_download: bool = False  # whether a base that is not here may be fetched from the hub
    stop_training: bool = False  # whether the end of the service ends a training run, with a checkpoint
    max_waiting: int = 8  # answers that may wait for the model; one more is refused with 429
    max_tokens: int = 1024  # of one answer
    answer_seconds: float = 300.0  # an answer that takes longer is ended

    @property
    def runs(self) -> Path:
        """The folder of runs."""
        return self.home / "runs"

    @property
    def served_file(self) -> Path:
        """What was loaded last, as JSON; there is none where nothing is."""
        return self.home / "served.json"

    @property
    def cache(self) -> Path:
        """The models of this trainer, unpacked packaged ones too."""
        return self.home / "models"
