# SPDX-License-Identifier: Apache-2.0
"""Transformer-Big (Vaswani et al., 2017) with its depth and heads, narrower, on short sentences."""
import math

import torch
from torch import nn
from torch.nn import functional

import torch_workload

VOCABULARY, LENGTH, BATCH = 4096, 24, 1
WIDTH, HEADS, HIDDEN, DEPTH = 384, 16, 1536, 6


class Attention(nn.Module):
    def __init__(self):
        super().__init__()
        self.query, self.key, self.value, self.out = (nn.Linear(WIDTH, WIDTH) for _ in range(4))

    def forward(self, x, memory, is_causal=False):
        q, k, v = (part.unflatten(-1, (HEADS, -1)).transpose(1, 2)
                   for part in (self.query(x), self.key(memory), self.value(memory)))
        y = functional.scaled_dot_product_attention(q, k, v, is_causal=is_causal)
        return self.out(y.transpose(1, 2).flatten(2))


class Layer(nn.Module):
    """Of the encoder, or with attention to its output (`has_memory`) of the decoder. Normalised after each sum."""

    def __init__(self, has_memory):
        super().__init__()
        self.self_attention, self.norm1 = Attention(), nn.LayerNorm(WIDTH)
        self.has_memory = has_memory
        if has_memory:
            self.cross_attention, self.norm2 = Attention(), nn.LayerNorm(WIDTH)
        self.ffn = nn.Sequential(nn.Linear(WIDTH, HIDDEN), nn.ReLU(), nn.Linear(HIDDEN, WIDTH))
        self.norm3 = nn.LayerNorm(WIDTH)

    def forward(self, x, memory=None):
        x = self.norm1(x + self.self_attention(x, x, is_causal=self.has_memory))
        if self.has_memory:
            x = self.norm2(x + self.cross_attention(x, memory))
        return self.norm3(x + self.ffn(x))


def positions(length):
    angles = torch.outer(torch.arange(length), 10000.0 ** (-torch.arange(0, WIDTH, 2) / WIDTH))
    return torch.stack([angles.sin(), angles.cos()], dim=-1).flatten(1)


class Transformer(nn.Module):
    def __init__(self):
        super().__init__()
        self.embedding = nn.Embedding(VOCABULARY, WIDTH)  # of both languages, and of the output
        self.encoder = nn.ModuleList(Layer(False) for _ in range(DEPTH))
        self.decoder = nn.ModuleList(Layer(True) for _ in range(DEPTH))
        self.register_buffer("positions", positions(LENGTH), persistent=False)

    def embed(self, tokens):
        return self.embedding(tokens) * math.sqrt(WIDTH) + self.positions[:tokens.shape[1]]

    def forward(self, source, target):
        memory, x = self.embed(source), self.embed(target)
        for layer in self.encoder:
            memory = layer(memory)
        for layer in self.decoder:
            x = layer(x, memory)
        return functional.linear(x, self.embedding.weight)


def transformer_big():
    return Transformer(), tuple(torch.randint(VOCABULARY, (BATCH, LENGTH)) for _ in range(2))


def loss(logits):
    labels = torch.arange(logits.shape[0] * logits.shape[1]) % VOCABULARY
    return functional.cross_entropy(logits.flatten(0, 1), labels, label_smoothing=0.1)


if __name__ == "__main__":
    torch_workload.run(transformer_big, loss, torch.optim.Adam)
