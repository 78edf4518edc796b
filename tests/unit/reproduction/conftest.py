"""Configurations that are loaded from texts, and what is said where they are refused."""

import pytest
import yaml

from shuffledp.reproduction import config

from .small_configuration import LEFT_OUT, WITHOUT_CAPTIONS


@pytest.fixture
def load(tmp_path):
    """Loads one file a text, each laid over those before; they are called 0.yaml, 1.yaml, ..."""

    def load_texts(*texts):
        paths = [tmp_path / f"{number}.yaml" for number in range(len(texts))]
        for path, text in zip(paths, texts, strict=True):
            path.write_text(text, encoding="utf-8")
        return config.load(paths)

    return load_texts


@pytest.fixture
def refusal(load):
    def message(*texts):
        with pytest.raises(ValueError) as caught:  # noqa: PT011  # the callers look at the message
            load(*texts)
        assert "Traceback" not in str(caught.value)
        return str(caught.value)

    return message


@pytest.fixture
def refusal_over_shipped(root, tmp_path):
    def message(text):
        path = tmp_path / "1.yaml"
        path.write_text(text, encoding="utf-8")
        with pytest.raises(ValueError) as caught:  # noqa: PT011  # the callers look at the message
            config.load([root / "config/config.yaml", path])
        return str(caught.value)

    return message


# Captions, in files of their own


@pytest.fixture
def captioned(tmp_path, load):
    """Loads BASE, its captions being what the file of the paper holds."""
    (tmp_path / "captions").mkdir()

    def load_captioned(text, *layers):
        (tmp_path / "captions/paper.yaml").write_text(text, encoding="utf-8")
        return load(WITHOUT_CAPTIONS, *layers)

    return load_captioned


@pytest.fixture
def refused(root):
    """What is said where keys of one place of the shipped configuration are otherwise."""
    path = root / "config/config.yaml"

    def message(section, *names, **changes):
        raw = yaml.safe_load(path.read_text(encoding="utf-8"))
        place = raw[section]
        for name in names:
            place = place[name]
        place |= changes
        for key in [key for key, value in changes.items() if value is LEFT_OUT]:
            del place[key]
        with pytest.raises(ValueError, match=r"^configuration: ") as caught:
            config.resolve(raw, files=[str(path)])
        return str(caught.value)

    return message
