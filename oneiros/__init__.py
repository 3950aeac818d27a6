"""The face: command line, daemon, relay and hooks. It composes the other packages; nothing imports it."""
