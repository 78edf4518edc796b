"""Checksums of the files that data sets are, as published."""

# SHA-256 of the uncompressed idx files.
MNIST_SHA256 = {
    "train-images-idx3-ubyte": "ba891046e6505d7aadcbbe25680a0738ad16aec93bde7f9b65e87a2fc25776db",
    "train-labels-idx1-ubyte": "65a50cbbf4e906d70832878ad85ccda5333a97f0f4c3dd2ef09a8a9eef7101c5",
    "t10k-images-idx3-ubyte": "0fa7898d509279e482958e8ce81c8e77db3f2f8254e26661ceb7762c4d494ce7",
    "t10k-labels-idx1-ubyte": "ff7bcfd416de33731a308c3f266cc351222c34898ecbeaf847f06e48f7ec33f2",
}

# SHA-256 of the JPEG archive, and MD5 of the others as torchvision checks them.
CIFAR_SUMS = {
    "cifar10-jpeg": {"cifar10_jpeg.npz": "816040ca4dcf577df78fb3d83e918c2c1cbb347e5dccf966fe9507b91daaf554"},
    "cifar10": {"cifar-10-python.tar.gz": "md5:c58f30108f718f92721af3b95e74349a"},
    "cifar100": {"cifar-100-python.tar.gz": "md5:eb9058c3a382ffc7106e4002c42a8d85"},
}
