# SPDX-License-Identifier: Apache-2.0
"""Llama (Touvron et al., 2023) in small: RMSNorm, rotary positions, grouped-query attention, SwiGLU."""
import torch
from torch import nn
from torch.nn import functional

import torch_workload

VOCABULARY, LENGTH, BATCH = 4096, 128, 1
WIDTH, HEADS, KV_HEADS, HIDDEN, DEPTH = 256, 8, 2, 688, 8
HEAD = WIDTH // HEADS


def rotary_angles(length, width, base=10000.0):
    """cos and sin of position times frequency, each (length, width), for the halves of a head."""
    frequencies = base ** (-torch.arange(0, width, 2) / width)
    angles = torch.outer(torch.arange(length), frequencies).repeat(1, 2)
    return angles.cos(), angles.sin()


def rotate(x, cos, sin):
    first, second = x.chunk(2, dim=-1)
    return x * cos + torch.cat([-second, first], dim=-1) * sin


class Attention(nn.Module):
    def __init__(self):
        super().__init__()
        self.q_proj = nn.Linear(WIDTH, HEADS * HEAD, bias=False)
        self.k_proj, self.v_proj = (nn.Linear(WIDTH, KV_HEADS * HEAD, bias=False) for _ in range(2))
        self.o_proj = nn.Linear(HEADS * HEAD, WIDTH, bias=False)

    def forward(self, x, cos, sin):
        batch, length, _ = x.shape
        q, k, v = (part.view(batch, length, -1, HEAD).transpose(1, 2)
                   for part in (self.q_proj(x), self.k_proj(x), self.v_proj(x)))
        q, k = rotate(q, cos, sin), rotate(k, cos, sin)
        k, v = (part.repeat_interleave(HEADS // KV_HEADS, dim=1) for part in (k, v))
        y = functional.scaled_dot_product_attention(q, k, v, is_causal=True)
        return self.o_proj(y.transpose(1, 2).reshape(batch, length, -1))


class FeedForward(nn.Module):
    def __init__(self):
        super().__init__()
        self.gate_proj, self.up_proj = (nn.Linear(WIDTH, HIDDEN, bias=False) for _ in range(2))
        self.down_proj = nn.Linear(HIDDEN, WIDTH, bias=False)

    def forward(self, x):
        return self.down_proj(functional.silu(self.gate_proj(x)) * self.up_proj(x))


class Block(nn.Module):
    def __init__(self):
        super().__init__()
        self.attention_norm, self.attention = nn.RMSNorm(WIDTH, eps=1e-5), Attention()
        self.ffn_norm, self.feed_forward = nn.RMSNorm(WIDTH, eps=1e-5), FeedForward()

    def forward(self, x, cos, sin):
        x = x + self.attention(self.attention_norm(x), cos, sin)
        return x + self.feed_forward(self.ffn_norm(x))


class Llama(nn.Module):
    def __init__(self):
        super().__init__()
        self.embed_tokens = nn.Embedding(VOCABULARY, WIDTH)
        self.layers = nn.ModuleList(Block() for _ in range(DEPTH))
        self.norm, self.lm_head = nn.RMSNorm(WIDTH, eps=1e-5), nn.Linear(WIDTH, VOCABULARY, bias=False)

    def forward(self, tokens):
        x, angles = self.embed_tokens(tokens), rotary_angles(tokens.shape[1], HEAD)
        for layer in self.layers:
            x = layer(x, *angles)
        return self.lm_head(self.norm(x))


def llama():
    return Llama(), (torch.randint(VOCABULARY, (BATCH, LENGTH)),)


def loss(logits):
    return functional.cross_entropy(logits.flatten(0, 1), torch.arange(logits.shape[0] * logits.shape[1]) % VOCABULARY)


if __name__ == "__main__":
    torch_workload.run(llama, loss)
