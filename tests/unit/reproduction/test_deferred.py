"""What is deferred is loaded at its first use, and is then the module itself."""

import subprocess
import sys

import pytest

CODE = """
import sys
from shuffledp.reproduction import deferred
deferred.defer_computing()
deferred.defer_computing()
from shuffledp import accountants
loaded = lambda: type(sys.modules["scipy.special"]).__name__ == "module"
assert not loaded()
value = accountants.epsilon("clones-joint-pld", n=1e6, k=1e3, eps0=2, rounds=1e5, delta=1e-8)
assert loaded()
from scipy import special
import scipy.special
assert special is scipy.special is sys.modules["scipy.special"]
print(value)
"""


def test_numbers_are_the_same():
    run = subprocess.run([sys.executable, "-c", CODE], capture_output=True, text=True, check=True)
    from shuffledp import accountants

    setting = {"n": 1e6, "k": 1e3, "eps0": 2, "rounds": 1e5, "delta": 1e-8}
    assert float(run.stdout) == accountants.epsilon("clones-joint-pld", **setting)


@pytest.mark.parametrize("code", ["no_such_package', 'part", "json', 'no_such_part"])
def test_what_is_not_there_is_left_to_the_import_that_needs_it(code):
    run = f"from shuffledp.reproduction import deferred; deferred.defer('{code}')"
    subprocess.run([sys.executable, "-c", run], check=True)


def test_what_is_loaded_stays():
    code = "import sys, json.decoder as before; from shuffledp.reproduction import deferred;"
    code += "deferred.defer('json', 'decoder'); assert sys.modules['json.decoder'] is before"
    subprocess.run([sys.executable, "-c", code], check=True)
