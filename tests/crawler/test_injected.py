import pytest
from hypothesis import given
from hypothesis import strategies as st

from crawler.transcripts.injected import OWN_SESSION_MARK, TAG, cut_injected, is_own_call, is_own_session

OPEN, CLOSE = f'<{TAG} session="1">', f"</{TAG}>"
WORDS = st.text(alphabet="abc <>\n", max_size=20)


@given(WORDS, WORDS, WORDS)
def test_injected_memory_is_cut_out_and_nothing_else(before: str, injected: str, after: str) -> None:
    assert cut_injected(f"{before}{OPEN}{injected}{CLOSE}{after}") == before + after


@pytest.mark.parametrize(
    ("text", "left"),
    [
        (f"a {OPEN}x{OPEN}y{CLOSE}z{CLOSE} b", "a  b"),  # nested
        (f"a {OPEN}x, and then the client cut", "a "),
        (f"a <{TAG} sess", "a "),
        (f"a {CLOSE} b", "a  b"),
        ("nothing of ours", "nothing of ours"),
    ],
)
def test_nested_and_truncated_injections_are_cut_too(text: str, left: str) -> None:
    assert cut_injected(text) == left


@pytest.mark.parametrize(
    ("tool", "arguments", "is_ours"),
    [
        ("mcp__plugin_oneiros_mem__recall", "", True),
        ("mcp__oneiros__search_exact", "", True),
        ("mcp__notes__search", "", False),
        ("Bash", '{"command":"oneiros recall mail"}', True),
        ("Bash", '{"command":"cd x\\noneiros exact \\"a b\\""}', True),
        ("Bash", '{"command":".venv/bin/oneiros recall mail"}', True),
        ("Bash", '{"command":"grep oneiros README.md"}', False),
    ],
)
def test_calls_of_our_own_tools_are_known(tool: str, arguments: str, is_ours: bool) -> None:
    assert is_own_call(tool, arguments) is is_ours


def test_a_session_of_the_compressor_is_known_by_its_first_words() -> None:
    assert is_own_session(f"{OWN_SESSION_MARK} compress>\nSummarise")
    assert not is_own_session("Summarise this")
