# SPDX-License-Identifier: Apache-2.0
"""Small trained networks for pytorch_model.py: trained here within a minute, on digits of scikit-learn, made-up pictures, tones
and a text of Python's own; or with the weights that a Python package ships. One that does not learn its task is an error."""
import codecs
import contextlib
import importlib.metadata
import io

import torch
from torch import nn
from torch.nn import functional


def train(network, data, loss_of, steps, batch=64, rate=2e-3):
    """`data(count)` returns inputs and targets."""
    network.train()
    optimizer = torch.optim.Adam(network.parameters(), rate)
    for _ in range(steps):
        inputs, targets = data(batch)
        optimizer.zero_grad()
        loss_of(network(inputs), targets).backward()
        optimizer.step()
    return network.eval()


def check(name, share, least):
    if share < least:
        raise ValueError(f"it learned {name} in {share:.1%} of cases only, not in {least:.0%}")


# ---- digits ----------------------------------------------------------------------------------------------------------
def digits():
    from sklearn.datasets import load_digits
    found = load_digits()
    order = torch.randperm(len(found.target))
    pictures = torch.tensor(found.images, dtype=torch.float32)[order].unsqueeze(1) / 16
    return pictures, torch.tensor(found.target)[order]


def trained_digits(network, steps=400):
    pictures, labels = digits()

    def some(count):
        at = torch.randint(len(labels) - 300, (count,))
        return pictures[at], labels[at]
    train(network, some, functional.cross_entropy, steps)
    with torch.no_grad():
        check("digits", (network(pictures[-300:]).argmax(1) == labels[-300:]).float().mean().item(), .9)
    return network, (pictures[:2],)


def digits_mlp():
    return trained_digits(nn.Sequential(nn.Flatten(), nn.Linear(64, 128), nn.ReLU(), nn.Linear(128, 64), nn.ReLU(),
                                        nn.Linear(64, 10)))


def digits_cnn():
    return trained_digits(nn.Sequential(nn.Conv2d(1, 16, 3, padding=1), nn.ReLU(), nn.MaxPool2d(2),
                                        nn.Conv2d(16, 32, 3, padding=1), nn.ReLU(), nn.MaxPool2d(2), nn.Flatten(), nn.Linear(128, 10)))


class Attention(nn.Module):
    """Rows of a digit are the tokens of an encoder of two layers."""

    def __init__(self):
        super().__init__()
        self.embed, self.place = nn.Linear(8, 32), nn.Parameter(torch.randn(8, 32) / 10)
        self.layers = nn.TransformerEncoder(nn.TransformerEncoderLayer(32, 4, 64, 0., batch_first=True), 2,
                                            enable_nested_tensor=False)
        self.out = nn.Linear(32, 10)

    def forward(self, pictures):
        return self.out(self.layers(self.embed(pictures.squeeze(1)) + self.place).mean(1))


def digits_transformer():
    return trained_digits(Attention())


# ---- made-up pictures: a bright rectangle in noise -------------------------------------------------------------------
EDGE = 32


def rectangles(count):
    """Pictures, boxes (x0, y0, x1, y1 of 0 to 1), masks."""
    size, place = torch.randint(8, 17, (count, 2, 1)), torch.rand(count, 2, 1)
    low = (place * (EDGE - size)).long()
    at = torch.arange(EDGE).expand(count, 2, EDGE)
    inside = (at >= low) & (at < low + size)
    masks = (inside[:, 1].unsqueeze(2) & inside[:, 0].unsqueeze(1)).float()
    boxes = torch.cat([low, low + size], 1).squeeze(2).float() / EDGE
    return (torch.rand(count, 3, EDGE, EDGE) * .5 + masks.unsqueeze(1) * .5), boxes, masks


def block(inputs, outputs):
    return nn.Sequential(nn.Conv2d(inputs, outputs, 3, padding=1), nn.BatchNorm2d(outputs), nn.ReLU())


