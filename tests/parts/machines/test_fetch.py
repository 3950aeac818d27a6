"""What another machine may answer: a program named ssh says it, by the protocol, true or not."""

import ast
import os
import stat
import sys
import textwrap
import time
from collections.abc import Callable, Mapping
from pathlib import Path

import pytest
from msgspec.structs import replace

from memory_server.errors import UsageError
from parts.machines import connection, fetch, remote
from parts.machines.addresses import Address, parse_address
from parts.machines.fetch import Delivery, ask
from parts.machines.mirror import Mirror
from parts.machines.register import Register
from parts.machines.sessions import build_wanted_transcripts
from parts.machines.wanted import Known, WantedRoot
from tests.crawler.builders import working_session, write_transcript

LAPTOP = Address("laptop", "", "laptop", "")
FILE = "~/.claude/projects/-srv-app/a.jsonl"
PREAMBLE = f"""#!{sys.executable}
import base64, hashlib, json, re, struct, sys, time, zlib
said = sys.stdin.buffer.read()
request = json.loads(zlib.decompress(base64.b64decode(re.findall(rb'main\\("([^"]*)"\\)', said)[-1])))
out = sys.stdout.buffer
def frame(kind, content=b""):
    out.write(struct.pack(">cI", kind.encode(), len(content)) + content); out.flush()
def tell(kind, **fields):
    frame(kind, json.dumps(fields).encode())
def begin():
    out.write(b"\\noneiros:" + hashlib.sha256(request["nonce"].encode()).hexdigest().encode() + b"\\n")
    tell("H", mark="m")
def file(path={FILE!r}, content=b"one\\n", base=0, **more):
    told = dict(root=0, path=path, folder="~/.claude/projects", base=base, inode=1, size=4, changed_ns=5)
    tell("F", **{{**told, **more}})
    frame("D", content)
    frame("C", b"\\1" + b"h" * 16)
def end(**more):
    tell("E", **{{**dict(cut=False, days={{}}, cleanup_days=0), **more}})
"""
Says = Callable[..., Delivery]


@pytest.fixture
def says(tmp_path: Path) -> Says:
    """Asks a machine whose answer a few lines make."""

    def run(answer: str, known: Mapping[str, Known] | None = None, **limits: float) -> Delivery:
        program = tmp_path / "bin" / "ssh"
        program.parent.mkdir(exist_ok=True)
        program.write_text(PREAMBLE + textwrap.dedent(answer), encoding="utf-8")
        program.chmod(0o755)
        root = WantedRoot(("~/.claude/projects",), (".jsonl",), ("memory",), known=known or {})
        variables = {**os.environ, "PATH": f"{program.parent}:{os.environ['PATH']}", "HOME": str(tmp_path / "there")}
        with Mirror(tmp_path / "state" / "mirror") as mirror:
            delivery = ask(LAPTOP, [root], mirror, variables, **limits)  # type: ignore[arg-type]
            for sent in delivery.files:
                assert sent.here.parent == tmp_path / "state" / "mirror"
                assert stat.S_IMODE(sent.here.stat().st_mode) == 0o600
                assert stat.S_IMODE(sent.here.parent.stat().st_mode) == 0o700
        assert {path.name for path in tmp_path.iterdir()} <= {"bin", "state"}  # nothing is written elsewhere
        assert list(tmp_path.glob("state/*")) == []
        return delivery

    return run


def paths(delivery: Delivery) -> list[str]:
    return [sent.path for sent in delivery.files]


def test_a_true_answer_is_taken(says: Says) -> None:
    delivery = says("begin(); file(); end(days={20000: 1}, cleanup_days=30)")

    assert (paths(delivery), delivery.problems, delivery.lost) == ([FILE], [], "")
    assert (delivery.mark, delivery.days, delivery.cleanup_days) == ("m", {20000: 1}, 30)


@pytest.mark.parametrize(
    "path",
    [
        "/etc/cron.d/x.jsonl",
        "../../x.jsonl",
        "~/.claude/projects/../../.bashrc.jsonl",
        "~/.claude/projects/./x.jsonl",
        "~/.claude/projects//x.jsonl",
        "~/.claude/projects/two\\nlines.jsonl",
        "~/.claude/projects/esc\\x1b[2J.jsonl",
        "~/.claude/projects/nul\\x00.jsonl",
        "~/.claude/projects/" + "x" * 300 + ".jsonl",
        "~/.claude/projects/" + "d/" * 60 + "x.jsonl",
        "~/.claude/projects/memory/x.jsonl",
        "~/.claude/projects/x.md",
        "~/.claude/projects",
        "x.jsonl",
        "",
    ],
)
def test_a_path_that_was_not_asked_for_is_named_and_what_stands_beside_it_is_taken(says: Says, path: str) -> None:
    delivery = says(f'begin(); file("{path}"); file(); end()')

    assert (paths(delivery), len(delivery.problems), delivery.lost) == ([FILE], 1, "")
    assert "\n" not in str(delivery.problems[0]) and "\x1b" not in str(delivery.problems[0])


