"""The key by which a person signs decisions: an SSH key of its own, which `ssh-keygen` makes, uses and checks.

It asks for the passphrase on the terminal itself, or waits for a touch of a hardware key. No agent is in its
environment, so nothing else unlocks the key.
"""

import base64
import hashlib
import os
import shutil
import subprocess
import tempfile
from functools import lru_cache
from pathlib import Path

from memory_server.errors import NeedsRepair
from memory_server.machine.files import replace_file

PROGRAM = "ssh-keygen"
SYSTEM_FOLDERS = f"{os.defpath}:/usr/local/bin:/opt/homebrew/bin"  # looked at before the path, which anybody may set
UNLOCKERS = ("SSH_AUTH_SOCK", "SSH_SK_PROVIDER")
NAMESPACE = "oneiros"
LOST = "Bring it, or take `signing_key` out of your settings and run `oneiros key new`"
SECONDS, TYPING_SECONDS = 20.0, 300.0


def fingerprint(public_line: str) -> str:
    """`SHA256:...` of a public key, whatever else its line says; empty for what is none."""
    try:
        key = base64.b64decode(public_line.split()[1], validate=True)
    except (IndexError, ValueError):
        return ""
    return "SHA256:" + base64.b64encode(hashlib.sha256(key).digest()).decode().rstrip("=")


def sign(file: Path, message: bytes) -> str:
    """The signature of a message; the passphrase is asked for on the terminal. Raises NeedsRepair without one."""
    if not file.is_file():
        raise NeedsRepair("the signing key is not on this machine", where=file, remedy=LOST)
    return run_keygen("-q", "-Y", "sign", "-f", str(file), "-n", NAMESPACE, data=message, at_terminal=True)


@lru_cache(maxsize=4096)  # one takes 5 ms
def verify(public_key: str, message: bytes, signature: str) -> bool:
    """Whether the person's key made this signature of this message.

    `ssh-keygen` names the key that it found, so that a file exchanged under its hands proves nothing.
    """
    with tempfile.TemporaryDirectory(prefix="oneiros-") as folder:
        signed = Path(folder, "signature")
        replace_file(signed, signature)
        try:
            output = run_keygen("-Y", "check-novalidate", "-n", NAMESPACE, "-s", str(signed), data=message)
        except NeedsRepair:
            return False
    return fingerprint(public_key) in output.split()


def run_keygen(*arguments: str, data: bytes | None = None, at_terminal: bool = False) -> str:
    """What `ssh-keygen` prints; at a terminal it speaks for itself. Raises NeedsRepair where it fails."""
    own = {name: value for name, value in os.environ.items() if name not in UNLOCKERS}
    done: subprocess.CompletedProcess[bytes]
    try:
        done = subprocess.run(
            [shutil.which(PROGRAM, path=SYSTEM_FOLDERS) or PROGRAM, *arguments],
            input=data,
            stdout=subprocess.PIPE,
            stderr=None if at_terminal else subprocess.DEVNULL,
            timeout=TYPING_SECONDS if at_terminal else SECONDS,
            check=False,
            env={**own, "SSH_ASKPASS_REQUIRE": "never", "LC_ALL": "C"},
        )
    except (OSError, subprocess.TimeoutExpired) as error:
        raise NeedsRepair(f"{PROGRAM} cannot be run ({error})", remedy="Install OpenSSH 8.2 or later") from error
    if done.returncode:
        raise NeedsRepair(f"{PROGRAM} {arguments[1]} failed", remedy="Try again, with the passphrase of the key")
    return done.stdout.decode("utf-8", "replace")
