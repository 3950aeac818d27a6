"""Settings: what belongs to a memory, and what belongs to a person.

`oneiros.toml` in a memory root names the model and limits of size and nothing else, since it may come with a cloned
repository. Everything that decides what is read, run or trusted stands in the person's own file,
`~/.config/oneiros/config.toml`. Unknown keys are errors: a misspelt setting must not pass for a set one.
"""

import dataclasses
import json
import math
import re
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TypeVar, get_args, get_origin, get_type_hints

from memory_server.errors import NeedsRepair, UsageError
from memory_server.machine.files import replace_file

Settings = TypeVar("Settings")
Value = TypeVar("Value")

COMPRESSORS = ("extractive", "claude-cli", "anthropic", "openai-url", "trainer")
TIME_OF_DAY = re.compile(r"([01]\d|2[0-3]):[0-5]\d")
REFERENCE_ENDINGS = (".md", ".txt", ".rst", ".py", ".sh", ".js", ".ts", ".c", ".cpp", ".h", ".yml", ".yaml", ".toml")


def setting(default: Value, says: str) -> Value:
    """A field of the settings: its default, and what a person is told of it."""
    return dataclasses.field(default=default, metadata={"says": says})


@dataclass(frozen=True, slots=True)
class MemorySettings:
    """`oneiros.toml`: what belongs to one memory."""

    model: str = setting("", "the embedding model's name; empty until `oneiros init` has settled it")
    index_max_lines: int = setting(200, "most lines of MEMORY.md; Claude Code cuts what is beyond")
    index_max_chars: int = setting(25_000, "most characters of MEMORY.md; Claude Code cuts what is beyond")

    def __post_init__(self) -> None:
        for key, limit in (("index_max_lines", self.index_max_lines), ("index_max_chars", self.index_max_chars)):
            if limit < 1:
                raise UsageError(f"{key} is {limit}", remedy="Give a number from 1 on")


