import os
import tomllib
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memory_server.errors import NeedsRepair, UsageError
from memory_server.settings import (
    MemorySettings,
    PersonSettings,
    check_settings,
    person_settings_file,
    read_memory_settings,
    read_person_settings,
)
from memory_server.settings_file import change_setting, parse_setting, toml_value

WRITTEN = b"""# mine\r
model = "bge-small" # why this one\r
  index_max_lines=150\r
index_max_chars = 20_000\r
"""


@pytest.fixture
def file(tmp_path: Path) -> Path:
    return tmp_path / "oneiros.toml"


def test_a_missing_file_means_the_defaults(file: Path) -> None:
    assert read_memory_settings(file) == MemorySettings()
    assert read_person_settings(file) == PersonSettings()


def test_a_changed_setting_leaves_every_other_byte_alone(file: Path) -> None:
    file.write_bytes(WRITTEN)

    change_setting(file, "model", "minilm")
    change_setting(file, "index_max_lines", 100)

    assert file.read_bytes() == WRITTEN.replace(b"bge-small", b"minilm").replace(b"150", b"100")


def test_a_new_setting_is_added_at_the_end(file: Path) -> None:
    file.write_bytes(b"# mine\n\nmodel = 'x'")

    change_setting(file, "index_max_lines", 100)

    assert file.read_bytes() == b"# mine\n\nmodel = 'x'\nindex_max_lines = 100\n"


def test_a_setting_makes_the_file_and_its_folder(tmp_path: Path) -> None:
    file = tmp_path / "oneiros" / "config.toml"

    change_setting(file, "trusted_roots", ["/a ]", '/b"#'])

    assert read_person_settings(file).trusted_roots == ("/a ]", '/b"#')


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("trusted_roots = ['a]b', # one\n  'c',\n] # all\n", "trusted_roots = [] # all\n"),
        ('"trusted_roots" = [ ]\n', '"trusted_roots" = []\n'),
        ('trusted_roots = ["#"]#\n', "trusted_roots = []#\n"),
        ('trusted_roots = ["""\n]"""]\nquery_log = true\n', "trusted_roots = []\nquery_log = true\n"),
    ],
)
def test_a_value_is_replaced_whole_and_its_comment_kept(file: Path, before: str, after: str) -> None:
    file.write_text(before, encoding="utf-8")

    change_setting(file, "trusted_roots", [])

    assert file.read_text(encoding="utf-8") == after


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("[table]\na = 1\n", 'model = "minilm"\n\n[table]\na = 1\n'),
        (
            'other = """\nmodel = "x"\n"""\nmodel = "y"\n',
            'other = """\nmodel = "x"\n"""\nmodel = "minilm"\n',
        ),
    ],
)
def test_a_setting_is_found_where_toml_has_it(file: Path, before: str, after: str) -> None:
    file.write_text(before, encoding="utf-8")

    change_setting(file, "model", "minilm")

    assert file.read_text(encoding="utf-8") == after


def test_a_file_that_is_no_toml_is_left_alone(file: Path) -> None:
    file.write_text("model = \n", encoding="utf-8")

    with pytest.raises(UsageError):
        change_setting(file, "model", "minilm")

    assert file.read_text(encoding="utf-8") == "model = \n"


@given(st.one_of(st.text(), st.booleans(), st.integers(-(2**60), 2**60), st.floats(allow_nan=False)))
def test_any_value_reads_back_as_it_was_written(value: object) -> None:
    assert tomllib.loads(f"value = {toml_value(value)}")["value"] == value


@given(st.lists(st.text(max_size=20), max_size=5), st.lists(st.text(max_size=20), max_size=5))
def test_a_setting_may_be_changed_again_and_again(
    tmp_path_factory: pytest.TempPathFactory, first: list[str], second: list[str]
) -> None:
    file = tmp_path_factory.mktemp("person") / "config.toml"

    change_setting(file, "query_log", False)
    change_setting(file, "trusted_roots", first)
    change_setting(file, "trusted_roots", second)

    assert read_person_settings(file) == PersonSettings(query_log=False, trusted_roots=tuple(second))