@pytest.mark.parametrize(
    "expected",
    [
        "root=7",
        "root=-1",
        "base=3",
        "base=-1",
        "size=-1",
        "size=1 << 63",
        "inode=-4",
        "changed_ns=1 << 70",
        'folder="/"',
        'folder="~/.."',
    ],
)
def test_numbers_that_cannot_be_are_named_or_end_the_answer(says: Says, expected: str) -> None:
    delivery = says(f"begin(); file('~/.claude/projects/b.jsonl'); file({expected}); end()")

    assert paths(delivery) == ["~/.claude/projects/b.jsonl"] and (delivery.problems or delivery.lost)


@pytest.mark.parametrize("days", ['"nan"', '"inf"', '"-inf"', "-1", "10**300"])
def test_counts_that_cannot_be_are_noted_nowhere(says: Says, tmp_path: Path, days: str) -> None:
    delivery = says(f"begin(); file(); end(days={{20000: 1, 20001: 10**400, 10**400: 1}}, cleanup_days={days})")
    register = Register(tmp_path / "state" / "machines.json")
    known = register.identify(LAPTOP, "m", [])
    register.note(replace(known, days=delivery.days, cleanup_days=delivery.cleanup_days))

    again = Register(tmp_path / "state" / "machines.json").machines[0]

    assert paths(delivery) == [FILE] and again.cleanup_days == 0
    assert again.days in ({20000: 1}, {})  # a number that no one can read ends the answer instead