class Detector(nn.Module):
    """One box and its score for each place of a map of 4 × 4, as the first YOLO has them."""

    def __init__(self):
        super().__init__()
        self.body = nn.Sequential(block(3, 16), nn.MaxPool2d(2), block(16, 32), nn.MaxPool2d(2), block(32, 64), nn.MaxPool2d(2),
                                  block(64, 64), nn.Conv2d(64, 5, 1))

    def forward(self, pictures):
        found = self.body(pictures).flatten(2).transpose(1, 2)
        return found[..., :4].sigmoid(), found[..., 4]


def places(boxes):
    centre = ((boxes[:, :2] + boxes[:, 2:]) * 2).long().clamp(0, 3)
    return centre[:, 1] * 4 + centre[:, 0]


def overlap(a, b):
    shared = (torch.minimum(a[:, 2:], b[:, 2:]) - torch.maximum(a[:, :2], b[:, :2])).clamp(0).prod(1)
    return shared / ((a[:, 2:] - a[:, :2]).prod(1) + (b[:, 2:] - b[:, :2]).prod(1) - shared)


def toy_detection():
    def loss(found, boxes):
        at = places(boxes)
        return functional.cross_entropy(found[1], at) + 20 * functional.l1_loss(found[0][torch.arange(len(at)), at], boxes)
    network = train(Detector(), lambda count: rectangles(count)[:2], loss, 600, 32, 3e-3)
    pictures, boxes, _ = rectangles(300)
    with torch.no_grad():
        found, scores = network(pictures)
    best = found[torch.arange(300), scores.argmax(1)]
    check("boxes", (overlap(best, boxes) > .5).float().mean().item(), .8)
    return network, (pictures[:2],)


class UNet(nn.Module):
    def __init__(self):
        super().__init__()
        self.down, self.deep, self.up = block(3, 16), block(16, 32), block(48, 16)
        self.out = nn.Conv2d(16, 2, 1)

    def forward(self, pictures):
        fine = self.down(pictures)
        coarse = self.deep(functional.max_pool2d(fine, 2))
        return self.out(self.up(torch.cat([fine, functional.interpolate(coarse, scale_factor=2)], 1)))


def toy_segmentation():
    def some(count):
        pictures, _, masks = rectangles(count)
        return pictures, masks.long()
    network = train(UNet(), some, functional.cross_entropy, 150, 32)
    pictures, masks = some(100)
    with torch.no_grad():
        check("pixels", (network(pictures).argmax(1) == masks).float().mean().item(), .9)
    return network, (pictures[:2],)


# ---- objects in regions: the forms of Faster R-CNN and of Mask R-CNN -------------------------------------------------
REGIONS, CROP, MASK = 8, 7, 14


def shapes(count):
    """As rectangles(), but half of them are ellipses: class 1."""
    pictures, boxes, masks = rectangles(count)
    kinds = torch.randint(2, (count,))
    places = (torch.arange(EDGE) + .5) / EDGE
    middle, half = (boxes[:, :2] + boxes[:, 2:]) / 2, (boxes[:, 2:] - boxes[:, :2]) / 2
    x, y = ((places - middle[:, i:i + 1]) / half[:, i:i + 1] for i in (0, 1))
    ellipses = (x.unsqueeze(1) ** 2 + y.unsqueeze(2) ** 2 <= 1).float()
    masks = torch.where(kinds.view(-1, 1, 1) == 1, masks * ellipses, masks)
    return torch.rand(count, 3, EDGE, EDGE) * .5 + masks.unsqueeze(1) * .5, boxes, masks, kinds


