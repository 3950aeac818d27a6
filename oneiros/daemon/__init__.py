"""The daemon of one memory root, and what it does behind its sockets."""
