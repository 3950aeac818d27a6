"""Fine-tunes a small model on approved memory, serves it over HTTP and watches the machine it runs on."""

import os

# Nothing is told to the makers of the libraries, which look while they are imported.
os.environ.update(
    {
        "HF_HUB_DISABLE_TELEMETRY": "1",
        "HF_HUB_DISABLE_UPDATE_CHECK": "1",
        "ORT_DISABLE_TELEMETRY": "1",
        "DO_NOT_TRACK": "1",
    }
)
