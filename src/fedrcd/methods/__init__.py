"""Methods: scores, deflations and weights, one loop over them, and one module per method.

Importing this package registers every method; a new one is a module beside these, named in the list below.
"""

from importlib import import_module

for _module in (
    "fedrcd_s",
    "fedrcd_sp",
    "fedrcd_t",
    "fedrcd_x",
    "fedrcd_ni",
    "fedrcd_def",
    "fedhc",
    "fedishc",
    "direct_lingam",
):  # as tables show them
    import_module(f"fedrcd.methods.{_module}")