@dataclass(frozen=True, slots=True)
class PersonSettings:
    """`config.toml`: what belongs to one person on one machine."""

    trusted_roots: tuple[str, ...] = setting((), "memories inside repositories that may take effect")
    embedding_share: float = setting(0.5, "share of the cores that index; at least one does")
    embedding_cores: tuple[int, ...] = setting((), "these cores instead of a share, a worker each")
    embedding_engine: str = setting(
        "onnx", "onnx, or torch where that extra is installed; same vectors, other machines"
    )
    raw_vectors: bool = setting(True, "an index of what archived sessions said, which recall answers from")
    query_log: bool = setting(True, "keep a local, redacted log of questions")
    structured_output: bool = setting(
        False, "MCP answers carry JSON beside the text; Claude Code then shows the JSON alone"
    )
    answer_tokens: int = setting(2_000, "length of one answer by default, in tokens of 4 characters")
    crawl_roots: tuple[str, ...] = setting(
        (), "more folders of transcripts: `/mnt/laptop/.claude`, or `laptop=/mnt/...`"
    )
    machine: str = setting("", "name of this machine in filters; empty: its network name")
    ingest_allow: tuple[str, ...] = setting((), "projects taken in, as paths or patterns with `*`; empty: all of them")
    ingest_deny: tuple[str, ...] = setting((), "projects never read past their first entries; wins over ingest_allow")
    deny_words: tuple[str, ...] = setting((), "masked wherever they occur, whatever their case; `re:...` is a pattern")
    project_aliases: tuple[str, ...] = setting((), "`old=new`: the identity of a project that stands for another")
    idle_hours: float = setting(6.0, "hours without an entry after which a session counts as closed")
    compressor: str = setting(
        "extractive",
        "who writes compressed sessions: extractive, or a model by claude-cli, anthropic, openai-url, trainer",
    )
    compressor_model: str = setting("", "model that a paid or local back end is asked for")
    compressor_url: str = setting("", "address of an OpenAI-compatible service, or a preset: ollama, trainer")
    compressor_key_variable: str = setting("", "environment variable that holds the service's key")
    compressor_usd_in: float = setting(0.0, "dollars that a million tokens of input cost")
    compressor_usd_out: float = setting(0.0, "dollars that a million tokens of output cost")
    budget_run_usd: float = setting(1.0, "dollars that one ingest may spend at most")
    budget_day_usd: float = setting(5.0, "dollars that all ingests of a day may spend at most")
    reference_roots: tuple[str, ...] = setting((), "project folders whose files are indexed as context")
    reference_endings: tuple[str, ...] = setting(
        REFERENCE_ENDINGS, "endings of the files that are read in reference_roots"
    )
    reference_tags: tuple[str, ...] = setting(
        (), "`tag=pattern`: tags references by a file's name, or with `re:` by its text"
    )
    reference_minutes: float = setting(
        10.0, "minutes between two looks of the daemon at references; 0: only at `oneiros ingest`"
    )
    daily_at: str = setting(
        "04:00", "time at which the daemon takes in what is new, by the wall clock; empty: only at `oneiros ingest`"
    )
    recorder: str = setting(
        "deterministic", "deterministic, or model: the one that `compressor` names types what finished sessions said"
    )
    dream_extractor: str = setting(
        "deterministic", "deterministic, or model: the one that `compressor` names is asked as well"
    )
    dream_hunks_a_day: int = setting(12, "most hunks that new proposals of one day hold; the rest waits")
    dream_expiry_days: int = setting(30, "days after which a hunk that nobody decided is withdrawn")
    dream_stale_days: int = setting(120, "days after which an untouched topic that sessions still speak of is reported")
    dream_history: str = setting(
        "git", "where replaced statements stay: git, or topic (a section of the topic as well)"
    )
    dream_commit: bool = setting(True, "make a git commit of each acceptance")
    hook_bytes: int = setting(2_000, "most bytes that a hook may put before the model; 0: nothing")
    idle_minutes: float = setting(30.0, "minutes without a request after which the daemon ends; 0: never")
    http_port: int = setting(0, "port of the daemon on 127.0.0.1; 0: any free one, which `oneiros status` names")
    memory_ceiling_mb: int = setting(2_000, "megabytes beyond which the daemon restarts itself; 0: no ceiling")

    def __post_init__(self) -> None:
        self._check_intake()
        if self.daily_at and not TIME_OF_DAY.fullmatch(self.daily_at):
            raise UsageError(f"daily_at is {self.daily_at!r}", remedy="Write a time as 04:00, or nothing for never")
        if not 0 < self.embedding_share <= 1:
            raise UsageError(f"embedding_share is {self.embedding_share}", remedy="Give a share above 0 and up to 1")
        if self.embedding_engine not in ("onnx", "torch"):
            raise UsageError(f"embedding_engine is {self.embedding_engine!r}", remedy="Give onnx or torch")
        for key in ("dream_hunks_a_day", "dream_expiry_days", "dream_stale_days"):
            if getattr(self, key) < 1:
                raise UsageError(f"{key} is {getattr(self, key)}", remedy="Give a number from 1 on")
        for key in ("recorder", "dream_extractor"):
            if getattr(self, key) not in ("deterministic", "model"):
                raise UsageError(f"{key} is {getattr(self, key)!r}", remedy="Give deterministic or model")
        if self.dream_history not in ("git", "topic"):
            raise UsageError(f"dream_history is {self.dream_history!r}", remedy="Give git or topic")
        if self.idle_minutes < 0:
            raise UsageError(f"idle_minutes is {self.idle_minutes}", remedy="Give minutes, or 0 for never")
        if not 0 <= self.http_port < 65_536:
            raise UsageError(f"http_port is {self.http_port}", remedy="Give a port from 1 to 65535, or 0 for any")
        if self.memory_ceiling_mb != 0 and self.memory_ceiling_mb < 400:
            raise UsageError(f"memory_ceiling_mb is {self.memory_ceiling_mb}", remedy="Give 400 or more, or 0 for none")
        if not 0 <= self.hook_bytes <= 9_000:
            raise UsageError(f"hook_bytes is {self.hook_bytes}", remedy="Give a number from 0 to 9000")
        if not 200 <= self.answer_tokens <= 2_400:
            raise UsageError(f"answer_tokens is {self.answer_tokens}", remedy="Give a number from 200 to 2400")

    def _check_intake(self) -> None:
        if self.compressor not in COMPRESSORS:
            raise UsageError(f"compressor is {self.compressor!r}", remedy=f"Choose one of: {', '.join(COMPRESSORS)}")
        prices = ("compressor_usd_in", "compressor_usd_out", "budget_run_usd", "budget_day_usd")
        for key in ("idle_hours", *prices, "reference_minutes"):
            if not 0 <= getattr(self, key) < math.inf:
                raise UsageError(f"{key} is {getattr(self, key)}", remedy="Give a number from 0 on")
        for key in ("project_aliases", "reference_tags"):
            for pair in getattr(self, key):
                if not all(part.strip() for part in pair.partition("=")[::2]):
                    raise UsageError(f"{key} holds {pair!r}", remedy="Write name=value")
        for pattern in [*self.deny_words, *(pair.partition("=")[2] for pair in self.reference_tags)]:
            _require_pattern(pattern)


