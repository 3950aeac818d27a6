"""Settings as a person types and reads them: one key changed, every other byte of its file as it was."""

import dataclasses
import tomllib
from pathlib import Path
from typing import get_type_hints

import tomlkit

from memory_server.machine.files import replace_file
from memory_server.settings import ReferenceTable, check_settings, parse_toml


def change_setting(file: Path, key: str, value: object, *, follow: bool = False) -> None:
    """Writes one key of a settings file. Creates the file where there is none.

    `follow`: a person's own file may be a link to where they keep it; that of a memory is replaced.
    Raises UsageError for a file that is not valid TOML.
    """
    text = file.read_bytes().decode("utf-8") if file.exists() else ""
    parse_toml(text, file)
    document = tomlkit.parse(text)
    document[key] = list(value) if isinstance(value, tuple) else value
    replace_file(file, document.as_string(), follow=follow)


def is_set(file: Path, key: str) -> bool:
    """Whether a settings file gives a key, with whatever value. Raises UsageError for a file that is not valid TOML."""
    return file.exists() and key in parse_toml(file.read_bytes().decode("utf-8"), file)


def toml_value(value: object) -> str:
    """A value as TOML writes it: strings, numbers, booleans and flat lists of these."""
    found = list(value) if isinstance(value, tuple) else value
    if isinstance(found, list) and any(isinstance(one, dict) for one in found):
        return f"[{', '.join(tomlkit.inline_table().append('x', one)['x'].as_string() for one in found)}]"
    return tomlkit.item(found).as_string()


def settings_keys(kind: type) -> tuple[str, ...]:
    """The names of all settings of a kind, in the order of their documentation."""
    return tuple(field.name for field in dataclasses.fields(kind))


def setting_text(kind: type, key: str) -> str:
    """What a setting is for, and its default, as a sentence."""
    found = next(field for field in dataclasses.fields(kind) if field.name == key)
    says = str(found.metadata["says"])
    return f"{says[:1].upper()}{says[1:]}. Default: {toml_value(found.default)}."


def parse_setting(kind: type, key: str, text: str) -> object:
    """A setting's value from what a person typed: text as it is, several texts with commas, anything else as TOML.

    Raises UsageError for an unknown key, and for a value of another type or out of range.
    """
    wanted = get_type_hints(kind).get(key, str)
    value: object = text
    if wanted == tuple[str, ...]:
        value = [item.strip() for item in text.split(",") if item.strip()]
    elif wanted in (bool, int, float, tuple[int, ...], tuple[ReferenceTable, ...]):
        value = _as_toml(f"[{text}]" if wanted == tuple[int, ...] and not text.startswith("[") else text)
    check_settings({key: value}, kind)
    return value


def _as_toml(text: str) -> object:
    """The value that TOML reads; the text itself where it reads none, or more than one."""
    try:
        found = tomllib.loads(f"value = {text}")
    except (ValueError, RecursionError):
        return text
    return found["value"] if found.keys() == {"value"} else text
