"""The networks by name: the module that defines each, and its number of parameters. Nothing here needs torch.

No run depends on this module, so that a new network makes none stale: a run names the module of its network
itself, whose table ``NETWORKS`` has the network by that name or fails.
"""

MODULES = {
    "mnist_cnn_16": "mnist_cnn",
    "mnist_cnn_32": "mnist_cnn",
    "logistic": "logistic",
    "logistic_binary": "logistic",
    "linear_972": "linear_head",
    "linear_128": "linear_head",
}
DIMENSIONS = {
    "mnist_cnn_16": 13_706,
    "mnist_cnn_32": 26_010,
    "logistic": 7_850,
    "logistic_binary": 785,
    "linear_972": 9_730,
    "linear_128": 1_290,
}
NAMES = tuple(MODULES)