@pytest.mark.parametrize(
    ("text", "line", "what"),
    [
        (b"\nmodle = 'x'\n", 2, "modle is no setting here"),
        (b"\n\nmodel = 3\n", 3, "It takes text"),
        (b"index_max_lines = true\n", 1, "a whole number"),
        (b"model = 'x'\nmodel = \n", 2, "not valid TOML"),
        (b"\nindex_max_lines = 0\n", 2, "index_max_lines is 0"),
        (b"model = '\xff'\n", None, "UTF-8"),
        (b"x = " + b"[" * 5_000, 1, "not valid TOML"),
        (b"index_max_lines = " + b"9" * 5_000, 1, "not valid TOML"),
    ],
)
def test_what_is_wrong_with_settings_is_named_with_its_line(
    file: Path, text: bytes, line: int | None, what: str
) -> None:
    file.write_bytes(text)

    with pytest.raises(UsageError, match=what) as raised:
        read_memory_settings(file)

    assert (raised.value.where, raised.value.line) == (file, line)


@given(st.binary(max_size=200))
def test_any_bytes_are_settings_or_a_usage_error(tmp_path_factory: pytest.TempPathFactory, raw: bytes) -> None:
    file = tmp_path_factory.mktemp("root") / "oneiros.toml"
    file.write_bytes(raw)

    try:
        read_memory_settings(file)
    except UsageError as error:
        assert "\n" not in error.what


def test_a_memory_cannot_set_what_belongs_to_a_person(file: Path) -> None:
    file.write_text('trusted_roots = ["/"]\n', encoding="utf-8")

    with pytest.raises(UsageError, match="trusted_roots is no setting here"):
        read_memory_settings(file)


def test_settings_that_cannot_be_opened_need_repair(tmp_path: Path) -> None:
    with pytest.raises(NeedsRepair, match="cannot be read"):
        read_memory_settings(tmp_path)


@pytest.mark.parametrize("share", ["0", "1.5", "nan", "-1"])
def test_a_share_of_the_cores_is_above_0_and_up_to_1(file: Path, share: str) -> None:
    file.write_text(f"embedding_share = {share}\n", encoding="utf-8")

    with pytest.raises(UsageError, match="embedding_share"):
        read_person_settings(file)


@pytest.mark.parametrize(
    ("key", "text", "value"),
    [
        ("trusted_roots", "/a, /b", ["/a", "/b"]),
        ("embedding_cores", "0, 2", [0, 2]),
        ("embedding_cores", "[1]", [1]),
        ("embedding_share", "0.25", 0.25),
        ("query_log", "false", False),
    ],
)
def test_a_typed_value_is_read_by_the_type_of_its_setting(key: str, text: str, value: object) -> None:
    assert parse_setting(PersonSettings, key, text) == value


@pytest.mark.parametrize(
    ("key", "text"),
    [
        ("query_log", "no"),
        ("query_log", "1"),
        ("embedding_cores", "true"),
        ("answer_tokens", "1"),
        ("answer_tokens", "500\nquery_log = true"),
        ("answer_tokens", "9" * 5_000),
        ("unknown", "1"),
    ],
)
def test_a_typed_value_that_does_not_fit_is_a_usage_error(key: str, text: str) -> None:
    with pytest.raises(UsageError):
        parse_setting(PersonSettings, key, text)


def test_the_settings_of_a_person_stand_in_their_own_folder() -> None:
    home = Path("/home/ada")

    assert person_settings_file({}, home) == home / ".config" / "oneiros" / "config.toml"
    assert person_settings_file({"XDG_CONFIG_HOME": "/x"}, home) == Path("/x/oneiros/config.toml")


@pytest.mark.parametrize(
    ("key", "value", "message"),
    [
        ("reader", "gpt", "one of: anthropic, claude-cli, openai-url, rules, trainer"),
        ("idle_hours", -1.0, "a number from 0"),
        ("budget_day_usd", float("inf"), "a number from 0"),
        ("project_aliases", ("old",), "name=value"),
        ("reference_tags", ("=x",), "name=value"),
        ("reference_tags", ("ops=re:(",), "cannot be compiled"),
        ("deny_words", ("re:[",), "cannot be compiled"),
        ("daily_at", "24:00", "a time as 04:00, or nothing for never"),
        ("reference_minutes", -1.0, "a number from 0"),
    ],
)
def test_a_setting_of_ingest_that_cannot_be_used_is_told(key: str, value: object, message: str) -> None:
    with pytest.raises(UsageError, match=message):
        check_settings({key: value}, PersonSettings)


def test_a_pipe_in_the_place_of_settings_is_named_and_not_waited_for(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "oneiros.toml")

    with pytest.raises(NeedsRepair, match="no ordinary file"):
        read_memory_settings(tmp_path / "oneiros.toml")


def test_an_empty_choice_is_named_as_it_is_typed(file: Path) -> None:
    file.write_text('chat_backend = "claude"\n', encoding="utf-8")

    with pytest.raises(UsageError, match=r"It takes one of: '', anthropic"):
        read_person_settings(file)
