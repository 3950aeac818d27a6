"""HTTP in the daemon: its connections, its server, and the routes that need more than the memory."""
