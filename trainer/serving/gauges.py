"""How busy, full, hot and hungry the card is; the processor's figures where there is no card.

Three sources behind one shape: NVIDIA's library, the files that AMD's driver keeps below /sys (whose names hold across
ROCm releases; `rocm-smi` where they are missing), and psutil. A thread reads them twice a second and answers come from
its last look, so any number of clients may poll.
"""

import json
import logging
import subprocess
import threading
import time
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, Protocol

import psutil
import pynvml

logger = logging.getLogger(__name__)

SAMPLE_SECONDS = 0.5
GIB = 1 << 30
DRM = Path("/sys/class/drm")


@dataclass(frozen=True, slots=True)
class Gauge:
    """One look at one device; None where the device does not tell."""

    name: str
    kind: str  # nvidia, amd or cpu
    busy_percent: float | None
    memory_used_gb: float
    memory_total_gb: float
    celsius: float | None = None
    watts: float | None = None

    @property
    def free_gb(self) -> float:
        """What is left of the memory."""
        return self.memory_total_gb - self.memory_used_gb


class Source(Protocol):
    """Something that can be looked at."""

    def read(self) -> list[Gauge]: ...

    def close(self) -> None: ...


class NvidiaSource:
    """NVIDIA cards by the driver's library, opened once."""

    def __init__(self) -> None:
        """Raises pynvml.NVMLError where there is no driver."""
        pynvml.nvmlInit()
        self._cards = [pynvml.nvmlDeviceGetHandleByIndex(index) for index in range(pynvml.nvmlDeviceGetCount())]

    def read(self) -> list[Gauge]:
        return [self._gauge(card) for card in self._cards]

    def close(self) -> None:
        pynvml.nvmlShutdown()

    def _gauge(self, card: Any) -> Gauge:
        memory = pynvml.nvmlDeviceGetMemoryInfo(card)
        milliwatts = ask_card(lambda: pynvml.nvmlDeviceGetPowerUsage(card))
        return Gauge(
            name=str(pynvml.nvmlDeviceGetName(card)),
            kind="nvidia",
            busy_percent=ask_card(lambda: pynvml.nvmlDeviceGetUtilizationRates(card).gpu),
            memory_used_gb=memory.used / GIB,
            memory_total_gb=memory.total / GIB,
            celsius=ask_card(lambda: pynvml.nvmlDeviceGetTemperature(card, pynvml.NVML_TEMPERATURE_GPU)),
            watts=None if milliwatts is None else milliwatts / 1000,
        )


def ask_card(question: Callable[[], float]) -> float | None:
    """The card's answer; None where this card does not know, as many do not know their power."""
    try:
        return float(question())
    except pynvml.NVMLError:
        return None


class AmdSource:
    """AMD cards by the driver's files."""

    def __init__(self, root: Path = DRM):
        self._cards = sorted(file.parent for file in root.glob("card[0-9]*/device/mem_info_vram_total"))

    @property
    def is_found(self) -> bool:
        """Whether there is such a card."""
        return bool(self._cards)

    def read(self) -> list[Gauge]:
        return [self._gauge(card) for card in self._cards]

    def close(self) -> None:
        pass

    def _gauge(self, card: Path) -> Gauge:
        sensors = next(iter(sorted((card / "hwmon").glob("hwmon*"))), card)
        millidegrees = read_number(sensors / "temp1_input")
        microwatts = read_number(sensors / "power1_average")
        if microwatts is None:  # newer cards tell the power of this moment alone
            microwatts = read_number(sensors / "power1_input")
        return Gauge(
            name=f"AMD {card.parent.name}",
            kind="amd",
            busy_percent=read_number(card / "gpu_busy_percent"),
            memory_used_gb=(read_number(card / "mem_info_vram_used") or 0.0) / GIB,
            memory_total_gb=(read_number(card / "mem_info_vram_total") or 0.0) / GIB,
            celsius=None if millidegrees is None else millidegrees / 1000,
            watts=None if microwatts is None else microwatts / 1e6,
        )


