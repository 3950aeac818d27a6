"""git as acceptances use it: of a folder that came from elsewhere it runs nothing."""

import subprocess
from pathlib import Path

from dream.decisions.repository import find_repository
from memory_server.root.state import make_state
from tests.dream.builders import decisions_on
from tests.memories import new_root


def test_the_settings_of_a_bare_repository_among_the_files_of_a_clone_are_not_followed(tmp_path: Path) -> None:
    root = new_root(tmp_path / "memory")
    for name in ("objects", "refs"):
        (root.path / name).mkdir()
    (root.path / "HEAD").write_text("ref: refs/heads/main\n", encoding="utf-8")
    core = f'worktree = {root.path}\n\tfsmonitor = "touch {tmp_path}/ran; false"\n'
    (root.path / "config").write_text(
        f"[core]\n\trepositoryformatversion = 0\n\tbare = false\n\t{core}", encoding="utf-8"
    )
    subprocess.run(["git", "-C", str(root.path), "status"], capture_output=True, check=False)
    assert (tmp_path / "ran").exists(), "git itself is not moved by these settings, so nothing is shown here"
    (tmp_path / "ran").unlink()

    make_state(root)
    decisions_on(root).unexplained()

    assert find_repository(root.path) is None
    assert not (tmp_path / "ran").exists()
