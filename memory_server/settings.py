"""Settings: what belongs to a memory, and what belongs to a person.

`oneiros.toml` in a memory root names the model and limits of size and nothing else, since it may come with a cloned
repository. Everything that decides what is read, run or trusted stands in the person's own file,
`~/.config/oneiros/config.toml`. Unknown keys are errors: a misspelt setting must not pass for a set one.
`settings_file.py` changes the files.
"""

import re
import tomllib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, fields
from pathlib import Path
from typing import Annotated, Literal, TypeVar

import msgspec
from msgspec import Meta, inspect

from memory_server.errors import NeedsRepair, UsageError
from memory_server.machine.clock import is_zone

Settings = TypeVar("Settings")
Value = TypeVar("Value")

REFERENCE_ENDINGS = tuple(".md .txt .rst .py .sh .js .ts .c .cpp .h .ino .groovy .yml .yaml .toml".split())

Count = Annotated[int, Meta(ge=1)]
Amount = Annotated[float, Meta(ge=0, le=1e9)]  # a bound keeps infinity out
Share = Annotated[float, Meta(gt=0, le=1)]
TimeOfDay = Annotated[
    str, Meta(pattern=r"^(([01]\d|2[0-3]):[0-5]\d)?\Z", description="a time as 04:00, or nothing for never")
]
Pairs = tuple[Annotated[str, Meta(pattern=r"^[^=]*[^=\s][^=]*=[\s\S]*\S", description="name=value")], ...]
MACHINE = (  # no part begins with "-", which ssh would read as an option
    r"^(?P<name>[A-Za-z0-9][A-Za-z0-9_.-]{0,62})=ssh://((?P<user>[A-Za-z0-9_][A-Za-z0-9_.@-]{0,100})@)?"
    r"((?P<host>[A-Za-z0-9][A-Za-z0-9._-]{0,252})|\[(?P<ipv6>[0-9A-Fa-f:]{2,45})\])(:(?P<port>[0-9]{1,5}))?/?\Z"
)
Machines = tuple[Annotated[str, Meta(pattern=MACHINE, description="name=ssh://user@host, or with :port")], ...]
AGENTS = "codex, gemini, copilot, opencode, cursor"
Agent = Annotated[str, Meta(pattern=rf"^({AGENTS.replace(', ', '|')})\Z", description=f"one of: {AGENTS}")]
ChatBackEnd = Literal["", "claude-cli", "anthropic", "openai-url", "trainer"]
Reader = Literal["rules", "claude-cli", "anthropic", "openai-url", "trainer"]


def setting(default: Value, says: str) -> Value:
    """A field of the settings: its default, and what a person is told of it."""
    return field(default=default, metadata={"says": says})


