"""What happens at the edges of a step: events, the heartbeat, whole checkpoints, and a polite end on SIGTERM."""

import logging
import signal
import time
from collections.abc import Callable
from types import FrameType
from typing import Any

from transformers import TrainerCallback

from trainer.training.events import EventFile, rename_metrics
from trainer.training.run_folder import RunFolder

logger = logging.getLogger(__name__)

TALK_STEPS = 5  # every step is an event; a person reads fewer


class StopFlag:
    """Set by SIGTERM or SIGINT; read at the end of a step, where a checkpoint continues bit for bit."""

    def __init__(self) -> None:
        self.is_set = False

    def listen(self) -> None:
        """Take over both signals. Works in the main thread of a process only."""
        signal.signal(signal.SIGTERM, self._set)
        signal.signal(signal.SIGINT, self._set)

    def _set(self, number: int, frame: FrameType | None) -> None:  # noqa: ARG002  (what signal handlers are given)
        self.is_set = True


class RunCallback(TrainerCallback):  # type: ignore[misc]  # transformers is not typed for us
    """Reports a run into its folder."""

    def __init__(self, run: RunFolder, events: EventFile, stop: StopFlag, clock: Callable[[], float] = time.monotonic):
        self._run = run
        self._events = events
        self._stop = stop
        self._clock = clock
        self._began = 0.0
        self._first = 0

    def on_train_begin(self, args: Any, state: Any, control: Any, **kwargs: Any) -> None:  # noqa: ARG002  (theirs)
        self._began, self._first = self._clock(), state.global_step
        self._events.write("begin", state.global_step, total=state.max_steps)
        self._events.beat("running", step=state.global_step, total=state.max_steps)

    def on_step_end(self, args: Any, state: Any, control: Any, **kwargs: Any) -> None:  # noqa: ARG002  (theirs)
        self._events.beat("running", step=state.global_step)
        if self._stop.is_set:
            control.should_save = control.should_training_stop = True

    def on_log(self, args: Any, state: Any, control: Any, logs: Any = None, **kwargs: Any) -> None:  # noqa: ARG002
        values = rename_metrics(logs or {})
        if "loss" not in values:
            return  # the summary at the end
        event = "evaluation" if "eval_loss" in (logs or {}) else "log"
        done = state.global_step - self._first
        seconds = (self._clock() - self._began) / done if done else 0.0
        self._events.write(event, state.global_step, **values, seconds_per_step=round(seconds, 3))
        if event == "log" and state.global_step % TALK_STEPS:
            return
        left = seconds * (state.max_steps - state.global_step) / 60
        logger.info(
            "step %d of %d, %s loss %.3f, %.1f minutes left",
            state.global_step,
            state.max_steps,
            "validation" if event == "evaluation" else "training",
            values["loss"],
            left,
        )

    def on_save(self, args: Any, state: Any, control: Any, **kwargs: Any) -> None:  # noqa: ARG002  (theirs)
        folder = self._run.mark_complete(state.global_step)
        self._events.write("save", state.global_step, path=str(folder.relative_to(self._run.path)))

    def on_train_end(self, args: Any, state: Any, control: Any, **kwargs: Any) -> None:  # noqa: ARG002  (theirs)
        self._events.write("end", state.global_step)
