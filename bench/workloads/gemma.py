# SPDX-License-Identifier: Apache-2.0
"""Gemma (Mesnard et al., 2024) in small: multi-query attention with wide heads, GeGLU, RMSNorm of 1 + weight, tied and
scaled embeddings. Rotary positions are Llama's."""
import math

import torch
from torch import nn
from torch.nn import functional

import torch_workload
from llama import rotary_angles, rotate

VOCABULARY, LENGTH, BATCH = 8192, 96, 1
WIDTH, HEADS, HEAD, HIDDEN, DEPTH = 256, 4, 128, 2048, 6


class RMSNorm(nn.Module):
    def __init__(self):
        super().__init__()
        self.weight = nn.Parameter(torch.zeros(WIDTH))

    def forward(self, x):
        return x * torch.rsqrt(x.square().mean(-1, keepdim=True) + 1e-6) * (1 + self.weight)


class Attention(nn.Module):
    """One head of keys and values for all heads of queries."""

    def __init__(self):
        super().__init__()
        self.q_proj = nn.Linear(WIDTH, HEADS * HEAD, bias=False)
        self.k_proj, self.v_proj = (nn.Linear(WIDTH, HEAD, bias=False) for _ in range(2))
        self.o_proj = nn.Linear(HEADS * HEAD, WIDTH, bias=False)

    def forward(self, x, cos, sin):
        batch, length, _ = x.shape
        q, k, v = (part.view(batch, length, -1, HEAD).transpose(1, 2)
                   for part in (self.q_proj(x), self.k_proj(x), self.v_proj(x)))
        q, k = rotate(q, cos, sin), rotate(k, cos, sin)
        y = functional.scaled_dot_product_attention(q, k.expand_as(q), v.expand_as(q), is_causal=True)
        return self.o_proj(y.transpose(1, 2).reshape(batch, length, -1))


class FeedForward(nn.Module):
    def __init__(self):
        super().__init__()
        self.gate_proj, self.up_proj = (nn.Linear(WIDTH, HIDDEN, bias=False) for _ in range(2))
        self.down_proj = nn.Linear(HIDDEN, WIDTH, bias=False)

    def forward(self, x):
        return self.down_proj(functional.gelu(self.gate_proj(x), approximate="tanh") * self.up_proj(x))


class Block(nn.Module):
    def __init__(self):
        super().__init__()
        self.input_layernorm, self.self_attn = RMSNorm(), Attention()
        self.post_attention_layernorm, self.mlp = RMSNorm(), FeedForward()

    def forward(self, x, cos, sin):
        x = x + self.self_attn(self.input_layernorm(x), cos, sin)
        return x + self.mlp(self.post_attention_layernorm(x))


class Gemma(nn.Module):
    def __init__(self):
        super().__init__()
        self.embed_tokens = nn.Embedding(VOCABULARY, WIDTH)
        self.layers, self.norm = nn.ModuleList(Block() for _ in range(DEPTH)), RMSNorm()

    def forward(self, tokens):
        x, angles = self.embed_tokens(tokens) * math.sqrt(WIDTH), rotary_angles(tokens.shape[1], HEAD)
        for layer in self.layers:
            x = layer(x, *angles)
        return self.norm(x) @ self.embed_tokens.weight.T


def gemma():
    return Gemma(), (torch.randint(VOCABULARY, (BATCH, LENGTH)),)


def loss(logits):
    return functional.cross_entropy(logits.flatten(0, 1), torch.arange(logits.shape[0] * logits.shape[1]) % VOCABULARY)


if __name__ == "__main__":
    torch_workload.run(gemma, loss)
