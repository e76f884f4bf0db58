# SPDX-License-Identifier: Apache-2.0
"""U-Net (Ronneberger et al., 2015): segmentation with an encoder, a decoder, and connections between equal sizes."""
import torch
from torch import nn
from torch.nn import functional

import torch_workload

CLASSES, SIZE, BATCH, WIDTHS = 2, 128, 1, (16, 32, 64, 128, 256)


class DoubleConv(nn.Sequential):
    def __init__(self, width_in, width):
        super().__init__(nn.Conv2d(width_in, width, 3, padding=1, bias=False), nn.BatchNorm2d(width), nn.ReLU(),
                         nn.Conv2d(width, width, 3, padding=1, bias=False), nn.BatchNorm2d(width), nn.ReLU())


class Up(nn.Module):
    def __init__(self, width_in, width):
        super().__init__()
        self.up = nn.ConvTranspose2d(width_in, width, 2, stride=2)
        self.conv = DoubleConv(2 * width, width)

    def forward(self, x, skipped):
        return self.conv(torch.cat([skipped, self.up(x)], dim=1))


class UNet(nn.Module):
    def __init__(self):
        super().__init__()
        self.down = nn.ModuleList(DoubleConv(width_in, width) for width_in, width in zip((3, *WIDTHS), WIDTHS))
        self.pool = nn.MaxPool2d(2)
        self.up = nn.ModuleList(Up(width_in, width) for width_in, width in zip(WIDTHS[:0:-1], WIDTHS[-2::-1]))
        self.head = nn.Conv2d(WIDTHS[0], CLASSES, 1)

    def forward(self, x):
        skipped = []
        for down in self.down[:-1]:
            x = down(x)
            skipped.append(x)
            x = self.pool(x)
        x = self.down[-1](x)
        for up in self.up:
            x = up(x, skipped.pop())
        return self.head(x)


def unet():
    return UNet(), (torch.randn(BATCH, 3, SIZE, SIZE),)


def loss(logits):
    labels = (torch.arange(SIZE * SIZE).reshape(1, SIZE, SIZE) % CLASSES).expand(len(logits), -1, -1)
    return functional.cross_entropy(logits, labels)


if __name__ == "__main__":
    torch_workload.run(unet, loss, torch.optim.SGD)
