# SPDX-License-Identifier: Apache-2.0
"""ResNet-50 (He et al., 2015) on small pictures."""
import torch
from torch import nn
from torch.nn import functional

import torch_workload

CLASSES, SIZE, BATCH = 1000, 128, 1


class Bottleneck(nn.Module):
    def __init__(self, width_in, width, stride):
        super().__init__()
        self.conv1, self.bn1 = nn.Conv2d(width_in, width, 1, bias=False), nn.BatchNorm2d(width)
        self.conv2, self.bn2 = nn.Conv2d(width, width, 3, stride, 1, bias=False), nn.BatchNorm2d(width)
        self.conv3, self.bn3 = nn.Conv2d(width, 4 * width, 1, bias=False), nn.BatchNorm2d(4 * width)
        self.relu = nn.ReLU(inplace=True)
        self.downsample = None
        if stride != 1 or width_in != 4 * width:
            self.downsample = nn.Sequential(nn.Conv2d(width_in, 4 * width, 1, stride, bias=False),
                                            nn.BatchNorm2d(4 * width))

    def forward(self, x):
        out = self.relu(self.bn1(self.conv1(x)))
        out = self.relu(self.bn2(self.conv2(out)))
        out = self.bn3(self.conv3(out))
        return self.relu(out + (x if self.downsample is None else self.downsample(x)))


class ResNet(nn.Module):
    def __init__(self, blocks=(3, 4, 6, 3)):
        super().__init__()
        self.conv1, self.bn1 = nn.Conv2d(3, 64, 7, 2, 3, bias=False), nn.BatchNorm2d(64)
        self.relu, self.maxpool = nn.ReLU(inplace=True), nn.MaxPool2d(3, 2, 1)
        stages, width_in = [], 64
        for number, count in enumerate(blocks):
            width = 64 << number
            stages.append(nn.Sequential(*(Bottleneck(width_in if i == 0 else 4 * width, width,
                                                     2 if i == 0 and number > 0 else 1) for i in range(count))))
            width_in = 4 * width
        self.layer1, self.layer2, self.layer3, self.layer4 = stages
        self.avgpool, self.fc = nn.AdaptiveAvgPool2d(1), nn.Linear(width_in, CLASSES)

    def forward(self, x):
        x = self.maxpool(self.relu(self.bn1(self.conv1(x))))
        x = self.layer4(self.layer3(self.layer2(self.layer1(x))))
        return self.fc(torch.flatten(self.avgpool(x), 1))


def resnet():
    return ResNet(), (torch.randn(BATCH, 3, SIZE, SIZE),)


def loss(logits):
    return functional.cross_entropy(logits, torch.arange(len(logits)) % CLASSES)


if __name__ == "__main__":
    torch_workload.run(resnet, loss, torch.optim.SGD)
