"""`python -m heed` is the program `heed`."""

from heed_program import main

main()
