"""Which model is loaded: none, or one. Loading and unloading happen one after the other."""

import threading
from pathlib import Path
from typing import Any

import torch

from trainer.errors import Busy, UsageError
from trainer.evaluation.evaluate import check_fit_to_serve
from trainer.files import read_json, write_json
from trainer.serving.answering import Model
from trainer.serving.settings import Settings
from trainer.training.base_model import find_base
from trainer.training.machine import this_machine
from trainer.training.run_folder import RunFolder


class ServedModel:
    """Owns the model in memory."""

    def __init__(self, settings: Settings):
        self._settings = settings
        self._turn = threading.Lock()
        self._model: Model | None = None
        self._name = ""

    @property
    def name(self) -> str | None:
        """What is loaded: a run's name, or a base's."""
        return self._name if self._model is not None else None

    def current(self) -> Model:
        """The loaded model. Raises Busy where there is none."""
        if self._model is None:
            raise Busy("no model is loaded", remedy="POST /inference/load")
        return self._model

    def load(self, *, run: str = "", base: str = "", force: bool = False) -> dict[str, Any]:
        """Load a run's base and adapter, or a base alone, in place of what is loaded.

        Raises BelowBase where the run is not fit to serve and force is not given.
        """
        if bool(run) == bool(base):
            raise UsageError("name either a run or a base")
        with self._turn:
            adapter: Path | None = None
            if run:
                folder = RunFolder(self._settings.runs / Path(run).name)
                base = str(folder.read()["base"])
                check_fit_to_serve(folder, force=force)
                adapter = folder.adapter
            torch.set_num_threads(self._settings.threads)
            files = find_base(base, self._settings.cache, download=self._settings.allow_download)
            machine = this_machine(use_card=self._settings.use_card)
            self._close()
            self._model = Model(
                files,
                adapter,
                machine,
                max_waiting=self._settings.max_waiting,
                seconds=self._settings.answer_seconds,
            )
            self._name = run or base
            write_json(self._settings.served_file, {"run": run} if run else {"base": base})
        return self.status()

    def load_last(self) -> dict[str, Any]:
        """Load again what was loaded when the service ended; nothing where nothing was.

        Raises as `load` does: a run that is no longer fit to serve is not loaded; what the libraries raise for torn
        weights or a full card comes through.
        """
        if not self._settings.served_file.exists():
            return self.status()
        last = read_json(self._settings.served_file)
        return self.load(run=str(last.get("run", "")), base=str(last.get("base", "")))

    def unload(self) -> dict[str, Any]:
        """Give the memory back; answers under way end."""
        with self._turn:
            self._close()
            self._settings.served_file.unlink(missing_ok=True)
        return self.status()

    def close(self) -> None:
        """The same at the end of the service, which loads it again when it starts anew."""
        with self._turn:
            self._close()

    def status(self) -> dict[str, Any]:
        """What is loaded and how long its line is."""
        model = self._model
        if model is None:
            return {"loaded": False, "model": None, "waiting": 0, "max_waiting": self._settings.max_waiting}
        return {
            "loaded": True,
            "model": self._name,
            "base": model.base.name,
            "adapter": str(model.adapter) if model.adapter else None,
            "waiting": model.waiting,
            "max_waiting": self._settings.max_waiting,
        }

    def _close(self) -> None:
        if self._model is not None:
            model, self._model = self._model, None
            model.close()
