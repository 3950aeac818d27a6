"""Finds the branches of a conversation that a rewind left behind.

A rewind writes nothing but the next prompt, whose parent is the parent of the prompt it replaces. So a branch is dead
when it leaves the live chain (from the last record upwards) where that goes on with a prompt, and holds an earlier
prompt itself. Parallel tool calls branch too, but without a prompt in the branch; they are alive.
"""

from collections.abc import Mapping, Set


def find_abandoned(parents: Mapping[str, str], prompts: Set[str], leaf: str) -> frozenset[str]:
    """The ids on dead branches. `parents` is in file order; a parent that is empty or unknown ends a chain."""
    continued_by = live_chain(parents, leaf)
    places = {entry_id: place for place, entry_id in enumerate(parents)}
    branches: dict[str, list[str]] = {}  # first record of a branch -> all its records
    branch_of: dict[str, str] = {}
    for entry_id, parent in parents.items():
        if entry_id in continued_by:
            continue
        if parent in continued_by:
            branch = entry_id
        elif parent in branch_of:
            branch = branch_of[parent]
        else:
            continue  # a piece whose parents are not in this file: nothing says that it was left
        branch_of[entry_id] = branch
        branches.setdefault(branch, []).append(entry_id)
    dead: set[str] = set()
    for first, members in branches.items():
        successor = continued_by[parents[first]]
        is_rewind = successor in prompts and places[first] < places[successor]
        if is_rewind and not prompts.isdisjoint(members):
            dead.update(members)
    return frozenset(dead)


def live_chain(parents: Mapping[str, str], leaf: str) -> dict[str, str]:
    """Every record from the leaf upwards, with the record that continues it (empty for the leaf)."""
    chain: dict[str, str] = {}
    following, current = "", leaf
    while current in parents and current not in chain:
        chain[current] = following
        following, current = current, parents[current]
    return chain
