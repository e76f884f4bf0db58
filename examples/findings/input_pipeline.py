# SPDX-License-Identifier: Apache-2.0
"""F6, the input pipeline starves the step: samples are decoded anew in each step, in Python. Mended: decoded once."""
import torch
from steps import MENDED, repeat
from torch.utils.data import DataLoader, Dataset



def decode(index):
    return torch.tensor([(index * 31 + i * i) % 255 / 255 for i in range(3000)])


class Images(Dataset):
    def __init__(self):
        self.kept = [decode(i) for i in range(16)] if MENDED else None

    def __len__(self):
        return 16 * 40

    def __getitem__(self, index):
        return self.kept[index % 16] if MENDED else decode(index % 16)


model = torch.nn.Sequential(torch.nn.Linear(3000, 1024), torch.nn.ReLU(), torch.nn.Linear(1024, 10))
optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
batches = iter(DataLoader(Images(), batch_size=16))


def step():
    images = next(batches)  # bad
    optimizer.zero_grad()
    model(images).square().mean().backward()
    optimizer.step()


repeat(step, 30)
