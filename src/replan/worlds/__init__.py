"""Worlds to run in, their parameters, and settings: a world together with a mission in it."""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