def _require_pattern(word: str) -> None:
    if word.startswith("re:"):
        try:
            re.compile(word.removeprefix("re:"))
        except re.error as error:
            raise UsageError(f"the pattern {word!r} cannot be compiled ({error})", remedy="Mend it") from error


def read_memory_settings(file: Path) -> MemorySettings:
    """The settings of a memory; the defaults where the file does not exist. Raises UsageError with its line."""
    return _read(file, MemorySettings)


def read_person_settings(file: Path) -> PersonSettings:
    """The settings of a person; the defaults where the file does not exist. Raises UsageError with its line."""
    return _read(file, PersonSettings)


def person_settings_file(environment: Mapping[str, str], home: Path) -> Path:
    """`config.toml` below `$XDG_CONFIG_HOME/oneiros`, else below `~/.config/oneiros`."""
    configured = environment.get("XDG_CONFIG_HOME")
    return (Path(configured) if configured else home / ".config") / "oneiros" / "config.toml"


def change_setting(file: Path, key: str, value: object) -> None:
    """Writes one key of a settings file and leaves every other byte alone. Creates the file where there is none.

    Raises UsageError where that cannot be done, such as in a file that is not valid TOML.
    """
    text = file.read_bytes().decode("utf-8") if file.exists() else ""
    old = _parsed(text, file)
    span = _value_span(text, key) if key in old else None
    if span:
        text = text[: span[0]] + toml_value(value) + text[span[1] :]
    else:
        newline = "\r\n" if "\r\n" in text else "\n"
        text += newline if text and not text.endswith("\n") else ""
        text += f"{key} = {toml_value(value)}{newline}"
    if _parsed(text, file) != {**old, key: list(value) if isinstance(value, tuple) else value}:
        raise UsageError(f"{key} cannot be set here", where=file, remedy=f"Write {key} = {toml_value(value)} by hand")
    replace_file(file, text, follow=True)


def _value_span(text: str, key: str) -> tuple[int, int] | None:
    """Where the value of a key starts and ends, without the comment behind it; None where the key is not found."""
    found = _key_line(text, key)
    if found is None:
        return None
    start = found.end()
    ends = [match.start() for match in re.finditer(r"[ \t]*(?:#|\r?\n|\Z)", text[start:])]
    for end in ends:
        try:
            tomllib.loads(f"value = {text[start : start + end]}")
        except tomllib.TOMLDecodeError:
            continue  # the mark stands inside a text or list
        return start, start + end
    return None


def _key_line(text: str, key: str) -> re.Match[str] | None:
    return re.search(rf"""^[ \t]*["']?{re.escape(key)}["']?[ \t]*=[ \t]*""", text, re.MULTILINE)


def _line_of(text: str, key: str) -> int:
    found = _key_line(text, key)
    return 1 + text.count("\n", 0, found.start()) if found else 1


def toml_value(value: object) -> str:
    """A value as TOML writes it: strings, numbers, booleans and flat lists of these."""
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, int | float):
        return repr(value)
    if isinstance(value, list | tuple):
        return f"[{', '.join(toml_value(item) for item in value)}]"
    return json.dumps(str(value), ensure_ascii=False).replace("\x7f", "\\u007f")  # the escapes of JSON are TOML's


def settings_keys(kind: type) -> tuple[str, ...]:
    """The names of all settings of a kind, in the order of their documentation."""
    return tuple(field.name for field in dataclasses.fields(kind))


