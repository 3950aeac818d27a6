"""What a browser shows of one memory: a static shell, and fragments that the secret of a page opens."""
