"""`python -m arpm` is `arpm`."""

from arpm.cli import main

main(prog_name="arpm")