def read_number(file: Path) -> float | None:
    """The number that a driver's file holds; None where it holds none."""
    try:
        return float(file.read_text(encoding="ascii").strip())
    except (OSError, ValueError):
        return None


class RocmSmiSource:
    """AMD cards by `rocm-smi --json`, whose key names differ between releases and are matched by their words."""

    def __init__(self, run: Callable[[], str] | None = None):
        self._run = run or rocm_smi
        self.is_found = bool(self.read())

    def read(self) -> list[Gauge]:
        try:
            cards = json.loads(self._run())
        except (OSError, subprocess.SubprocessError, json.JSONDecodeError):
            return []
        return [rocm_gauge(name, card) for name, card in sorted(cards.items()) if name.startswith("card")]

    def close(self) -> None:
        pass


def rocm_smi() -> str:
    """What the tool prints."""
    command = ["rocm-smi", "--showuse", "--showmeminfo", "vram", "--showtemp", "--showpower", "--json"]
    return subprocess.run(command, capture_output=True, text=True, timeout=5, check=True).stdout


def rocm_gauge(name: str, card: Mapping[str, str]) -> Gauge:
    """The gauge of one card's figures."""

    def figure(*words: str) -> float | None:
        for key, value in card.items():
            if all(word in key.casefold() for word in words):
                try:
                    return float(value)
                except ValueError:
                    continue
        return None

    return Gauge(
        name=f"AMD {name}",
        kind="amd",
        busy_percent=figure("gpu use"),
        memory_used_gb=(figure("vram", "used") or 0.0) / GIB,
        memory_total_gb=(figure("vram", "total memory (b)") or 0.0) / GIB,
        celsius=figure("temperature", "edge") or figure("temperature"),
        watts=figure("power", "(w)"),
    )


class CpuSource:
    """The processor and its memory."""

    def __init__(self) -> None:
        psutil.cpu_percent()  # the first call only sets the mark that the next one measures from

    def read(self) -> list[Gauge]:
        memory = psutil.virtual_memory()
        celsius = None
        if hasattr(psutil, "sensors_temperatures"):
            readings = [entry.current for entries in psutil.sensors_temperatures().values() for entry in entries]
            celsius = max(readings, default=None)
        name = f"CPU, {psutil.cpu_count()} cores"
        total, used = memory.total / GIB, (memory.total - memory.available) / GIB
        return [Gauge(name, "cpu", psutil.cpu_percent(), used, total, celsius)]

    def close(self) -> None:
        pass


def best_source() -> Source:
    """The card's source where there is one, else the processor's."""
    try:
        return NvidiaSource()
    except pynvml.NVMLError as error:
        logger.debug("no NVIDIA card: %s", error)
    for source in (AmdSource(), RocmSmiSource()):
        if source.is_found:
            return source
    return CpuSource()


class Gauges:
    """Looks at the source in a thread of its own; `latest` costs nothing."""

    def __init__(self, source: Source, *, seconds: float = SAMPLE_SECONDS, clock: Callable[[], float] = time.time):
        self._source = source
        self._seconds = seconds
        self._clock = clock
        self._end = threading.Event()
        self._latest = self._look()
        self._thread = threading.Thread(target=self._keep_looking, name="gauges", daemon=True)
        self._thread.start()

    def latest(self) -> dict[str, Any]:
        """The last look, as `/gpu` sends it."""
        return self._latest

    def gauges(self) -> list[Gauge]:
        """The last look, typed."""
        return [Gauge(**row) for row in self._latest["devices"]]

    def close(self) -> None:
        """End the thread and close the source."""
        self._end.set()
        self._thread.join()
        self._source.close()

    def _keep_looking(self) -> None:
        while not self._end.wait(self._seconds):
            self._latest = self._look()

    def _look(self) -> dict[str, Any]:
        try:
            devices = self._source.read()
        except (pynvml.NVMLError, OSError) as error:
            return {"available": False, "reason": str(error), "time": self._clock(), "devices": []}
        available = any(device.kind != "cpu" for device in devices)
        reason = "" if available else "no card was found; these are the processor's figures"
        rows = [asdict(device) for device in devices]
        return {"available": available, "reason": reason, "time": self._clock(), "devices": rows}
