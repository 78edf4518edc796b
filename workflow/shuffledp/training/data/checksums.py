"""Checksums of the files that data sets consist of."""

# What a data set in the format of MNIST is made of.
IDX_FILES = (
    "train-images-idx3-ubyte",
    "train-labels-idx1-ubyte",
    "t10k-images-idx3-ubyte",
    "t10k-labels-idx1-ubyte",
)
# SHA-256 of the uncompressed files, in that order. The published sums are MD5 of archives, which also depend
# on the time of packing. Those of Fashion-MNIST here are of the files in Debian's package
# dataset-fashion-mnist.
IDX_SHA256 = {
    name: dict(zip(IDX_FILES, sums, strict=True))
    for name, sums in {
        "mnist": (
            "ba891046e6505d7aadcbbe25680a0738ad16aec93bde7f9b65e87a2fc25776db",
            "65a50cbbf4e906d70832878ad85ccda5333a97f0f4c3dd2ef09a8a9eef7101c5",
            "0fa7898d509279e482958e8ce81c8e77db3f2f8254e26661ceb7762c4d494ce7",
            "ff7bcfd416de33731a308c3f266cc351222c34898ecbeaf847f06e48f7ec33f2",
        ),
        "fashion-mnist": (
            "c59f468a2f672dc815687fe0f83887768d799fd8a3f3276145d20f83aa44d888",
            "bad3541b69d912435c50bb6ba87bec294ff4f6a2e1246121d8633921760443d9",
            "5b4141f0afbad91edebe8549f8fcffe087ea10ca49f1dbef5c9a5cd8815ce37b",
            "0402a96d92fd2663957122ceb108a494c5af83dab82d92729df917d7dec38c34",
        ),
    }.items()
}

# SHA-256 of the JPEG archive, and MD5 of the others as torchvision checks them.
CIFAR_SUMS = {
    "cifar10-jpeg": {"cifar10_jpeg.npz": "816040ca4dcf577df78fb3d83e918c2c1cbb347e5dccf966fe9507b91daaf554"},
    "cifar10": {"cifar-10-python.tar.gz": "md5:c58f30108f718f92721af3b95e74349a"},
    "cifar100": {"cifar-100-python.tar.gz": "md5:eb9058c3a382ffc7106e4002c42a8d85"},
}
