"""Every speed claim of the project, as a ratio: both sides measured in one run, on the same work."""
