"""The ledger: the numbers that the papers state, and whether they are reproduced."""

from shuffledp.reproduction.ledger import (
    balle2020,
    girgis2021,
    girgis2021_training,
    koskela2022,
    liew2022,
    liew2022_training,
)
from shuffledp.reproduction.ledger.claims import (
    AccuracyKey,
    Claim,
    CurveKey,
    Decision,
    Key,
    RunsKey,
    claims,
    evaluate,
)

__all__ = [
    "AccuracyKey",
    "Claim",
    "CurveKey",
    "Decision",
    "Key",
    "RunsKey",
    "balle2020",
    "claims",
    "evaluate",
    "girgis2021",
    "girgis2021_training",
    "koskela2022",
    "liew2022",
    "liew2022_training",
]
