# SPDX-License-Identifier: Apache-2.0
"""F6, too many workers: each epoch starts and ends sixteen processes for sixteen batches. Mended: one process, which stays.
The case of U-Net's data loader in DeepContext's evaluation."""
import torch
from steps import MENDED, repeat
from torch.utils.data import DataLoader

batches = [torch.randn(256, 64).numpy() for _ in range(16)]  # arrays pass through a pipe, tensors by slower ways
loader = DataLoader(batches, batch_size=None, num_workers=1 if MENDED else 16, persistent_workers=MENDED,
                    collate_fn=lambda batch: batch)
model = torch.nn.Sequential(torch.nn.Linear(64, 2048), torch.nn.ReLU(), torch.nn.Linear(2048, 512))
optimizer = torch.optim.SGD(model.parameters(), lr=0.01)


def step():
    for batch in loader:  # bad
        optimizer.zero_grad()
        model(torch.from_numpy(batch)).square().mean().backward()
        optimizer.step()


repeat(step, 10)