def crop(maps, boxes, size):
    """What of `maps` [N, C, H, W] is in `boxes` [N, M, 4], as [N * M, C, size, size]."""
    count, channels, regions = maps.shape[0], maps.shape[1], boxes.shape[1]
    steps = (torch.arange(size) + .5) / size
    x, y = (boxes[..., i:i + 1] + (boxes[..., i + 2:i + 3] - boxes[..., i:i + 1]) * steps for i in (0, 1))
    grid = torch.stack([x.unsqueeze(2).expand(-1, -1, size, -1), y.unsqueeze(3).expand(-1, -1, -1, size)], -1)
    found = functional.grid_sample(maps, grid.flatten(1, 2) * 2 - 1, align_corners=False)
    return found.view(count, channels, regions, size, size).transpose(1, 2).reshape(-1, channels, size, size)


class Regions(nn.Module):
    """The best boxes of a map of 8 × 8 are cut out of the features; each is classified, moved and, `with_masks`, masked for each class."""

    def __init__(self, with_masks):
        super().__init__()
        self.body = nn.Sequential(block(3, 16), nn.MaxPool2d(2), block(16, 32))
        self.propose = nn.Sequential(nn.MaxPool2d(2), block(32, 32), block(32, 32), nn.Conv2d(32, 5, 1))
        self.classify = nn.Sequential(nn.Flatten(), nn.Linear(32 * CROP * CROP, 64), nn.ReLU(), nn.Linear(64, 3 + 4))
        self.mask = nn.Sequential(block(32, 32), nn.Upsample(scale_factor=2), block(32, 16), nn.Conv2d(16, 2, 1)) if with_masks else None

    def proposals(self, features):
        found = self.propose(features).flatten(2).transpose(1, 2)
        return found[..., :4].sigmoid(), found[..., 4]

    def heads(self, features, boxes):
        parts = crop(features, boxes, CROP)
        found = self.classify(parts).view(boxes.shape[0], boxes.shape[1], 7)
        masks = self.mask(parts).view(boxes.shape[0], boxes.shape[1], 2, MASK, MASK) if self.mask else None
        return found[..., :3], boxes + found[..., 3:] / 10, masks

    def forward(self, pictures):
        features = self.body(pictures)
        boxes, scores = self.proposals(features)
        best = scores.topk(REGIONS, 1).indices.unsqueeze(2).expand(-1, -1, 4)
        classes, boxes, masks = self.heads(features, boxes.gather(1, best))
        return (boxes, classes.softmax(2)[..., :2], *([masks.sigmoid()] if self.mask else []))


def region_loss(network, pictures, boxes, masks, kinds):
    features, count = network.body(pictures), len(pictures)
    proposed, scores = network.proposals(features)
    middle = ((boxes[:, :2] + boxes[:, 2:]) * 4).long().clamp(0, 7)
    at = middle[:, 1] * 8 + middle[:, 0]
    wanted = boxes.unsqueeze(1).expand(-1, REGIONS, -1)
    near = wanted + torch.randn(count, REGIONS, 4) * .05
    corners = torch.rand(count, REGIONS, 2, 2).sort(2).values.flatten(2)
    regions = torch.where(torch.rand(count, REGIONS, 1) < .6, near, corners)
    classes, moved, found = network.heads(features, regions)
    is_object = overlap(regions.flatten(0, 1), wanted.flatten(0, 1)) > .5
    labels = torch.where(is_object.view(count, REGIONS), kinds.unsqueeze(1), 2)
    loss = (functional.cross_entropy(scores, at) + 20 * functional.l1_loss(proposed[torch.arange(count), at], boxes)
            + functional.cross_entropy(classes.flatten(0, 1), labels.flatten())
            + 20 * functional.l1_loss(moved.flatten(0, 1)[is_object], wanted.flatten(0, 1)[is_object]))
    if found is not None:
        target = crop(masks.unsqueeze(1), regions, MASK).squeeze(1)
        own = found.flatten(0, 1)[torch.arange(count * REGIONS), kinds.repeat_interleave(REGIONS)]
        loss = loss + functional.binary_cross_entropy_with_logits(own[is_object], target[is_object])
    return loss


