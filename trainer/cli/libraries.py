"""Quiets the libraries below the commands: their bars draw on every terminal and into every log; ours are few."""

import warnings


def quiet_libraries() -> None:
    """No bars and no advice to programmers; call it before a model is loaded."""
    import datasets  # noqa: PLC0415  (with transformers it takes seconds, which `--help` should not)
    import transformers  # noqa: PLC0415

    datasets.disable_progress_bars()
    transformers.logging.disable_progress_bar()
    transformers.logging.set_verbosity_error()
    warnings.filterwarnings("ignore", category=FutureWarning)
