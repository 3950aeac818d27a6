"""The review: hunk by hunk on a terminal, or all of them in an editor."""
