# SPDX-License-Identifier: Apache-2.0
"""Conformer-S (Gulati et al., 2020) on short speech: relative attention and convolution between two halves of a
feed-forward, CTC."""
import torch
from torch import nn
from torch.nn import functional

import torch_workload

MELS, FRAMES, BATCH, TOKENS = 80, 256, 1, 128
WIDTH, HEADS, KERNEL, DEPTH = 144, 4, 31, 8


def feed_forward():
    return nn.Sequential(nn.LayerNorm(WIDTH), nn.Linear(WIDTH, 4 * WIDTH), nn.SiLU(), nn.Linear(4 * WIDTH, WIDTH))


class RelativeAttention(nn.Module):
    """Content and relative position, as in Transformer-XL; `shift` aligns the positions' scores with the keys."""

    def __init__(self):
        super().__init__()
        self.norm, self.qkv, self.out = nn.LayerNorm(WIDTH), nn.Linear(WIDTH, 3 * WIDTH), nn.Linear(WIDTH, WIDTH)
        self.position = nn.Linear(WIDTH, WIDTH, bias=False)
        self.content_bias, self.position_bias = (nn.Parameter(torch.zeros(HEADS, 1, WIDTH // HEADS)) for _ in range(2))

    @staticmethod
    def shift(scores):  # (batch, heads, length, 2 * length - 1) to (…, length, length)
        batch, heads, length, places = scores.shape
        padded = functional.pad(scores, (1, 0)).view(batch, heads, places + 1, length)
        return padded[:, :, 1:].reshape(batch, heads, length, places)[..., :length]

    def forward(self, x, positions):
        q, k, v = self.qkv(self.norm(x)).unflatten(-1, (3, HEADS, -1)).permute(2, 0, 3, 1, 4)
        p = self.position(positions).unflatten(-1, (HEADS, -1)).transpose(0, 1)
        content = (q + self.content_bias) @ k.transpose(-2, -1)
        position = self.shift((q + self.position_bias) @ p.transpose(-2, -1))
        weights = ((content + position) * (WIDTH // HEADS) ** -0.5).softmax(-1)
        return self.out((weights @ v).transpose(1, 2).flatten(2))


class ConvolutionModule(nn.Module):
    def __init__(self):
        super().__init__()
        self.norm, self.pointwise1 = nn.LayerNorm(WIDTH), nn.Conv1d(WIDTH, 2 * WIDTH, 1)
        self.depthwise = nn.Conv1d(WIDTH, WIDTH, KERNEL, padding=KERNEL // 2, groups=WIDTH)
        self.batch_norm, self.pointwise2 = nn.BatchNorm1d(WIDTH), nn.Conv1d(WIDTH, WIDTH, 1)

    def forward(self, x):
        x = functional.glu(self.pointwise1(self.norm(x).transpose(1, 2)), dim=1)
        return self.pointwise2(functional.silu(self.batch_norm(self.depthwise(x)))).transpose(1, 2)


class Block(nn.Module):
    def __init__(self):
        super().__init__()
        self.ff1, self.attention, self.convolution = feed_forward(), RelativeAttention(), ConvolutionModule()
        self.ff2, self.norm = feed_forward(), nn.LayerNorm(WIDTH)

    def forward(self, x, positions):
        x = x + 0.5 * self.ff1(x)
        x = x + self.attention(x, positions)
        x = x + self.convolution(x)
        return self.norm(x + 0.5 * self.ff2(x))


class Conformer(nn.Module):
    def __init__(self):
        super().__init__()
        self.subsampling = nn.Sequential(nn.Conv2d(1, WIDTH, 3, 2), nn.ReLU(), nn.Conv2d(WIDTH, WIDTH, 3, 2), nn.ReLU())
        self.project = nn.Linear(WIDTH * (((MELS - 1) // 2 - 1) // 2), WIDTH)
        self.blocks, self.head = nn.ModuleList(Block() for _ in range(DEPTH)), nn.Linear(WIDTH, TOKENS)

    def forward(self, features):
        x = self.project(self.subsampling(features.unsqueeze(1)).transpose(1, 2).flatten(2))
        distances = torch.arange(x.shape[1] - 1, -x.shape[1], -1)
        angles = torch.outer(distances, 10000.0 ** (-torch.arange(0, WIDTH, 2) / WIDTH))
        positions = torch.stack([angles.sin(), angles.cos()], dim=-1).flatten(1)
        for block in self.blocks:
            x = block(x, positions)
        return self.head(x)


def conformer():
    return Conformer(), (torch.randn(BATCH, FRAMES, MELS),)


def loss(logits):
    batch, frames, _ = logits.shape
    labels = (1 + torch.arange(16) % (TOKENS - 1)).expand(batch, -1)
    return functional.ctc_loss(logits.log_softmax(-1).transpose(0, 1), labels, torch.full((batch,), frames),
                               torch.full((batch,), 16))


if __name__ == "__main__":
    torch_workload.run(conformer, loss)