def test_no_more_files_are_taken_than_anybody_has(says: Says, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(fetch, "MAX_FILES", 2)

    delivery = says('begin(); [file(f"~/.claude/projects/{name}.jsonl") for name in range(9)]; end()')

    assert (len(delivery.files), delivery.lost) == (2, "it sent more than 2 files")


@pytest.mark.parametrize("kind", ["F", "P", "H", "E"])
def test_an_answer_that_lies_too_deep_ends_there(says: Says, kind: str) -> None:
    delivery = says(f'begin(); file(); frame("{kind}", b\'{{"z":\' + b"[" * 9000 + b"]" * 9000 + b"}}"); end()')

    assert (paths(delivery), delivery.lost) == ([FILE], "its answer is not what was asked for")


@pytest.mark.parametrize("days", ["1: 10**30", "10**30: 1", "-1: 1", "1: -1"])
def test_what_is_no_count_is_not_kept(says: Says, days: str) -> None:
    delivery = says(f"begin(); file(); end(days={{{days}}})")

    assert (delivery.days, delivery.lost) == ({}, "")


def test_a_file_that_is_sent_twice_is_taken_once(says: Says) -> None:
    delivery = says('begin(); file(); file(content=b"other\\n"); end()')

    assert paths(delivery) == [FILE] and delivery.problems[0].what == "it was sent twice"


def test_a_size_that_is_a_lie_changes_nothing(says: Says) -> None:
    delivery = says('begin(); file(size=10**15, content=b"one\\ntwo\\n"); end()')

    assert [list(sent.prefixes) for sent in delivery.files] == [[8]]


def test_a_file_without_a_checkpoint_is_left_for_the_next_time(says: Says) -> None:
    delivery = says(f'begin(); file(); tell("F", root=0, path={FILE!r}[:-7] + "b.jsonl", folder="~/.claude/projects",'
                    ' base=0, inode=1, size=4, changed_ns=5); frame("D", b"half"); sys.exit()')  # fmt: skip

    assert paths(delivery) == [FILE] and delivery.lost == "its answer ended early (exit 0)"


def test_a_file_that_breaks_off_counts_up_to_its_last_checkpoint(says: Says) -> None:
    delivery = says(
        """
        begin()
        tell("F", root=0, path="~/.claude/projects/c.jsonl", folder="~/.claude/projects", base=0, inode=1, size=99,
             changed_ns=5)
        frame("D", b"one\\n"); frame("C", b"\\0" + b"h" * 16); frame("D", b"tw")
        """
    )

    assert [(list(sent.prefixes), sent.is_whole) for sent in delivery.files] == [([4], False)]


@pytest.mark.parametrize(
    ("answer", "reason"),
    [
        ("", "its answer ended early (exit 0)"),
        ("sys.exit('ssh: Could not resolve hostname laptop')", "ssh: Could not resolve hostname laptop"),
        ("begin(); frame('X'); end()", "its answer is not what was asked for"),
        ("begin(); out.write(b'F' + b'\\xff' * 4); out.flush(); time.sleep(9)", "its answer is not what was asked for"),
        ("begin(); frame('F', b'[]'); end()", "its answer is not what was asked for"),
        ("begin(); tell('F', root='x'); end()", "its answer is not what was asked for"),
        ("begin(); frame('E', b'{'); end()", "its answer is not what was asked for"),
        ("print('x' * 200000)", "it says something else than the answer: " + "x" * 120),
        ("out.write(said)", "it says something else than the answer: "),
        ("begin()\nwhile True: file('~/.claude/projects/%f.jsonl' % time.time(), b'x' * 1000000)",
         "it sent more than was asked for"),
        ("begin()\nwhile True: frame('K', b'x' * 1000000)", "it sent more than was asked for"),
    ],
)  # fmt: skip
def test_an_answer_that_is_none_is_said_to_be_so(says: Says, answer: str, reason: str) -> None:
    delivery = says(answer, batch_bytes=1_000_000)

    assert delivery.lost.startswith(reason[:100]) or (answer == "out.write(said)" and delivery.lost)


def test_a_machine_that_falls_silent_is_waited_for_no_longer_than_is_said(
    says: Says, monkeypatch: pytest.MonkeyPatch
) -> None:
    began = time.monotonic()

    delivery = says("begin(); file(); time.sleep(100)", seconds=5.0)

    assert (paths(delivery), delivery.lost) == ([FILE], "it took too long") and time.monotonic() - began < 50


def test_noise_before_the_answer_is_passed_over_and_what_comes_behind_it_is_not_heard(says: Says) -> None:
    delivery = says('print("Welcome\\x1b[2J to\\nthe laptop", flush=True); begin(); file(); end(); print("Bye")')

    assert (paths(delivery), delivery.lost) == ([FILE], "")
    assert delivery.noise == "Welcome\\u001b[2J to the laptop"


@pytest.mark.parametrize(
    "setting",
    [
        "laptop=ssh://-oProxyCommand=touch x",
        "laptop=ssh://-oProxyCommand",
        "laptop=ssh://user@-host",
        "laptop=ssh://-user@host",
        "laptop=ssh://host -oProxyCommand=x",
        "laptop=ssh://host\n-v",
        "laptop=ssh://host:22:23",
        "laptop=ssh://host:70000",
        "laptop=ssh://host:0",
        "laptop=ssh://host/home/me",
        "laptop=ssh://user:secret@host",
        "laptop=http://host",
        "laptop=host",
        "../x=ssh://host",
        "-x=ssh://host",
        "=ssh://host",
        "ssh://host",
    ],
)
def test_an_address_holds_a_user_a_host_and_a_port_and_no_option(setting: str) -> None:
    with pytest.raises(UsageError):
        parse_address(setting)


@pytest.mark.parametrize(
    ("setting", "words"),
    [
        ("laptop=ssh://host", ["--", "host", "python3 -IS -"]),
        ("laptop=ssh://me@host.example:2222", ["-l", "me", "-p", "2222", "--", "host.example", "python3 -IS -"]),
        ("laptop=ssh://[::1]:22/", ["-p", "22", "--", "::1", "python3 -IS -"]),
    ],
)
def test_an_address_becomes_words_of_ssh(setting: str, words: list[str]) -> None:
    command = parse_address(setting).command

    assert command[0] == "ssh" and command[-len(words) :] == words
    assert {"BatchMode=yes", "StrictHostKeyChecking=yes", "ConnectTimeout=10"} <= set(command)


def test_what_is_sent_there_is_of_python_3_8_and_the_standard_library() -> None:
    tree = ast.parse(fetch.SCRIPT.read_text(encoding="utf-8"), feature_version=(3, 8))
    imported = [node for node in ast.walk(tree) if isinstance(node, ast.Import | ast.ImportFrom)]
    names = {alias.name for node in imported if isinstance(node, ast.Import) for alias in node.names}
    names |= {str(node.module) for node in imported if isinstance(node, ast.ImportFrom)}
    newer = {"removeprefix", "removesuffix", "is_relative_to", "batched", "pairwise", "strict"}
    used = {node.attr for node in ast.walk(tree) if isinstance(node, ast.Attribute)}
    used |= {str(node.arg) for node in ast.walk(tree) if isinstance(node, ast.keyword)}

    assert {name.split(".")[0] for name in names} <= sys.stdlib_module_names
    assert used & newer == set()


def test_the_marker_stands_in_no_request() -> None:
    assert b"0123abcd" not in remote.make_marker("0123abcd")


def test_a_whole_conversation_runs_on_this_python(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The program that is sent, by `python3 -` as over ssh."""
    there = tmp_path / "there"
    file = write_transcript(there / ".claude" / "projects" / "-srv-app", *working_session())
    program = tmp_path / "ssh"
    program.write_text(f"#!/bin/sh\nexec {sys.executable} -IS -\n", encoding="utf-8")
    program.chmod(0o755)
    variables = {"PATH": f"{tmp_path}:{os.environ['PATH']}", "HOME": str(there)}
    monkeypatch.setattr(connection, "READ_BYTES", 100)  # many pieces

    with Mirror(tmp_path / "mirror") as mirror:
        delivery = ask(LAPTOP, [build_wanted_transcripts({}, "laptop")], mirror, variables)
        content = [sent.here.read_bytes() for sent in delivery.files]

    assert (content, delivery.problems, delivery.lost) == ([file.read_bytes()], [], "")
