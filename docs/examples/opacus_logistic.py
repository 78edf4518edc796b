"""Logistic regression in Opacus: in each of 10 rounds some 10 of 20 clients send randomised gradients."""

import opacus
import torch

from shuffledp.interop.opacus import LocallyRandomizedOptimizer
from shuffledp.rounding import shown

torch.manual_seed(1)
clients, features = 20, 4
x = torch.randn(clients, features)
y = (x @ torch.tensor([2.0, -1.0, 0.5, 0.0]) > 0).float().unsqueeze(1)
data = torch.utils.data.TensorDataset(x, y)
model = torch.nn.Linear(features, 1)
loader = torch.utils.data.DataLoader(data, batch_size=clients // 2)
engine = opacus.PrivacyEngine(accountant="shuffle")
model, optimizer, loader = engine.make_private(
    module=model,
    optimizer=torch.optim.SGD(model.parameters(), lr=0.2),
    data_loader=loader,
    noise_multiplier=0.0,
    max_grad_norm=1.0,
)
generator = torch.Generator().manual_seed(2)
optimizer = LocallyRandomizedOptimizer(
    optimizer, loader, randomizer="l2_privunit", eps0=2.0, generator=generator
)
for _ in range(5):
    for some_x, some_y in loader:
        optimizer.zero_grad()
        torch.nn.functional.binary_cross_entropy_with_logits(model(some_x), some_y).backward()
        optimizer.step()
right = ((model(x) > 0) == (y > 0)).float().mean()
print(f"{len(engine.accountant)} rounds, accuracy {right:.2f}")
print(f"epsilon {shown(engine.get_epsilon(1e-5), 'upper', places=3)} at delta 1e-5")
