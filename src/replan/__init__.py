"""When should a robot replan? Update scheduling in time-varying Markov decision processes.

Names are loaded when they are first used, so that `import replan` costs next to nothing. `__init__.pyi` lists
them.
"""

import lazy_loader

__version__ = "0.3.0"

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
