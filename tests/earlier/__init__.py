"""Homes as earlier versions of oneiros left them, packed; what opens them must go on from there.

`first` is of the first version that had everything which a memory keeps (indices of format 1), `previous` of the last
one that kept its state inside the memory (format 3), `landed` of one that keeps it as this one does (format 14). In
each, that version made a memory with one topic, took two conversations in, answered a question that finds something and
one that finds nothing, accepted a statement into the topic, and wrote the report of the week. Of the first two the
memory and its indices go on; their state inside the memory stays where it is, and is not read.
"""

import tarfile
from pathlib import Path

VERSIONS = ("first", "previous", "landed")
WITH_STATE = ("landed",)  # those that kept their state where this version looks for it
ACCEPTED = "The relay listens on port 2526."  # what topics/mail.md says since then; of `landed` its line 2
UNANSWERED = "nothing-like-it"
SESSIONS = ("11111111-1111-4111-8111-111111111111", "22222222-2222-4222-8222-222222222222")


def unpack(version: str, home: Path) -> Path:
    """Lays the home of a version into an empty folder; the memory's root."""
    with tarfile.open(Path(__file__).with_name(f"{version}.tar.xz")) as packed:
        packed.extractall(home, filter="data")
    return home / ".oneiros" / "memory"
