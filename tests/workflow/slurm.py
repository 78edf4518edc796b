"""Slurm on one node, this machine, with a device that stands in for a GPU; needs root, and leaves nothing."""

import os
import secrets
import shutil
import signal
import socket
import subprocess
import tempfile
import time
from contextlib import contextmanager, suppress
from pathlib import Path

PROGRAMS = ("munged", "slurmctld", "slurmd", "sbatch", "squeue", "scancel", "scontrol")
PATH = os.pathsep.join([os.environ.get("PATH", ""), "/usr/sbin", "/sbin"])
ETC = Path("/etc/slurm")
UP_WITHIN, DOWN_WITHIN = 30, 20  # seconds

# More CPUs than there may be, so that jobs wait for none: nothing is bound to cores. Finished jobs stay
# visible, since without a database there is nothing else to ask.
CONF = """\
ClusterName=tests
SlurmctldHost={host}(127.0.0.1)
SlurmUser=root
SlurmdUser=root
AuthType=auth/munge
AuthInfo=socket={folder}/munge/socket
SlurmctldPort=16817
SlurmdPort=16818
StateSaveLocation={folder}/state
SlurmdSpoolDir={folder}/spool
SlurmctldPidFile={folder}/slurmctld.pid
SlurmdPidFile={folder}/slurmd.pid
SlurmctldLogFile={folder}/slurmctld.log
SlurmdLogFile={folder}/slurmd.log
MailProg=/bin/true
ProctrackType=proctrack/pgid
TaskPlugin=task/none
AccountingStorageType=accounting_storage/none
SelectType=select/cons_tres
SelectTypeParameters=CR_Core_Memory
DefMemPerCPU=100
EnforcePartLimits=ALL
SchedulerParameters=batch_sched_delay=0,sched_min_interval=0
SlurmdParameters=config_overrides
ReturnToService=2
MinJobAge=3600
KillWait=2
GresTypes=gpu
NodeName={host} NodeAddr=127.0.0.1 CPUs=8 RealMemory=32000 Gres=gpu:1 State=UNKNOWN
PartitionName=cpu Nodes=ALL Default=YES MaxTime=300 State=UP
PartitionName=gpu Nodes=ALL MaxTime=300 State=UP
"""


def missing():
    """Say what there is not, or nothing."""
    if os.geteuid() != 0:
        return "a one-node Slurm needs root"
    lacking = [name for name in PROGRAMS if shutil.which(name, path=PATH) is None]
    if lacking:
        return f"no {', '.join(lacking)}: install slurm-wlm and munge"
    if any((ETC / name).exists() for name in ("slurm.conf", "gres.conf")):
        return f"{ETC} has a configuration already"
    return None


def call(*command, check=True, timeout=30):
    """Run a program of Slurm and return what it prints."""
    done = subprocess.run(
        command,
        capture_output=True,
        text=True,
        timeout=timeout,
        check=check,
        env={**os.environ, "PATH": PATH},
    )
    return done.stdout


def jobs():
    """Return Slurm's own records of all jobs, as dictionaries."""
    fields = {"id": "%i", "state": "%T", "partition": "%P", "cpus": "%C", "memory": "%m"}
    fields |= {"limit": "%l", "comment": "%k"}
    listing = call("squeue", "--noheader", "--states=all", "--format", "|".join(fields.values()))
    return [dict(zip(fields, line.split("|"), strict=True)) for line in listing.splitlines()]


@contextmanager
def running():
    """Bring the cluster up, and take it down, jobs included."""
    with tempfile.TemporaryDirectory(prefix="slurm") as name:
        # as munge wants it: to be passed through by everybody
        Path(name).chmod(0o755)
        with _up(Path(name)):
            yield


@contextmanager
def _up(folder):
    host = socket.gethostname().split(".")[0]
    munge = folder / "munge"
    for part in (munge, folder / "state", folder / "spool", ETC):
        part.mkdir(parents=True, exist_ok=True)
    munge.chmod(0o755)
    key = munge / "key"
    key.touch(mode=0o600)
    key.write_bytes(secrets.token_bytes(1024))
    (folder / "slurm.conf").write_text(CONF.format(host=host, folder=folder), encoding="utf-8")
    (folder / "gres.conf").write_text(
        f"AutoDetect=off\nNodeName={host} Name=gpu Count=1 File=/dev/zero\n", encoding="utf-8"
    )
    # where the steps of jobs look, whatever their environment says
    links = [ETC / name for name in ("slurm.conf", "gres.conf")]
    for link in links:
        link.symlink_to(folder / link.name)
    try:
        files = {name: munge / name for name in ("socket", "pid", "log", "seed")}
        call(
            "munged",
            *(f"--socket={files['socket']}", f"--key-file={key}", f"--pid-file={files['pid']}"),
            *(f"--log-file={files['log']}", f"--seed-file={files['seed']}"),
        )
        call("slurmctld", "-i")
        call("slurmd")
        _wait(lambda: call("sinfo", "-h", "-o", "%T", check=False).split() in (["idle"], ["idle", "idle"]))
        yield
    finally:
        with suppress(subprocess.SubprocessError):
            call("scancel", "--user=root", check=False)
            _wait(lambda: not call("squeue", "--noheader", check=False).strip())
        for name in (folder / "slurmd.pid", folder / "slurmctld.pid", munge / "pid"):
            _stop(name)
        for link in links:
            link.unlink()


def _wait(is_so, seconds=UP_WITHIN):
    deadline = time.monotonic() + seconds
    while not is_so():
        assert time.monotonic() < deadline, "Slurm does not come to be what it should be"
        time.sleep(0.2)


def _stop(pid_file):
    with suppress(OSError, ValueError):
        pid = int(pid_file.read_text())
        os.kill(pid, signal.SIGTERM)
        deadline = time.monotonic() + DOWN_WITHIN
        while time.monotonic() < deadline:
            os.kill(pid, 0)
            time.sleep(0.1)
        os.kill(pid, signal.SIGKILL)
