"""Commands for a team's memory: what is published to it, and the copy of its topics."""
