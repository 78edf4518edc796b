#!/bin/sh
# Says how a Slurm job is doing in the words that Snakemake knows: running, success or failed.
state=$(squeue --noheader --states=all --jobs "$1" --format %T 2>/dev/null)
case "$state" in
    COMPLETED) echo success ;;
    "" | BOOT_FAIL | CANCELLED | DEADLINE | FAILED | NODE_FAIL | OUT_OF_MEMORY | PREEMPTED | TIMEOUT) echo failed ;;
    *) echo running ;;
esac
