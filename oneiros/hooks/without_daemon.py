"""What the start of a session must say, where the daemon does not: approved files that changed without the person.

    python -P -m oneiros.hooks.without_daemon ROOT

The hook starts this program and waits for it within its own time, so it imports little, takes no lock and writes
nothing.
"""

import datetime as dt
import os
import sys
from pathlib import Path

from dream.decisions.approvals import doubts_for_model, doubts_for_person, read_approvals
from dream.decisions.unsigned import UnsignedDecisions
from memory_server.root.paths import MemoryRoot, state_home
from memory_server.settings import PersonSettings, person_settings_file, read_person_settings
from oneiros.hooks.call import HookAnswer, tag_lines

SILENT = "oneiros: the memory does not answer yet. If it stays so, `oneiros doctor` tells why."

NOTHING_KNOWN = "No decision about this memory is known here: if it is not new, they were removed."


def start_without_daemon(root: MemoryRoot, person: PersonSettings, now: dt.datetime) -> HookAnswer:
    """The warnings, and that there is no more to be had."""
    approvals = read_approvals(root, person.signing_key)
    found = approvals.find_unexplained()
    doubts = UnsignedDecisions(root, approvals, person.signing_key, found).since_session(now)
    context = tag_lines(doubts_for_model(found), person.hook_bytes)
    unknown = [NOTHING_KNOWN] if approvals.is_new else []
    to_person = [SILENT, *unknown, *doubts_for_person(found), *map(str, doubts)]
    return HookAnswer(context=context, to_person="\n".join(to_person))


def main() -> None:
    person = read_person_settings(person_settings_file(os.environ, Path.home()))
    root = MemoryRoot(Path(sys.argv[1]), state_home(os.environ, Path.home()))
    answer = start_without_daemon(root, person, dt.datetime.now(dt.UTC))
    sys.stdout.write(answer.as_json("SessionStart"))


if __name__ == "__main__":
    main()
