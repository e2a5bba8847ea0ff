"""Acting between two updates."""
