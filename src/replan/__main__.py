"""`python -m replan`: the command line."""

from replan.cli import main

main()
