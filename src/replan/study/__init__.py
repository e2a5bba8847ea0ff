"""Settings, protocol, engines and the store."""
