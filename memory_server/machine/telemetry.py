"""What the libraries of this program would tell their makers, switched off."""

import os

OFF = {
    "ORT_DISABLE_TELEMETRY": "1",  # ONNX Runtime; it writes below ~/.cache too
    "HF_HUB_DISABLE_TELEMETRY": "1",  # the model hub's client and what is built on it
    "HF_HUB_DISABLE_UPDATE_CHECK": "1",
    "ANONYMIZED_TELEMETRY": "False",  # ChromaDB; `index/semantic.py` says it too
    "DO_NOT_TRACK": "1",
}


def switch_telemetry_off() -> None:
    """Switches it off for this process and those that it starts. Call before any of the libraries is imported."""
    os.environ.update(OFF)