def setting_text(kind: type, key: str) -> str:
    """What a setting is for, and its default, as a sentence."""
    found = next(field for field in dataclasses.fields(kind) if field.name == key)
    says = str(found.metadata["says"])
    return f"{says[:1].upper()}{says[1:]}. Default: {toml_value(found.default)}."


def parse_setting(kind: type, key: str, text: str) -> object:
    """A setting's value from what a person typed.

    Raises UsageError for an unknown key, and for a value of another type or out of range.
    """
    hints = get_type_hints(kind)
    if key not in hints:
        raise UsageError(f"there is no setting {key!r}", remedy=f"Known ones: {', '.join(settings_keys(kind))}")
    wanted = hints[key]
    if wanted is str:
        return text
    if get_origin(wanted) is tuple and get_args(wanted)[0] is str:
        return [item.strip() for item in text.split(",") if item.strip()]
    source = f"[{text}]" if get_origin(wanted) is tuple and not text.startswith("[") else text
    try:
        values = tomllib.loads(f"value = {source}")
    except (ValueError, RecursionError):
        values = {}
    if values.keys() != {"value"}:
        raise UsageError(f"{text!r} is no value for {key}", remedy=f"It takes {_type_name(wanted)}")
    value: object = values["value"]
    _require_type(key, value, wanted, where=None)
    kind(**{key: tuple(value) if isinstance(value, list) else value})  # refuses what is out of range
    return value


def _read(file: Path, kind: type[Settings]) -> Settings:
    if file.exists() and not file.is_file():  # a pipe would be waited for
        raise NeedsRepair(
            "the settings cannot be read (no ordinary file)", where=file, remedy="Put a file in its place"
        )
    try:
        text = file.read_bytes().decode("utf-8")
    except FileNotFoundError:
        return kind()
    except OSError as error:
        raise NeedsRepair(
            f"the settings cannot be read ({error.strerror})", where=file, remedy="Check the file's rights"
        ) from error
    except UnicodeDecodeError as error:
        raise UsageError("the settings are not UTF-8 text", where=file, remedy="Save the file as UTF-8") from error
    values, hints = _parsed(text, file), get_type_hints(kind)
    for key, value in values.items():
        if key not in hints:
            raise UsageError(
                f"there is no setting {key!r} here",
                where=file,
                line=_line_of(text, key),
                remedy=f"Remove it; known ones: {', '.join(settings_keys(kind))}",
            )
        _require_type(key, value, hints[key], where=file, line=_line_of(text, key))
    try:
        return kind(**{key: tuple(value) if isinstance(value, list) else value for key, value in values.items()})
    except UsageError as error:
        line = _line_of(text, error.what.partition(" ")[0])  # what is out of range begins with its key
        raise UsageError(error.what, where=file, line=line, remedy=error.remedy) from error


def _parsed(text: str, file: Path) -> dict[str, object]:
    try:
        return tomllib.loads(text)
    except (ValueError, RecursionError) as error:  # beside its own error: numbers of thousands of digits, deep lists
        named = re.search(r"at line (\d+)", str(error))
        line = int(named[1]) if named else 1 + text.count("\n")
        what = f"the settings are not valid TOML ({str(error).partition(' (at ')[0]})"
        raise UsageError(what, where=file, line=line, remedy="Mend that line") from error


def _require_type(key: str, value: object, wanted: object, *, where: Path | None, line: int | None = None) -> None:
    if get_origin(wanted) is tuple:
        fits = isinstance(value, list) and all(_is_a(item, get_args(wanted)[0]) for item in value)
    else:
        fits = _is_a(value, wanted)
    if not fits:
        shown = str(value)[:100]
        raise UsageError(f"{key} is {shown!r}", where=where, line=line, remedy=f"It takes {_type_name(wanted)}")


def _is_a(value: object, wanted: object) -> bool:
    if wanted is float:
        return isinstance(value, int | float) and not isinstance(value, bool)
    if wanted is int:
        return isinstance(value, int) and not isinstance(value, bool)
    return isinstance(wanted, type) and isinstance(value, wanted)


def _type_name(wanted: object) -> str:
    if get_origin(wanted) is tuple:
        return f"a list of {_type_name(get_args(wanted)[0])}"
    names = {bool: "true or false", int: "a whole number", float: "a number", str: "text"}
    return names.get(wanted, str(wanted)) if isinstance(wanted, type) else str(wanted)
