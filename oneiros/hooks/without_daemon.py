"""What the start of a session must say, where the daemon does not: approved files that changed without the person.

    python -P -m oneiros.hooks.without_daemon ROOT

The hook starts this program and waits for it within its own time, so it imports little, takes no lock and writes
nothing.
"""

import os
import sys
from pathlib import Path

from dream.decisions.approvals import Approvals, doubts_for_model, doubts_for_person
from dream.proposals.store import ProposalStore
from memory_server.root.paths import MemoryRoot, state_home
from memory_server.settings import person_settings_file, read_person_settings
from oneiros.hooks.injection import HookAnswer, tagged

SILENT = "oneiros: the memory does not answer yet. If it stays so, `oneiros doctor` tells why."


def start_without_daemon(root: MemoryRoot, max_bytes: int) -> HookAnswer:
    """The warning, and that there is no more to be had."""
    found = Approvals(root, ProposalStore(root)).unexplained()
    context = tagged(doubts_for_model(found), max_bytes)
    return HookAnswer(context=context, to_person="\n".join([SILENT, *doubts_for_person(found)]))


def main() -> None:
    person = read_person_settings(person_settings_file(os.environ, Path.home()))
    answer = start_without_daemon(MemoryRoot(Path(sys.argv[1]), state_home(os.environ, Path.home())), person.hook_bytes)
    sys.stdout.write(answer.as_json("SessionStart"))


if __name__ == "__main__":
    main()
