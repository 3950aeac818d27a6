"""How a command changes texts of layer 1 at once: it shows what changes, and does it with the person's consent."""

from collections.abc import Callable

from dream.decisions.accept import Decisions
from dream.decisions.planning import Arrangement, Texts
from dream.proposals.rendering import make_diff
from memory_server.escaping import escape_line, escape_text
from memory_server.layers.topics import read_text
from oneiros.cli.consent import ask_consent, require_clean_tree, sign_at_end
from oneiros.cli.terminal.output import data, see_stdout, show, talk
from oneiros.environment import Environment


def arrange(
    environment: Environment,
    decisions: Decisions,
    wanted: Callable[[Texts], Arrangement],
    *,
    is_whole: bool = False,
    with_diff: bool = False,
    dry: bool = False,
) -> None:
    """Shows what changes, with `is_whole` each text too, `with_diff` each line, and does it with consent."""
    found = decisions.arrangement(wanted)
    data(found.what)
    for path, text in found.files.items():
        data(f"  {path}  {'goes' if text is None else f'{len(text.splitlines())} lines'}")
        if is_whole and text is not None:
            data("\n".join(f"    | {line}" for line in escape_text(text).splitlines()))
        if with_diff and text is not None:
            was = next((old for old, homes in found.homes.items() if path in homes), path)
            old = read_text(decisions.root.path / was) if (decisions.root.path / was).is_file() else None
            diff = "\n".join(f"    {line}" for line in escape_text(make_diff(path, old, text)).splitlines())
            show(see_stdout().colour_diff(diff))
    if found.left_out:
        data("  goes with the frontmatter, git keeps it:")
    for line in found.left_out:
        data(f"    {escape_line(line)}")
    if dry:
        return
    require_clean_tree(environment)
    consent = ask_consent(environment)
    with sign_at_end(environment, decisions):
        done = decisions.arrange(wanted, consent)
    talk(f"Done{decisions.commit_in_words(done.commit)}. Undo it: oneiros dream revert {done.name}")
