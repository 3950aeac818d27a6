"""A skill put where a client finds it, and taken away again: a folder of its own, or nothing.

It is the one thing that a decision writes outside of the memory, so it takes the place of nothing, and nothing goes but
what it put there: a file that the person has changed since stays.
"""

from pathlib import Path

from dream.records import hash_of
from memory_server.errors import ContentError, NeedsRepair, UsageError
from memory_server.layers.topics import read_text
from memory_server.machine.files import is_plain_file, make_folder, remove_file, replace_file


def skill_file(skills: Path, name: str) -> Path:
    """Where a skill would lie in a client's folder of skills. Raises UsageError where one of that name is there."""
    names = {path.name.casefold(): path for path in skills.iterdir()} if skills.is_dir() else {}
    if taken := names.get(name.casefold()):
        raise UsageError(f"there is a skill of this name: {taken}", remedy="Rename that one, or go without this one")
    return skills / name / "SKILL.md"


def put_skill(file: Path, text: str) -> str:
    """Writes a skill into a folder that is not there yet; returns the topmost folder that was made for it."""
    made = next(folder for folder in reversed((file.parent, *file.parents)) if not folder.exists())
    try:
        make_folder(file.parent.parent)
        file.parent.mkdir(mode=0o700)
        replace_file(file, text)
    except FileExistsError as error:
        raise UsageError(f"{file.parent} is there already", remedy="Nothing was written; look at it") from error
    except OSError as error:
        take_skill(file, str(made))
        what = f"the skill cannot be written ({error.strerror})"
        raise NeedsRepair(what, where=file, remedy="Mend that, then accept it again") from error
    return str(made)


def require_untouched(file: Path, after: str) -> None:
    """Raises ContentError unless the file is as it was put there."""
    if not is_plain_file(file):
        raise ContentError("the skill is not there any more", where=file, remedy="Nothing is left to take away")
    if hash_of(read_text(file)) != after:
        raise ContentError("it was changed since it was installed", where=file, remedy="Remove it yourself, if at all")


def take_skill(file: Path, made: str) -> None:
    """Removes a skill, and of the folders that were made for it those that hold nothing else."""
    if file.parent.is_dir():
        remove_file(file)
    for folder in file.parents:
        if not folder.is_relative_to(made) or not folder.is_dir() or any(folder.iterdir()):
            return
        folder.rmdir()
