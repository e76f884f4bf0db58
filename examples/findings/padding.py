# SPDX-License-Identifier: Apache-2.0
"""F34, padding: all rows are as long as the longest of all. Mended: as the longest of their batch."""
import torch
from steps import MENDED, repeat

LONGEST = 512
rows = [torch.randint(1, 500, (length,)) for length in torch.randint(20, 60, (400,))]
batches = iter(range(0, 400, 8))


class Encoder(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.table, self.layers = torch.nn.Embedding(500, 128), torch.nn.Sequential(*[torch.nn.Linear(128, 128) for _ in range(4)])

    def forward(self, ids):
        return self.layers(self.table(ids)).amax(1)  # bad


def padded(part):
    longest = max(map(len, part)) if MENDED else LONGEST
    return torch.stack([torch.nn.functional.pad(row, (0, longest - len(row))) for row in part])


model = Encoder().eval()


def step():
    at = next(batches)
    with torch.inference_mode():
        model(padded(rows[at:at + 8]))  # bad


repeat(step, 50)
