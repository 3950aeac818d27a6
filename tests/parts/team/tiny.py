"""Settings of a team whose model is one of a few words, made on the spot."""

from pathlib import Path

import numpy as np

from parts.team.settings import TeamSettings
from tests.tiny_models import MARKS, dense_model

WORDS = tuple(f"w{number}" for number in range(60))


def tiny_settings(folder: Path, owner_dsn: str, dsn: str, dimensions: int = 384) -> TeamSettings:
    """Settings whose data lie in a folder."""
    table = np.random.default_rng(0).normal(size=(len(MARKS) + len(WORDS), dimensions)).astype(np.float32)
    dense_model(folder / "models" / "tiny", WORDS, table)
    return TeamSettings(dsn=dsn, owner_dsn=owner_dsn, folder=folder, model="tiny", connections=2)
