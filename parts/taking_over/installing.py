"""A skill put where a client finds it, and taken away again: a folder of its own, or nothing.

It is the one thing that a decision writes outside of the memory, so it takes the place of nothing, and nothing goes but
what it put there: a file that the person has changed since stays.
"""

import os
from dataclasses import replace
from pathlib import Path

from dream.changes import Event, FileChange, hash_text
from dream.decisions.accept import Decisions
from dream.decisions.journal import new_nonce
from dream.decisions.presence import Consent
from dream.proposals.store import Approval
from memory_server.errors import ContentError, NeedsRepair, UsageError
from memory_server.layers.topics import read_text
from memory_server.machine.files import is_plain_file, make_folder, remove_file, replace_file
from parts.taking_over.deeds import Habit
from parts.taking_over.skill import make_name, skill_text


def install_skill(decisions: Decisions, habit: Habit, file: Path, shown: str, consent: Consent) -> None:
    """Puts a skill where `file` says; `shown` is how that is noted.

    Raises UsageError where another is there, NeedsRepair where the disk refuses: then it can be accepted again.
    """
    with decisions.hold_lock():
        decisions.chain().require_sound()
        text = skill_text(habit)
        if file.exists() and any(one.files[0].path == shown for one in list_installed(decisions)):
            raise UsageError("it is installed already", where=file, remedy="`oneiros skills revert` takes it away")
        require_place(file, text)
        made = put_skill(file, text)
        change, name = FileChange(shown, "", hash_text(text), hash_text(text)), make_name(habit)
        approval = Approval(
            Event.INSTALLED, decisions.now(), (change,), habit.id, label=made, text=name, nonce=new_nonce()
        )
        decisions.add_decision(approval, consent)


def list_installed(decisions: Decisions) -> list[Approval]:
    """The skills that were installed and not taken away again, by decisions that the chain vouches for."""
    found: dict[str, Approval] = {}
    for one in decisions.store.approvals():
        if one.event is Event.INSTALLED:
            found[one.files[0].path] = one
        elif one.event is Event.REVERTED:
            found.pop(one.files[0].path if one.files else "", None)
    chain = decisions.chain()
    return [one for one in found.values() if chain.find_entry(one)]


def uninstall_skill(decisions: Decisions, installed: Approval, file: Path, consent: Consent) -> None:
    """Takes a skill away, if it is still there. Raises ContentError where it has changed since."""
    with decisions.hold_lock():
        require_untouched(file, installed.files[0].after)
        change = replace(installed.files[0], before=installed.files[0].after, after="", approved="")
        approval = Approval(Event.REVERTED, decisions.now(), (change,), installed.nonce, nonce=new_nonce())
        decisions.chain().require_sound()
        take_skill(file, installed.label)
        decisions.add_decision(approval, consent)


def require_place(file: Path, text: str) -> None:
    """Raises UsageError where a skill of that name is there, in capitals or not; what a kill left is none."""
    skills, name = file.parent.parent, file.parent.name
    for folder in skills.iterdir() if skills.is_dir() else ():
        if folder.name.casefold() == name.casefold() and not _is_ours(folder, file, text):
            remedy = "Rename that one, or go without this one"
            raise UsageError(f"there is a skill of this name: {folder}", remedy=remedy)


def _is_ours(folder: Path, file: Path, text: str) -> bool:
    """Whether a folder holds this very skill, or what a write of it left that never ended."""
    if folder != file.parent or folder.is_symlink() or not folder.is_dir():
        return False
    others = [one for one in folder.iterdir() if not one.name.startswith(f".{file.name}.")]
    return not others or (others == [file] and is_plain_file(file) and read_text(file) == text)


def put_skill(file: Path, text: str) -> str:
    """Writes a skill; returns the topmost folder that was made for it. Raises NeedsRepair where the disk refuses."""
    made = next((folder for folder in reversed(file.parents) if not folder.exists()), file.parent)
    try:
        make_folder(file.parent)
        replace_file(file, text)
    except OSError as error:
        take_skill(file, str(made))
        what = f"the skill cannot be written ({error.strerror})"
        raise NeedsRepair(what, where=file, remedy="Mend that, then accept it again") from error
    return str(made)


def require_untouched(file: Path, after: str) -> None:
    """Raises ContentError where the file is another than the one that was put there; one that is gone is not."""
    if os.path.lexists(file) and not (is_plain_file(file) and hash_text(read_text(file)) == after):
        raise ContentError("it was changed since it was installed", where=file, remedy="Remove it yourself, if at all")


def take_skill(file: Path, made: str) -> None:
    """Removes a skill, and of the folders that were made for it those that hold nothing else."""
    if file.parent.is_dir():
        remove_file(file)
    for folder in file.parents:
        if not folder.is_relative_to(made) or (folder.is_dir() and any(folder.iterdir())):
            return
        if folder.is_dir():
            folder.rmdir()
