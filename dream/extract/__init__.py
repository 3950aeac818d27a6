"""Finds in a session what a topic might take up. The back ends lie here, a file each."""

from dream.extract.finder import Finder, find_candidates
from dream.extract.lessons import Mistake, lessons_from, mistakes_in

__all__ = ["Finder", "Mistake", "find_candidates", "lessons_from", "mistakes_in"]
