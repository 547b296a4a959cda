"""`python -m fedrcd`: the same as the command `fedrcd`."""

from fedrcd.cli.main import main

main()
