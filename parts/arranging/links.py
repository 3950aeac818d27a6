"""The links of a text of layer 1: Markdown links, their definitions, `[[names]]` and relationships of a frontmatter.

They follow topics that move. What stands in code, and what leads elsewhere, stays as it is.
"""

import posixpath
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from urllib.parse import unquote

from memory_server.chunking import code_lines, split_lines
from memory_server.document import SourcePath
from memory_server.layers.index_page import escape_target
from memory_server.layers.mif import parse_frontmatter
from memory_server.layers.topics import list_names, normalise_target, topic_name

CODE_SPAN = re.compile(r"(`+[^`]*`+)")
LINK = re.compile(r"(?P<before>(?<!\\)\]\(\s*<?|^ {0,3}\[(?!\^)[^\]]+\]:\s*<?)(?P<target>[^\s()<>]+|(?<=<)[^<>]+)")
NAME = re.compile(r"\[\[(?P<name>[^\[\]|#]+)(?P<anchor>#[^\[\]|]*)?(?P<rest>\|[^\[\]]*)?\]\]")
RELATED = re.compile(r"^(?P<before>\s*(?:-\s+)?target:\s*[\"']?)(?P<target>[^\"'\n\r]+?)(?P<after>[\"']?\s*)$")


@dataclass(frozen=True, slots=True)
class Moves:
    """Where topics went, and sections of topics."""

    paths: Mapping[str, str] = field(default_factory=dict)
    sections: Mapping[tuple[str, str], str] = field(default_factory=dict)  # by path and anchor

    def follow(self, path: str, anchor: str) -> str:
        """Where a path with an anchor leads; itself where nothing moved."""
        return self.sections.get((path, anchor), self.paths.get(path, path))


def relink_text(text: str, was: str, path: str, moves: Moves) -> str:
    """The text of a file that stood at `was` and stands at `path`, its links led to where their topics are."""
    parsed = parse_frontmatter(text)
    head = "".join(_relink_related(line, moves) for line in split_lines(parsed.block))
    code = code_lines(parsed.body)
    lines = split_lines(parsed.body)
    return head + "".join(
        line if number in code else _relink_line(line, was, path, moves) for number, line in enumerate(lines)
    )


def make_anchor(heading: str) -> str:
    """A heading as a link names it: `Mail relay` -> `mail-relay`."""
    return re.sub(r"\s", "-", re.sub(r"[^\w\s-]", "", heading.strip().casefold()))


def _relink_line(line: str, was: str, path: str, moves: Moves) -> str:
    def link(match: re.Match[str]) -> str:
        return match["before"] + _relink_target(match["target"], was, path, moves)

    def name(match: re.Match[str]) -> str:
        found = _find_new_name(match["name"], (match["anchor"] or "")[1:], moves)
        return f"[[{found}{match['anchor'] or ''}{match['rest'] or ''}]]" if found else match[0]

    parts = CODE_SPAN.split(line)
    parts[::2] = [NAME.sub(name, LINK.sub(link, part)) for part in parts[::2]]
    return "".join(parts)


def _relink_target(target: str, was: str, path: str, moves: Moves) -> str:
    """The target of a link; it may be relative to its file, or written from the root of the memory."""
    raw, mark, anchor = target.partition("#")
    plain = unquote(raw)
    if not plain:
        new = moves.follow(was, anchor)
        return target if new == path else escape_target(SourcePath(_make_relative_path(path, new))) + target
    if ":" in plain.partition("/")[0] or plain.startswith("/"):
        return target
    from_root = posixpath.normpath(plain)
    here = posixpath.normpath(posixpath.join(posixpath.dirname(was), plain))
    is_rooted = from_root.startswith("topics/") and was.startswith("topics/")
    old = from_root if is_rooted else here
    new = moves.follow(old, anchor)
    is_same_place = is_rooted or posixpath.dirname(was) == posixpath.dirname(path)
    if new == old and is_same_place:
        return target
    return escape_target(SourcePath(new if is_rooted else _make_relative_path(path, new))) + mark + anchor


def _make_relative_path(path: str, other: str) -> str:
    """How a file is named from another one."""
    return posixpath.relpath(other, posixpath.dirname(path) or ".")


def _find_new_name(name: str, anchor: str, moves: Moves) -> str:
    """The new name of a topic that `[[name]]` means, in the form in which it was written; empty where it stays."""
    wanted = normalise_target(name.strip())
    for old in {*moves.paths, *(path for path, _ in moves.sections)}:
        stem = posixpath.basename(old).removesuffix(".md").casefold()
        new = SourcePath(moves.follow(old, make_anchor(anchor)))
        if new != old and wanted in (*list_names(SourcePath(old), ""), stem):
            return new.removesuffix(".md") if wanted.startswith("topics/") else topic_name(new)
    return ""


def _relink_related(line: str, moves: Moves) -> str:
    match = RELATED.match(line)
    found = _find_new_name(match["target"], "", moves) if match else ""
    if not match or not found:
        return line
    suffix = ".md" if match["target"].endswith(".md") else ""
    return f"{match['before']}{found}{suffix}{match['after']}"
