# SPDX-License-Identifier: Apache-2.0
"""A graph network of molecules (GIN with edge features; Hu et al., 2020): messages are summed by index_add."""
import torch
from torch import nn
from torch.nn import functional

import torch_workload

GRAPHS, NODES, EDGES, ATOMS, BONDS, WIDTH, DEPTH, TASKS = 128, 26, 56, 119, 4, 128, 5, 128


class Convolution(nn.Module):
    """h' = MLP((1 + eps) h + sum over neighbours of ReLU(h_neighbour + edge))"""

    def __init__(self):
        super().__init__()
        self.bond = nn.Embedding(BONDS, WIDTH)
        self.eps = nn.Parameter(torch.zeros(1))
        self.mlp = nn.Sequential(nn.Linear(WIDTH, 2 * WIDTH), nn.BatchNorm1d(2 * WIDTH), nn.ReLU(),
                                 nn.Linear(2 * WIDTH, WIDTH))

    def forward(self, h, sources, targets, bonds):
        messages = functional.relu(h[sources] + self.bond(bonds))
        return self.mlp((1 + self.eps) * h + torch.zeros_like(h).index_add(0, targets, messages))


class GraphNetwork(nn.Module):
    def __init__(self):
        super().__init__()
        self.atom = nn.Embedding(ATOMS, WIDTH)
        self.convolutions = nn.ModuleList(Convolution() for _ in range(DEPTH))
        self.norms = nn.ModuleList(nn.BatchNorm1d(WIDTH) for _ in range(DEPTH))
        self.head = nn.Linear(WIDTH, TASKS)

    def forward(self, atoms, sources, targets, bonds, graphs):
        h = self.atom(atoms)
        for convolution, norm in zip(self.convolutions, self.norms):
            h = h + functional.relu(norm(convolution(h, sources, targets, bonds)))
        sums = torch.zeros(GRAPHS, WIDTH).index_add(0, graphs, h)
        sizes = torch.zeros(GRAPHS).index_add(0, graphs, torch.ones(len(graphs)))
        return self.head(sums / sizes[:, None])


def gnn():
    first = torch.arange(GRAPHS).repeat_interleave(EDGES) * NODES  # edges stay within their graph
    sources, targets = (first + torch.randint(NODES, first.shape) for _ in range(2))
    return GraphNetwork(), (torch.randint(ATOMS, (GRAPHS * NODES,)), sources, targets,
                            torch.randint(BONDS, first.shape), torch.arange(GRAPHS).repeat_interleave(NODES))


def loss(logits):
    return functional.binary_cross_entropy_with_logits(logits, (torch.arange(TASKS) % 2).float().expand_as(logits))


if __name__ == "__main__":
    torch_workload.run(gnn, loss, torch.optim.Adam)
