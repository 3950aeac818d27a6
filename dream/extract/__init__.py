"""Finds in a session what a topic might take up. The back ends lie here, a file each."""

from dream.extract.finder import find_candidates

__all__ = ["find_candidates"]
