"""Logistic regression in Flower: of 20 clients, 10 drawn for each of 10 rounds send randomised updates."""

import random
from types import SimpleNamespace

import numpy as np
from flwr.app import ArrayRecord, Context, Message, RecordDict
from flwr.clientapp import ClientApp
from flwr.serverapp import NeighboringRelation, PrivacyConfig, SamplingMethod, strategy
from flwr.supercore.task_identity import TaskIdentity
from torch import Generator

from shuffledp.interop.flower import LocalRandomizerMod, ShuffleAccountant, ShuffledPrivacyEvent

x = np.random.default_rng(1).normal(size=(20, 30, 4))
y = x @ np.array([2.0, -1.0, 0.5, 0.0]) > 0
randomize = LocalRandomizerMod("l2_privunit", eps0=2.0, radius=0.5, generator=Generator().manual_seed(2))
app = ClientApp()


@app.train(mods=[randomize])
def train(message: Message, context: Context) -> Message:
    (w,), own = message.content["arrays"].to_numpy_ndarrays(), context.node_id
    w = w - (1 / (1 + np.exp(-x[own] @ w)) - y[own]) @ x[own] / len(x[own])
    return Message(RecordDict({"arrays": ArrayRecord([w])}), reply_to=message)


def deliver(messages: list[Message], timeout: float) -> list[Message]:  # stands for network and shuffler
    return [app(one, Context(0, one.metadata.dst_node_id, {}, RecordDict(), {})) for one in messages]


random.seed(3)  # Flower draws the clients by it
TaskIdentity.run_id = TaskIdentity.node_id = TaskIdentity.task_id = 0  # no process of Flower's sets them
grid = SimpleNamespace(get_node_ids=lambda: range(20), send_and_receive=deliver)
found = strategy.FedAvg(fraction_train=0.5, fraction_evaluate=0).start(grid, ArrayRecord([np.zeros(4)]), 10)
ways = (NeighboringRelation.REPLACE_ONE, SamplingMethod.WITHOUT_REPLACEMENT)
accountant = ShuffleAccountant(PrivacyConfig(1e-5, 20, *ways))
event = ShuffledPrivacyEvent.of("l2_privunit", 4, eps0=2.0, sample_size=10, population_size=20)
accountant.compose(event, 10)
print(np.mean((x @ found.arrays.to_numpy_ndarrays()[0] > 0) == y), accountant.get_privacy_spent())
