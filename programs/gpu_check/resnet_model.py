# SPDX-License-Identifier: Apache-2.0
"""resnet_model.py:make for `xsp profile`: ResNet-50 on the GPU. The inputs that it is given are copied there once, and a prediction
ends when the GPU has. gpu-check runs it."""
import torch

import resnet

SIZE = 224


class OnGpu(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.module, self.given, self.images = resnet.ResNet().eval().cuda(), None, None

    def forward(self, images):
        if self.given is not images:
            self.given, self.images = images, images.cuda()
        output = self.module(self.images)
        torch.cuda.synchronize()
        return output


def make():
    torch.manual_seed(0)
    return OnGpu(), (torch.randn(1, 3, SIZE, SIZE),)
