"""Rules that decide when to spend an update."""
