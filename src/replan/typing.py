"""Types that the library, the laboratory and robots share."""

from __future__ import annotations

from typing import Any, Literal

from numpy.typing import NDArray

Array = NDArray[Any]
"""An array of floats."""
Indices = NDArray[Any]
"""An array of int64: states, actions or times."""
Execution = Literal["map", "belief", "localised"]
"""How a robot acts between updates."""
Meanwhile = Literal["go-on", "wait"]
"""What a robot does while an update runs."""
