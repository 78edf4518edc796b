"""The randomisers by name: the module of that name has the class.

No run of training depends on this module, so that a new randomiser makes none stale: a run names the module
of its randomiser itself.
"""

CLASSES = {
    "linf_coordinate": "LinfCoordinate",
    "l1_hadamard": "L1Hadamard",
    "l2_hemisphere": "L2Hemisphere",
    "l2_privunit": "L2PrivUnit",
    "gaussian": "Gaussian",
}
NAMES = tuple(CLASSES)
