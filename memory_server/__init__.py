"""Layers, chunks, embedding, indices, search, and the MCP tools over them."""

import os

# What the libraries would tell their makers, switched off for this process and those that it starts. They look while
# they are imported, some of them where no Python sees it: so in front of every module here.
OFF = {
    "ORT_DISABLE_TELEMETRY": "1",  # ONNX Runtime; it writes below ~/.cache too
    "HF_HUB_DISABLE_TELEMETRY": "1",  # the model hub's client and what is built on it
    "HF_HUB_DISABLE_UPDATE_CHECK": "1",
    "ANONYMIZED_TELEMETRY": "False",  # ChromaDB; `index/semantic.py` says it too
    "DO_NOT_TRACK": "1",
}

os.environ.update(OFF)
