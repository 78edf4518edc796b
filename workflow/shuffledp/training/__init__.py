"""Training under local randomisation and shuffling: CLDP-SGD of girgis2021.

``experiment`` says what to train (no torch), ``datasets`` brings the data, ``models`` the networks;
``cldp_sgd`` is Algorithm 1, on per-client gradients from ``gradients``; ``runs`` adds checkpoints and files.
"""
