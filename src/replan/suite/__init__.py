"""The benchmark: a frozen suite of random worlds, a score that anyone can recompute, and result cards."""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
