"""Names that a request may give. None of them leads out of the trainer's home."""

import re
from pathlib import Path

from trainer.errors import UsageError
from trainer.training.presets import PACKAGED

NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,63}")
HUB_NAME = re.compile(r"[A-Za-z0-9][\w.-]*/[A-Za-z0-9][\w.-]*(@[0-9a-f]{40})?", re.ASCII)


def check_run(name: str) -> None:
    """Raises UsageError for what cannot be the name of a run."""
    if not NAME.fullmatch(name):
        raise UsageError(f"{name!r} is no name of a run", remedy="Use letters, digits, dots, dashes")


def check_base(name: str, models: Path) -> None:
    """Raises UsageError unless it is the packaged model, a folder below `models`, or a name on the hub.

    A hub's name that is also a path from where the service stands would be taken for that path.
    """
    is_own = NAME.fullmatch(name) and (models / name).is_dir()
    is_on_hub = HUB_NAME.fullmatch(name) and not Path(name).exists()
    if name != PACKAGED and not is_own and not is_on_hub:
        raise UsageError(f"there is no base {name!r}", remedy=f"Put its folder below {models}, or give its hub name")
