# SPDX-License-Identifier: Apache-2.0
"""F9, layout conversions: convolutions in channels_last between norms in channels_first convert their tensors twice each.
Mended: all of the network in channels_last. The case of U-Net in DeepContext's evaluation, on the CPU."""
import torch
from steps import MENDED, repeat



class Block(torch.nn.Module):
    def __init__(self, channels):
        super().__init__()
        self.convolution = torch.nn.Conv2d(channels, channels, 3, padding=1, groups=channels).to(memory_format=torch.channels_last)
        self.norm = torch.nn.BatchNorm2d(channels)

    def forward(self, image):
        if MENDED:
            return torch.relu(self.norm(self.convolution(image)))
        image = self.convolution(image.contiguous(memory_format=torch.channels_last))  # bad
        return torch.relu(self.norm(image.contiguous()))  # bad


model = torch.nn.Sequential(*[Block(32) for _ in range(6)]).eval()
images = torch.randn(4, 32, 96, 96)
if MENDED:
    images = images.to(memory_format=torch.channels_last)


@torch.no_grad()
def step():
    model(images)


repeat(step, 20)
