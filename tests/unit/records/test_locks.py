"""One process holds a lock at a time, and a killed one holds none."""

import subprocess
import sys
import threading

import pytest

from shuffledp.records import locks

HOLDING = """
import sys, time
from shuffledp.records import locks
with locks.held(sys.argv[1], wait=True):
    print("held", flush=True)
    time.sleep(600)
"""


def test_a_lock_is_held_once_and_ends_with_its_process(tmp_path):
    path = tmp_path / "deep" / "a.lock"
    with subprocess.Popen([sys.executable, "-c", HOLDING, str(path)], stdout=subprocess.PIPE) as other:
        try:
            assert other.stdout.readline() == b"held\n"
            with pytest.raises(BlockingIOError), locks.held(path, wait=False):
                pytest.fail("held twice")
            waiting = threading.Thread(target=lambda: locks.held(path, wait=True).__enter__(), daemon=True)
            waiting.start()
            waiting.join(timeout=0.2)
            assert waiting.is_alive()
        finally:
            other.kill()
    waiting.join(timeout=60)
    assert not waiting.is_alive()


def test_a_lock_is_free_after_the_block_even_if_that_fails(tmp_path):
    for _ in range(2):
        with pytest.raises(ZeroDivisionError), locks.held(tmp_path / "a.lock", wait=False):
            raise ZeroDivisionError
