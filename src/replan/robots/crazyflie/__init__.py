"""The paper's hardware experiment: a Crazyflie among poles, in wind (section 4.2)."""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
