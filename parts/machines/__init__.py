"""Fetches what is new on the person's other machines, by the system's ssh."""
