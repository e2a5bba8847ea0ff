"""Studies: their files, the protocol that chooses hyper-parameters, engines, the store and its records."""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
