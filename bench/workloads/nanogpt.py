# SPDX-License-Identifier: Apache-2.0
"""nanoGPT (Karpathy, 2022), GPT-2's architecture in the size of its character model, on a shorter text."""
import torch
from torch import nn
from torch.nn import functional

import torch_workload

VOCABULARY, BLOCK, BATCH, WIDTH, HEADS, DEPTH = 65, 64, 2, 384, 6, 6


class CausalSelfAttention(nn.Module):
    def __init__(self):
        super().__init__()
        self.c_attn, self.c_proj = nn.Linear(WIDTH, 3 * WIDTH, bias=False), nn.Linear(WIDTH, WIDTH, bias=False)

    def forward(self, x):
        batch, length, _ = x.shape
        q, k, v = (part.view(batch, length, HEADS, WIDTH // HEADS).transpose(1, 2)
                   for part in self.c_attn(x).split(WIDTH, dim=2))
        y = functional.scaled_dot_product_attention(q, k, v, is_causal=True)
        return self.c_proj(y.transpose(1, 2).contiguous().view(batch, length, WIDTH))


class MLP(nn.Module):
    def __init__(self):
        super().__init__()
        self.c_fc, self.gelu = nn.Linear(WIDTH, 4 * WIDTH, bias=False), nn.GELU()
        self.c_proj = nn.Linear(4 * WIDTH, WIDTH, bias=False)

    def forward(self, x):
        return self.c_proj(self.gelu(self.c_fc(x)))


class Block(nn.Module):
    def __init__(self):
        super().__init__()
        self.ln_1, self.attn = nn.LayerNorm(WIDTH, bias=False), CausalSelfAttention()
        self.ln_2, self.mlp = nn.LayerNorm(WIDTH, bias=False), MLP()

    def forward(self, x):
        x = x + self.attn(self.ln_1(x))
        return x + self.mlp(self.ln_2(x))


class GPT(nn.Module):
    def __init__(self):
        super().__init__()
        self.wte, self.wpe = nn.Embedding(VOCABULARY, WIDTH), nn.Embedding(BLOCK, WIDTH)
        self.h, self.ln_f = nn.ModuleList(Block() for _ in range(DEPTH)), nn.LayerNorm(WIDTH, bias=False)
        self.lm_head = nn.Linear(WIDTH, VOCABULARY, bias=False)
        self.wte.weight = self.lm_head.weight

    def forward(self, tokens):
        x = self.wte(tokens) + self.wpe(torch.arange(tokens.shape[1]))
        for block in self.h:
            x = block(x)
        return self.lm_head(self.ln_f(x))


def nanogpt():
    return GPT(), (torch.randint(VOCABULARY, (BATCH, BLOCK)),)


def loss(logits):
    return functional.cross_entropy(logits.flatten(0, 1), torch.arange(logits.shape[0] * logits.shape[1]) % VOCABULARY)


if __name__ == "__main__":
    torch_workload.run(nanogpt, loss)
