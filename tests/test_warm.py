"""What `make setup` runs after installing."""

from replan import _loops, warm


def test_it_runs_through_every_compiled_part():
    warm.main()
    for loop in (_loops.grid_passes.push, _loops.general.push, _loops.interior_point.solve):
        assert loop.signatures
