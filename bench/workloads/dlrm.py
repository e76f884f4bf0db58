# SPDX-License-Identifier: Apache-2.0
"""DLRM-small (Naumov et al., 2019): clicks from dense features and from bags of categories, by their dot products."""
import torch
from torch import nn
from torch.nn import functional

import torch_workload

BATCH, DENSE, TABLES, ROWS, WIDTH, BAG = 2048, 13, 26, 20_000, 32, 4


def mlp(*widths):
    layers = []
    for width_in, width in zip(widths, widths[1:]):
        layers += [nn.Linear(width_in, width), nn.ReLU()]
    return nn.Sequential(*layers)


class DLRM(nn.Module):
    def __init__(self):
        super().__init__()
        self.tables = nn.ModuleList(nn.EmbeddingBag(ROWS, WIDTH, mode="sum", sparse=True) for _ in range(TABLES))
        self.bottom = mlp(DENSE, 256, 128, WIDTH)
        pairs = (TABLES + 1) * TABLES // 2
        self.top = nn.Sequential(mlp(WIDTH + pairs, 256, 128), nn.Linear(128, 1))
        self.register_buffer("pairs", torch.tril_indices(TABLES + 1, TABLES + 1, -1), persistent=False)

    def forward(self, dense, categories):
        x = self.bottom(dense)
        bags = [table(categories[:, number]) for number, table in enumerate(self.tables)]
        features = torch.stack([x, *bags], dim=1)
        products = torch.bmm(features, features.transpose(1, 2))[:, self.pairs[0], self.pairs[1]]
        return self.top(torch.cat([x, products], dim=1)).squeeze(1)


def dlrm():
    return DLRM(), (torch.randn(BATCH, DENSE), torch.randint(ROWS, (BATCH, TABLES, BAG)))


def loss(logits):
    return functional.binary_cross_entropy_with_logits(logits, (torch.arange(len(logits)) % 2).float())


if __name__ == "__main__":
    torch_workload.run(dlrm, loss, torch.optim.SGD)
