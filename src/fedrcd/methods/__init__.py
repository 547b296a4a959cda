"""Methods: scores, deflations and weights, one loop over them, and one module per method.

Importing this package registers every method; a new one is a module beside these, named in the list below.
"""

from fedrcd.methods import (  # noqa: F401 - imported to be registered, in the order tables show them
    direct_lingam,
    fedhc,
    fedishc,
    fedrcd_def,
    fedrcd_ni,
    fedrcd_x,
)
