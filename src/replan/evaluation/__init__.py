"""The cost of a schedule or rule."""
