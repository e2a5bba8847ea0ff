"""The explorer: what moving one update takes, until the page has all that it shows at once.

Run `python -m benchmarks explore` for this topic only. The peer makes the world anew for every move.
"""

from __future__ import annotations

from itertools import cycle

from benchmarks.timing import Row, compare
from replan.explore import model, panels
from replan.worlds.settings import load_setting


def rows() -> list[Row]:
    made = []
    for name, execution in (("two-burst", "map"), ("two-burst", "belief"), ("thin-ice-hard", "map")):
        setting = load_setting(name)
        kept = model.make_scene(setting, execution)
        moves = cycle([(1, 12, 20, 31), (1, 12, 21, 31), (1, 12, 22, 31), (1, 13, 22, 31)])

        def move(scene=kept, moves=moves):
            view = model.make_view(scene, next(moves))
            return panels.result(scene, view) + panels.pictures(scene, view)

        def move_anew(setting=setting, execution=execution, move=move):
            return move(model.make_scene(setting, execution))

        what = f"explorer, one update moved, {name}, {execution}, n = 12 (to stay under 200 ms)"
        made.append(compare(what, move, "world made anew", move_anew))
    return made
