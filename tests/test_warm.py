"""What `make setup` runs after installing."""

from replan import warm


def test_it_runs_through_every_compiled_part():
    warm.main()
    from replan.estimate import interior_point
    from replan._loops import general, open_stencil

    for function in (open_stencil.push, general.push, interior_point.solve):
        assert function.signatures
