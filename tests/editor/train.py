# SPDX-License-Identifier: Apache-2.0
"""A small model in training, for so many steps: what the editor shows of it is in docs/images/editor.png."""
import sys

import torch
from torch import nn


class Block(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.norm = nn.LayerNorm(width)
        self.wide = nn.Linear(width, 4 * width)
        self.back = nn.Linear(4 * width, width)

    def forward(self, x):
        h = self.norm(x)
        h = torch.relu(self.wide(h))
        return x + self.back(h)


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.table = nn.Parameter(torch.randn(1000, 256))
        self.blocks = nn.Sequential(Block(256), Block(256))
        self.head = nn.Linear(256, 10)

    def forward(self, ids):
        x = self.table[ids]
        return self.head(self.blocks(x))


def loss_of(out, want):
    shifted = out - out.max(dim=1, keepdim=True).values
    logs = shifted - shifted.exp().sum(dim=1, keepdim=True).log()
    return -logs.gather(1, want[:, None]).mean()


def hits_of(out, want):
    """Element by element, so that there is a finding."""
    hits = 0
    for row, wanted in zip(out, want):
        hits += int(row.argmax().item() == wanted.item())
    return hits


def step(net, optimizer, ids, want):
    optimizer.zero_grad()
    out = net(ids)
    loss = loss_of(out, want)
    loss.backward()
    optimizer.step()
    return loss, hits_of(out, want)


def main():
    torch.manual_seed(0)
    net = Net()
    optimizer = torch.optim.SGD(net.parameters(), lr=0.01)
    ids = torch.randint(0, 1000, (512,))
    want = torch.randint(0, 10, (512,))
    for _ in range(int(sys.argv[1])):
        step(net, optimizer, ids, want)


main()