def trained_regions(with_masks):
    network = Regions(with_masks).train()
    optimizer = torch.optim.Adam(network.parameters(), 3e-3)
    for _ in range(400):
        optimizer.zero_grad()
        region_loss(network, *shapes(32)).backward()
        optimizer.step()
    network.eval()
    pictures, boxes, masks, kinds = shapes(300)
    with torch.no_grad():
        found, scores, *found_masks = network(pictures)
    best, every = scores.amax(2).argmax(1), torch.arange(300)
    check("boxes", (overlap(found[every, best], boxes) > .5).float().mean().item(), .8)
    check("classes", (scores[every, best].argmax(1) == kinds).float().mean().item(), .8)
    if with_masks:
        target = crop(masks.unsqueeze(1), found[every, best].unsqueeze(1), MASK).squeeze(1) > .5
        check("masks", ((found_masks[0][every, best, kinds] > .5) == target).float().mean().item(), .85)
    return network, (pictures[:2],)


def toy_faster_rcnn():
    return trained_regions(with_masks=False)


def toy_mask_rcnn():
    return trained_regions(with_masks=True)


# ---- details ---------------------------------------------------------------------------------------------------------
def toy_super_resolution():
    """Digits of 4 × 4 at twice the size."""
    pictures, _ = digits()

    def some(count):
        fine = pictures[torch.randint(len(pictures) - 300, (count,))]
        return functional.avg_pool2d(fine, 2), fine
    network = train(nn.Sequential(nn.Conv2d(1, 32, 3, padding=1), nn.ReLU(), nn.Conv2d(32, 32, 3, padding=1), nn.ReLU(),
                                  nn.Conv2d(32, 4, 3, padding=1), nn.PixelShuffle(2)), some, functional.mse_loss, 400)
    fine, coarse = pictures[-300:], functional.avg_pool2d(pictures[-300:], 2)
    with torch.no_grad():
        plain = functional.mse_loss(functional.interpolate(coarse, scale_factor=2), fine)
        better = functional.mse_loss(network(coarse), fine) < plain / 2
    check("details", float(better), 1)
    return network, (coarse[:2],)


# ---- text and sound --------------------------------------------------------------------------------------------------
class Letters(nn.Module):
    """The next letter of a text."""

    def __init__(self):
        super().__init__()
        self.embed, self.layers, self.out = nn.Embedding(128, 32), nn.GRU(32, 128, batch_first=True), nn.Linear(128, 128)

    def forward(self, letters):
        return self.out(self.layers(self.embed(letters))[0])


def toy_letters():
    with contextlib.redirect_stdout(io.StringIO()):
        import this
    text = torch.tensor(list(codecs.decode(this.s, "rot13").encode("ascii")))

    def some(count):
        at = torch.randint(len(text) - 33, (count, 1)) + torch.arange(33)
        return text[at][:, :32], text[at][:, 1:]

    def loss(found, following):
        return functional.cross_entropy(found.transpose(1, 2), following)
    network = train(Letters(), some, loss, 200, 32, 5e-3)
    letters, following = some(64)
    with torch.no_grad():
        check("letters", (network(letters).argmax(2) == following).float().mean().item(), .6)
    return network, (letters[:2],)


def tones(count):
    """A quarter of a second of noise with one of eight tones."""
    kinds = torch.randint(8, (count,))
    time = torch.arange(2000) / 8000
    waves = torch.sin(6.2832 * (200 * 2 ** (kinds / 3)).unsqueeze(1) * time + 6.2832 * torch.rand(count, 1))
    return (waves + torch.randn(count, 2000)).unsqueeze(1), kinds


