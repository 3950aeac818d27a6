"""Compression by a model: the back ends, what they are told, what they may cost, and how their answer is checked."""
