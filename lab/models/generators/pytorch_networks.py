# SPDX-License-Identifier: Apache-2.0
"""Networks of pictures for pytorch_model.py, as published, with random weights."""
import math

import torch
from torch import nn

PICTURE = 224


def conv(inputs, outputs, size=3, stride=1, groups=1, act=nn.ReLU):
    layers = [nn.Conv2d(inputs, outputs, size, stride, size // 2, groups=groups, bias=False), nn.BatchNorm2d(outputs)]
    return nn.Sequential(*layers, *([act()] if act else []))


def classifier(features, channels, classes=1000):
    return nn.Sequential(features, nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(channels, classes), nn.Softmax(1))


class Bottleneck(nn.Module):
    """Of ResNet v1; v1.5 strides in the 3×3 convolution."""

    def __init__(self, inputs, inner, stride, is_v15):
        super().__init__()
        outputs = 4 * inner
        first, second = (1, stride) if is_v15 else (stride, 1)
        self.body = nn.Sequential(conv(inputs, inner, 1, first), conv(inner, inner, 3, second), conv(inner, outputs, 1, act=None))
        self.shortcut = nn.Identity() if inputs == outputs and stride == 1 else conv(inputs, outputs, 1, stride, act=None)

    def forward(self, x):
        return torch.relu(self.body(x) + self.shortcut(x))


def resnet(depths, is_v15=False):
    layers, channels = [conv(3, 64, 7, 2), nn.MaxPool2d(3, 2, 1)], 64
    for stage, depth in enumerate(depths):
        for block in range(depth):
            layers.append(Bottleneck(channels, 64 << stage, 2 if stage > 0 and block == 0 else 1, is_v15))
            channels = 256 << stage
    return classifier(nn.Sequential(*layers), channels)


def vgg(depths):
    layers, channels = [], 3
    for depth, outputs in zip(depths, (64, 128, 256, 512, 512)):
        for _ in range(depth):
            layers += [nn.Conv2d(channels, outputs, 3, padding=1), nn.ReLU()]
            channels = outputs
        layers.append(nn.MaxPool2d(2))
    return nn.Sequential(*layers, nn.Flatten(), nn.Linear(512 * 7 * 7, 4096), nn.ReLU(), nn.Linear(4096, 4096), nn.ReLU(),
                         nn.Linear(4096, 1000), nn.Softmax(1))


def mobilenet_v1(alpha):
    steps = ((64, 1), (128, 2), (128, 1), (256, 2), (256, 1), (512, 2), *((512, 1),) * 5, (1024, 2), (1024, 1))
    channels = int(32 * alpha)
    layers = [conv(3, channels, 3, 2, act=nn.ReLU6)]
    for outputs, stride in steps:
        outputs = int(outputs * alpha)
        layers += [conv(channels, channels, 3, stride, channels, nn.ReLU6), conv(channels, outputs, 1, act=nn.ReLU6)]
        channels = outputs
    return classifier(nn.Sequential(*layers), channels)


class Inverted(nn.Module):
    def __init__(self, inputs, outputs, stride, expansion):
        super().__init__()
        inner = inputs * expansion
        first = [conv(inputs, inner, 1, act=nn.ReLU6)] if expansion > 1 else []
        self.body = nn.Sequential(*first, conv(inner, inner, 3, stride, inner, nn.ReLU6), conv(inner, outputs, 1, act=None))
        self.adds = stride == 1 and inputs == outputs

    def forward(self, x):
        return x + self.body(x) if self.adds else self.body(x)


def mobilenet_v2():
    layers, channels = [conv(3, 32, 3, 2, act=nn.ReLU6)], 32
    for expansion, outputs, count, stride in ((1, 16, 1, 1), (6, 24, 2, 2), (6, 32, 3, 2), (6, 64, 4, 2), (6, 96, 3, 1),
                                              (6, 160, 3, 2), (6, 320, 1, 1)):
        for block in range(count):
            layers.append(Inverted(channels, outputs, stride if block == 0 else 1, expansion))
            channels = outputs
    return classifier(nn.Sequential(*layers, conv(channels, 1280, 1, act=nn.ReLU6)), 1280)


class Dense(nn.Module):
    def __init__(self, inputs):
        super().__init__()
        self.body = nn.Sequential(nn.BatchNorm2d(inputs), nn.ReLU(), nn.Conv2d(inputs, 128, 1, bias=False), nn.BatchNorm2d(128),
                                  nn.ReLU(), nn.Conv2d(128, 32, 3, padding=1, bias=False))

    def forward(self, x):
        return torch.cat([x, self.body(x)], 1)


def densenet121():
    layers, channels = [conv(3, 64, 7, 2), nn.MaxPool2d(3, 2, 1)], 64
    for stage, depth in enumerate((6, 12, 24, 16)):
        layers += [Dense(channels + 32 * block) for block in range(depth)]
        channels += 32 * depth
        layers += [nn.BatchNorm2d(channels), nn.ReLU()]
        if stage < 3:
            layers += [nn.Conv2d(channels, channels // 2, 1, bias=False), nn.AvgPool2d(2)]
            channels //= 2
    return classifier(nn.Sequential(*layers), channels)


class Fire(nn.Module):
    def __init__(self, inputs, squeezed, expanded):
        super().__init__()
        self.squeeze = nn.Conv2d(inputs, squeezed, 1)
        self.left, self.right = nn.Conv2d(squeezed, expanded, 1), nn.Conv2d(squeezed, expanded, 3, padding=1)

    def forward(self, x):
        x = torch.relu(self.squeeze(x))
        return torch.cat([torch.relu(self.left(x)), torch.relu(self.right(x))], 1)


def squeezenet():
    pool = lambda: nn.MaxPool2d(3, 2, ceil_mode=True)  # noqa: E731
    return nn.Sequential(nn.Conv2d(3, 64, 3, 2), nn.ReLU(), pool(), Fire(64, 16, 64), Fire(128, 16, 64), pool(),
                         Fire(128, 32, 128), Fire(256, 32, 128), pool(), Fire(256, 48, 192), Fire(384, 48, 192),
                         Fire(384, 64, 256), Fire(512, 64, 256), nn.Conv2d(512, 1000, 1), nn.ReLU(),
                         nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Softmax(1))


def filled(network):
    """He et al.'s scale for kernels, so that values neither vanish nor explode; batch norms are not at their initial values."""
    for module in network.modules():
        if isinstance(module, (nn.Conv2d, nn.Linear)):
            nn.init.normal_(module.weight, std=math.sqrt(2 / module.weight[0].numel()))
            if module.bias is not None:
                nn.init.uniform_(module.bias, -.1, .1)
        elif isinstance(module, nn.BatchNorm2d):
            for values, limits in ((module.weight, (.5, 1.5)), (module.running_var, (.5, 1.5)), (module.bias, (-.1, .1)),
                                   (module.running_mean, (-.1, .1))):
                nn.init.uniform_(values, *limits)
    return network


def made(make, *arguments, edge=PICTURE):
    return lambda: (filled(make(*arguments)), (torch.rand(2, 3, edge, edge),))


NETWORKS = {
    "resnet50_v1": made(resnet, (3, 4, 6, 3)),
    "resnet101_v1": made(resnet, (3, 4, 23, 3)),
    "resnet152_v1": made(resnet, (3, 8, 36, 3)),
    "resnet50_v1.5": made(resnet, (3, 4, 6, 3), True),
    "vgg16": made(vgg, (2, 2, 3, 3, 3)),
    "vgg19": made(vgg, (2, 2, 4, 4, 4)),
    "mobilenet_v2": made(mobilenet_v2),
    "densenet121": made(densenet121),
    "squeezenet_1.1": made(squeezenet),
    **{f"mobilenet_v1_{alpha}_{edge}": made(mobilenet_v1, alpha, edge=edge)
       for alpha in (.25, .5, .75, 1.0) for edge in (128, 160, 192, 224)},
}