def toy_tones():
    network = train(nn.Sequential(nn.Conv1d(1, 32, 64, 8), nn.ReLU(), nn.Conv1d(32, 32, 8, 4), nn.ReLU(),
                                  nn.AdaptiveAvgPool1d(1), nn.Flatten(), nn.Linear(32, 8)), tones, functional.cross_entropy, 300)
    sounds, kinds = tones(300)
    with torch.no_grad():
        check("tones", (network(sounds).argmax(1) == kinds).float().mean().item(), .8)
    return network, (sounds[:2],)


# ---- weights of packages ---------------------------------------------------------------------------------------------
def package_weights(package, name):
    """Reads a file of an installed package, which is not imported."""
    found = [path for path in importlib.metadata.files(package) or [] if str(path).endswith(name)]
    if not found:
        raise ValueError(f"package {package} has no {name}")
    return torch.load(found[0].locate(), weights_only=True, map_location="cpu")


class Faces(nn.Module):
    """A network of Zhang et al., Joint Face Detection and Alignment, 2016: convolutions, then answers side by side."""

    def __init__(self, body, heads):
        super().__init__()
        self.body, self.heads = body, nn.ModuleList(heads)

    def forward(self, pictures):
        found = self.body(pictures)
        return (self.heads[0](found).softmax(1), *(head(found) for head in self.heads[1:]))


class Columns(nn.Module):
    """Flattens as the trained weights have it: by width, height, channel."""

    def forward(self, x):
        return x.permute(0, 3, 2, 1).flatten(1)


def faces(file, edge, body, heads):
    network = Faces(nn.Sequential(*body), heads)
    with_weights = [module for module in [*body, *heads] if list(module.parameters())]
    weights = list(package_weights("facenet-pytorch", file).values())
    for module in with_weights:
        for parameter in module.parameters():
            parameter.data.copy_(weights.pop(0))
    return network, (torch.rand(2, 3, edge, edge) * 2 - 1,)


def pool(size=3):
    return nn.MaxPool2d(size, 2, ceil_mode=True)


def step(inputs, outputs, size=3):
    return [nn.Conv2d(inputs, outputs, size), nn.PReLU(outputs)]


def mtcnn_pnet():
    return faces("pnet.pt", 96, [*step(3, 10), pool(2), *step(10, 16), *step(16, 32)],
                 [nn.Conv2d(32, 2, 1), nn.Conv2d(32, 4, 1)])


def mtcnn_rnet():
    return faces("rnet.pt", 24, [*step(3, 28), pool(), *step(28, 48), pool(), *step(48, 64, 2), Columns(), nn.Linear(576, 128),
                                 nn.PReLU(128)], [nn.Linear(128, 2), nn.Linear(128, 4)])


def mtcnn_onet():
    return faces("onet.pt", 48, [*step(3, 32), pool(), *step(32, 64), pool(), *step(64, 64), pool(2), *step(64, 128, 2), Columns(),
                                 nn.Linear(1152, 256), nn.PReLU(256)],
                 [nn.Linear(256, 2), nn.Linear(256, 4), nn.Linear(256, 10)])


class Voice(nn.Module):
    """160 frames of 40 mel bands become one vector, by which speakers are told apart (Wan et al., 2018)."""

    def __init__(self):
        super().__init__()
        self.lstm, self.linear = nn.LSTM(40, 256, 3, batch_first=True), nn.Linear(256, 256)

    def forward(self, frames):
        return functional.normalize(self.linear(self.lstm(frames)[1][0][-1]).relu(), dim=1)


def voice_encoder():
    network = Voice()
    weights = package_weights("Resemblyzer", "pretrained.pt")["model_state"]
    network.load_state_dict({key: value for key, value in weights.items() if "." in key})
    return network, (torch.rand(2, 160, 40),)


NETWORKS = {make.__name__: make for make in (digits_mlp, digits_cnn, digits_transformer, toy_detection, toy_segmentation, toy_faster_rcnn,
                                            toy_mask_rcnn, toy_super_resolution, toy_letters, toy_tones, mtcnn_pnet, mtcnn_rnet, mtcnn_onet,
                                            voice_encoder)}