class ReferenceTable(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """One `[[references]]` of the person's settings: folders whose files are indexed as context."""

    name: str
    roots: tuple[str, ...]  # folders, or patterns of folders: `~/0_*`
    endings: tuple[str, ...] = ()  # none: those of `reference_endings`
    tags: tuple[str, ...] = ()  # `ops`, or `ops=deploy*` as in `reference_tags`
    machine: str = ""  # one of `machines`, on which the folders lie; empty: here
    minutes: Amount | None = None  # between two looks; none: `reference_minutes`

    def __post_init__(self) -> None:
        if not self.name or not self.roots or not all(root.startswith(("/", "~/")) for root in self.roots):
            raise ValueError("it wants a name, and roots that begin with / or ~/")


@dataclass(frozen=True, slots=True)
class MemorySettings:
    """`oneiros.toml`: what belongs to one memory."""

    model: str = setting("", "the embedding model's name; empty until `oneiros init` has chosen it")
    index_max_lines: Count = setting(200, "most lines of MEMORY.md; Claude Code cuts what is beyond")
    index_max_chars: Count = setting(25_000, "most characters of MEMORY.md; Claude Code cuts what is beyond")


@dataclass(frozen=True, slots=True)
class PersonSettings:
    """`config.toml`: what belongs to one person on one machine."""

    trusted_roots: tuple[str, ...] = setting((), "memories inside repositories that may take effect")
    both_memories: bool = setting(True, "inside a project whose memory you trust, the account's memory answers too")
    signing_key: str = setting("", "public half of the key that signs your decisions, and its fingerprint")
    embedding_share: Share = setting(0.5, "share of the cores that index; at least one does")
    embedding_cores: tuple[int, ...] = setting((), "these cores instead of a share, a worker each")
    embedding_engine: Literal["onnx", "torch"] = setting(
        "onnx", "onnx, or torch where that extra is installed; same vectors, other machines"
    )
    semantic: Literal["chromadb", "scan"] = setting(
        "chromadb", "what the daemon asks by meaning: ChromaDB, or a scan of all vectors, in less memory"
    )
    sparse_model: str = setting("", "a sparse model that finds beside words and meaning; empty: none")
    late_model: str = setting("", "a late-interaction model by which the best are reranked; empty: the embedding model")
    rerank_model: str = setting("", "a cross-encoder that reads the best passages with the question; empty: none")
    raw_vectors: bool = setting(True, "an index of what archived sessions said, which recall answers from")
    query_log: bool = setting(True, "keep a local, redacted log of questions")
    use_breaks_ties: bool = setting(True, "of hits that score the same, the one that was used more stands first")
    half_lives: Pairs = setting(
        ("semantic=30", "procedural=14", "episodic=7"), "days after which a use counts half, by type of source"
    )
    fade_days: Count = setting(60, "days for which sessions and episodes stay whole, whatever their strength")
    archive_max_mb: Annotated[int, Meta(ge=0)] = setting(
        0, "megabytes of archived turns beyond which the report suggests to prune; 0: no such size"
    )
    backup_days: Annotated[int, Meta(ge=0)] = setting(
        30, "days after which the report says that the last backup is old; 0: never"
    )
    structured_output: bool = setting(
        False, "MCP answers carry JSON beside the text; Claude Code then shows the JSON alone"
    )
    answer_tokens: Annotated[int, Meta(ge=200, le=2_400)] = setting(
        500, "length of one answer of six hits to a model, in tokens of 4 characters"
    )
    crawl_roots: tuple[str, ...] = setting(
        (), "more folders of transcripts: `/mnt/laptop/.claude`, or `laptop=/mnt/...`"
    )
    agents: tuple[Agent, ...] = setting((), f"other agents whose sessions are taken in: {AGENTS}")
    speakers: tuple[str, ...] = setting((), "your names in conversations of several that you take in by `--as chat`")
    time_zone: str = setting("", "zone in which your days are counted, as Europe/Berlin; empty: the machine's")
    machine: str = setting("", "name of this machine in filters; empty: its network name")
    machines: Machines = setting((), "your other machines, whose sessions ssh fetches: `laptop=ssh://user@host`")
    ingest_allow: tuple[str, ...] = setting((), "projects taken in, as paths or patterns with `*`; empty: all of them")
    ingest_deny: tuple[str, ...] = setting((), "projects never read past their first entries; wins over ingest_allow")
    deny_words: tuple[str, ...] = setting((), "masked wherever they occur, whatever their case; `re:...` is a pattern")
    project_aliases: Pairs = setting((), "`old=new`: the identity of a project that stands for another")
    idle_hours: Amount = setting(6.0, "hours without an entry after which a session counts as closed")
    reader: Reader = setting(
        "rules", "who reads sessions: rules, or a model by claude-cli, anthropic, openai-url, trainer"
    )
    reader_model: str = setting("", "model that the reader's service is asked for")
    reader_url: str = setting("", "address of an OpenAI-compatible service, or a preset: ollama, trainer")
    reader_key_variable: str = setting("", "environment variable that holds the service's key")
    reader_usd_in: Amount = setting(0.0, "dollars that a million tokens of input cost; 0: a subscription, or your own")
    reader_usd_out: Amount = setting(0.0, "dollars that a million tokens of output cost")
    reader_tokens_day: Annotated[int, Meta(ge=0)] = setting(
        100_000, "tokens that readings by a model may take a day; 0: no limit but that of money"
    )
    reader_projects: tuple[str, ...] = setting(
        (), "projects whose sessions a model may read, by name, folder or pattern; empty: all that are taken in"
    )
    chat_backend: ChatBackEnd = setting(
        "", "who answers `oneiros chat`: claude-cli, anthropic, openai-url, trainer; empty: nobody, so nothing is sent"
    )
    chat_model: str = setting("", "model that the chat's back end is asked for")
    chat_url: str = setting("", "address of an OpenAI-compatible service for the chat, or a preset: ollama, trainer")
    chat_key_variable: str = setting("", "environment variable that holds that service's key")
    chat_usd_in: Amount = setting(0.0, "dollars that a million tokens of the chat's input cost")
    chat_usd_out: Amount = setting(0.0, "dollars that a million tokens of the chat's output cost")
    chat_tokens: Annotated[int, Meta(ge=200, le=50_000)] = setting(
        3_000, "tokens of 4 characters that passages of the memory may take in one question of a chat"
    )
    budget_run_usd: Amount = setting(1.0, "dollars that one ingest, or one answer of a chat, may spend at most")
    budget_day_usd: Amount = setting(5.0, "dollars that all ingests and answers of a day may spend at most")
    team_url: str = setting("", "address of your team's memory, to which `oneiros publish` sends; empty: none")
    reference_roots: tuple[str, ...] = setting((), "project folders whose files are indexed as context")
    reference_endings: tuple[str, ...] = setting(
        REFERENCE_ENDINGS, "endings of the files that are read in reference_roots"
    )
    reference_tags: Pairs = setting((), "`tag=pattern`: tags references by a file's name, or with `re:` by its text")
    references: tuple[ReferenceTable, ...] = setting(
        (), "named sources beside reference_roots, a table each: name, roots, endings, tags, machine, minutes"
    )
    reference_minutes: Amount = setting(
        5.0, "minutes between two looks of the daemon at references; 0: only at `oneiros ingest`"
    )
    daily_at: TimeOfDay = setting(
        "04:00", "time at which the daemon takes in what is new, by the wall clock; empty: only at `oneiros ingest`"
    )
    dream_at: TimeOfDay = setting(
        "04:30", "time at which the daemon dreams, behind the daily ingest; empty: only at `oneiros dream`"
    )
    dream_hunks_a_day: Count = setting(
        12, "most hunks that new proposals of one day hold; the rest waits, and all where three times as many are open"
    )
    dream_expiry_days: Count = setting(30, "days after which a hunk is withdrawn that reviews since left undecided")
    dream_stale_days: Count = setting(
        120, "days after which an untouched topic that sessions still speak of is reported"
    )
    dream_history: Literal["git", "topic"] = setting(
        "git", "where replaced statements stay: git, or topic (a section of the topic as well)"
    )
    dream_commit: bool = setting(True, "make a git commit of each acceptance")
    hook_bytes: Annotated[int, Meta(ge=0, le=9_000)] = setting(
        2_000, "most bytes that a hook may put before the model; 0: nothing"
    )
    muted_projects: tuple[str, ...] = setting(
        (), "projects, by name or folder, in whose sessions hooks put nothing before the model"
    )
    muted_pointers: tuple[str, ...] = setting(
        (), "topics that hooks do not point to: `topics/x.md`, or `project=topics/x.md`; recall finds them"
    )
    idle_minutes: Amount = setting(30.0, "minutes without a request after which the daemon ends; 0: never")
    http_port: Annotated[int, Meta(ge=0, le=65_535)] = setting(
        8_377, "port of the daemon on 127.0.0.1; the next free one where it is taken, and for 0 any: `oneiros status`"
    )
    memory_ceiling_mb: Annotated[int, Meta(ge=0)] = setting(
        2_000, "megabytes beyond which the daemon restarts itself; 0: no ceiling"
    )

    def __post_init__(self) -> None:
        if 0 < self.memory_ceiling_mb < 400:
            raise UsageError(f"memory_ceiling_mb is {self.memory_ceiling_mb}", remedy="It takes 400 or more, or 0")
        if self.time_zone and not is_zone(self.time_zone):
            raise UsageError(f"time_zone is {self.time_zone!r}", remedy="It takes a name such as Europe/Berlin")
        _require_patterns("deny_words", self.deny_words)
        tags = (tag for table in self.references for tag in table.tags)
        _require_patterns("reference_tags", (pair.partition("=")[2] for pair in (*self.reference_tags, *tags)))
        if len({table.name for table in self.references}) < len(self.references):
            raise UsageError("references holds one name twice", remedy="Give each table a name of its own")


def _require_patterns(key: str, words: Iterable[str]) -> None:
    for word in words:
        try:
            re.compile(word.removeprefix("re:") if word.startswith("re:") else "")
        except re.error as error:
            raise UsageError(f"{key} holds {word!r}, which cannot be compiled ({error})", remedy="Mend it") from error


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


def check_settings(values: Mapping[str, object], kind: type[Settings]) -> Settings:
    """Settings of a kind from values as TOML has them.

    Raises UsageError, whose text begins with the key, for an unknown key and for a value that does not fit.
    """
    known = [one.name for one in fields(kind)]  # type: ignore[arg-type]  # a dataclass
    for key in values:
        if key not in known:
            raise UsageError(f"{key} is no setting here", remedy=f"Remove it; known ones: {', '.join(known)}")
    try:
        return msgspec.convert(values, kind)
    except msgspec.ValidationError as error:
        key = str(error).partition("`$.")[2].partition("`")[0].partition("[")[0]
        shown = repr(values[key])[:100]
        [wanted] = (one.type for one in inspect.type_info(kind).fields if one.name == key)  # type: ignore[attr-defined]
        raise UsageError(f"{key} is {shown}", remedy=f"It takes {_describe_kind(wanted)}") from error


def _describe_kind(kind: inspect.Type) -> str:
    """What a setting takes, in words."""
    match kind:
        case inspect.Metadata(extra_json_schema={"description": str(words)}):
            return words
        case inspect.BoolType():
            return "true or false"
        case inspect.StructType(fields=fields):
            return f"a table of {', '.join(one.name for one in fields)}, whose roots begin with / or ~/"
        case inspect.LiteralType(values=values):
            return f"one of: {', '.join(str(value) or repr('') for value in values)}"
        case inspect.EnumType(cls=members):
            return f"one of: {', '.join(map(str, members))}"
        case inspect.VarTupleType(item_type=item):
            return f"a list, each {_describe_kind(item)}"
        case inspect.IntType() | inspect.FloatType():
            bounds = {"from": kind.ge, "above": kind.gt, "up to": kind.le}
            limits = "".join(f" {word} {bound:,.15g}" for word, bound in bounds.items() if bound is not None)
            return ("a whole number" if isinstance(kind, inspect.IntType) else "a number") + limits
    return "text"


def parse_toml(text: str, file: Path, named_as: str = "the settings are") -> dict[str, object]:
    """Raises UsageError with the line where the text is no TOML."""
    try:
        return tomllib.loads(text)
    except (ValueError, RecursionError) as error:  # beside its own error: numbers of thousands of digits, deep lists
        named = re.search(r"at line (\d+)", str(error))
        line = int(named[1]) if named else 1 + text.count("\n")
        what = f"{named_as} not valid TOML ({str(error).partition(' (at ')[0]})"
        raise UsageError(what, where=file, line=line, remedy="Mend that line") from error


def _read(file: Path, kind: type[Settings]) -> Settings:
    if file.exists() and not file.is_file():  # a pipe would be waited for
        raise NeedsRepair(
            "the settings cannot be read (no ordinary file)", where=file, remedy="Put a file in its place"
        )
    try:
        text = file.read_bytes().decode("utf-8")
    except (FileNotFoundError, NotADirectoryError):
        return kind()
    except OSError as error:
        raise NeedsRepair(
            f"the settings cannot be read ({error.strerror})", where=file, remedy="Check the file's rights"
        ) from error
    except UnicodeDecodeError as error:
        raise UsageError("the settings are not UTF-8 text", where=file, remedy="Save the file as UTF-8") from error
    try:
        return check_settings(parse_toml(text, file), kind)
    except UsageError as error:
        line = error.line or find_line(text, error.what.partition(" ")[0])
        raise UsageError(error.what, where=file, line=line, remedy=error.remedy) from error


def find_line(text: str, key: str) -> int:
    """The line on which a key stands, from 1; the first where it is not found."""
    found = re.search(rf"""^[ \t]*["']?{re.escape(key)}["']?[ \t]*=""", text, re.MULTILINE)
    return 1 + text.count("\n", 0, found.start()) if found else 1
