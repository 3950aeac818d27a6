"""`python -m trainer`: the entry point of the stages and of the service.

The libraries read these variables while they are imported, so they are settled before anything else is.
"""

import os
import sys

# No look-up on the model hub unless a command is told to download.
os.environ.setdefault("HF_HUB_OFFLINE", "1" if {"--download", "--allow-download"}.isdisjoint(sys.argv) else "0")
if os.environ["HF_HUB_OFFLINE"] == "1":
    # Bars of the libraries land in every log; only a download is long enough to want one.
    os.environ.setdefault("TQDM_DISABLE", "1")
# Tokenizers may not fork around our threads.
os.environ.setdefault("TOKENIZERS_PARALLELISM", "false")
# Otherwise torch's threads spin while they wait, and on a busy machine each step takes many times longer.
os.environ.setdefault("OMP_WAIT_POLICY", "PASSIVE")

from trainer.cli.main import run

if __name__ == "__main__":
    run()
