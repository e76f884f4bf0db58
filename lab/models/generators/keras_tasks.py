# SPDX-License-Identifier: Apache-2.0
"""Networks of other tasks for keras_model.py: detection, segmentation, super-resolution, text. Where one is not exactly the
published network, its name ends in Like and its comment has the difference."""
import math

import numpy
import tensorflow as tf

layers = tf.keras.layers


def conv(x, filters, size, strides=1, dilation=1, name=None):
    x = layers.Conv2D(filters, size, strides, "same", dilation_rate=dilation, use_bias=False, name=f"{name}_conv")(x)
    return layers.ReLU(6.0, name=f"{name}_relu")(layers.BatchNormalization(name=f"{name}_bn")(x))


def body_of(network, shape, **options):
    """One of keras.applications without its classifier."""
    return network(input_shape=shape, input_tensor=layers.Input(shape, name="image"), include_top=False, weights=None,
                   **options)


# ---- object detection ------------------------------------------------------------------------------------------------
CLASSES, ASPECTS = 90, (1.0, 2.0, 0.5, 3.0, 1 / 3)


def anchors(edges):
    """Centre and size of each place's boxes: three in the finest map, six in the others, as in Liu et al."""
    found = []
    for number, edge in enumerate(edges):
        scale = .2 + .75 * number / (len(edges) - 1)
        following = .2 + .75 * (number + 1) / (len(edges) - 1)
        shapes = [(scale * math.sqrt(aspect), scale / math.sqrt(aspect)) for aspect in ASPECTS]
        shapes = shapes[:3] if number == 0 else [*shapes, (math.sqrt(scale * following),) * 2]
        centres = (numpy.arange(edge) + .5) / edge
        for y in centres:
            for x in centres:
                found += [(y, x, height, width) for width, height in shapes]
    return numpy.array(found, numpy.float32)


@tf.keras.utils.register_keras_serializable("xsp")
class Detections(layers.Layer):
    """Boxes from offsets to anchors, and the best hundred of them by non-maximum suppression for each class."""

    def __init__(self, edges, **options):
        super().__init__(**options)
        self.edges = edges

    def call(self, inputs):
        offsets, scores = inputs
        places = anchors(self.edges)
        centre = places[:, :2] + offsets[..., :2] * .1 * places[:, 2:]
        half = places[:, 2:] * tf.exp(tf.clip_by_value(offsets[..., 2:] * .2, -4.0, 4.0)) / 2
        boxes = tf.expand_dims(tf.concat([centre - half, centre + half], -1), 2)
        found = tf.image.combined_non_max_suppression(boxes, scores, 100, 100, iou_threshold=.6, score_threshold=.3)
        return found.nmsed_boxes, found.nmsed_scores, found.nmsed_classes


def ssd(data, fine, coarse, name):
    """Liu et al., SSD, 2016. Differs from the model zoos' in its post-processing, which is Detections."""
    maps = [fine, coarse]
    for number, filters in enumerate((512, 256, 256, 128)):
        x = conv(maps[-1], filters // 2, 1, name=f"extra{number}_a")
        maps.append(conv(x, filters, 3, 2, name=f"extra{number}_b"))
    offsets, scores = [], []
    for number, x in enumerate(maps):
        count = 3 if number == 0 else 6
        offsets.append(layers.Reshape((-1, 4))(layers.Conv2D(count * 4, 1, name=f"box{number}")(x)))
        scores.append(layers.Reshape((-1, CLASSES))(layers.Conv2D(count * CLASSES, 1, name=f"class{number}")(x)))
    scores = layers.Activation("sigmoid", name="scores")(layers.Concatenate(1, name="classes")(scores))
    edges = [int(x.shape[1]) for x in maps]
    found = Detections(edges, name="detections")([layers.Concatenate(1, name="offsets")(offsets), scores])
    return tf.keras.Model(data, list(found), name=name)


def ssd_mobilenet_v1(input_shape=(300, 300, 3)):
    body = body_of(tf.keras.applications.MobileNet, input_shape)
    return ssd(body.inputs, body.get_layer("conv_pw_11_relu").output, body.output, "ssd_mobilenet_v1")


def ssd_mobilenet_v2(input_shape=(300, 300, 3)):
    body = body_of(tf.keras.applications.MobileNetV2, input_shape)
    return ssd(body.inputs, body.get_layer("block_13_expand_relu").output, body.output, "ssd_mobilenet_v2")


# ---- semantic segmentation -------------------------------------------------------------------------------------------
def resize(x, like, name):
    height, width = like.shape[1:3]
    return layers.Lambda(lambda data: tf.image.resize(data, (height, width)), name=name)(x)


def deeplab_v3(input_shape=(513, 513, 3), alpha=1.0, classes=21):
    """Chen et al., Rethinking Atrous Convolution, 2017, on MobileNet v2. Differs: features are those before the body's last
    stride, without the blocks after it, and the pyramid's convolutions are separable."""
    body = body_of(tf.keras.applications.MobileNetV2, input_shape, alpha=alpha)
    features = body.get_layer("block_13_expand_relu").output
    branches = [conv(features, 256, 1, name="aspp_1x1")]
    for rate in (6, 12, 18):
        x = layers.SeparableConv2D(256, 3, padding="same", dilation_rate=rate, use_bias=False, name=f"aspp_{rate}")(features)
        branches.append(layers.ReLU(name=f"aspp_{rate}_relu")(layers.BatchNormalization(name=f"aspp_{rate}_bn")(x)))
    pooled = layers.GlobalAveragePooling2D(keepdims=True, name="image_pool")(features)
    branches.append(resize(conv(pooled, 256, 1, name="image_features"), features, "image_resize"))
    x = conv(layers.Concatenate(name="aspp")(branches), 256, 1, name="projection")
    x = layers.Conv2D(classes, 1, name="logits")(x)
    x = resize(x, body.inputs[0], "logits_resize")
    classes_of_pixels = layers.Lambda(lambda data: tf.argmax(data, -1, tf.int32), name="semantic_predictions")(x)
    return tf.keras.Model(body.inputs, classes_of_pixels, name="deeplab_v3")


def unet(input_shape=(256, 256, 3), classes=2):
    """Ronneberger et al., U-Net, 2015. Differs: padded convolutions with batch norms, so that sizes stay."""
    data = layers.Input(input_shape, name="image")
    x, kept = data, []
    for depth, filters in enumerate((64, 128, 256, 512, 1024)):
        if depth > 0:
            kept.append(x)
            x = layers.MaxPooling2D(2, name=f"down{depth}")(x)
        x = conv(conv(x, filters, 3, name=f"down{depth}_a"), filters, 3, name=f"down{depth}_b")
    for depth, filters in enumerate((512, 256, 128, 64)):
        x = layers.Conv2DTranspose(filters, 2, 2, name=f"up{depth}")(x)
        x = layers.Concatenate(name=f"up{depth}_join")([kept.pop(), x])
        x = conv(conv(x, filters, 3, name=f"up{depth}_a"), filters, 3, name=f"up{depth}_b")
    return tf.keras.Model(data, layers.Conv2D(classes, 1, activation="softmax", name="classes")(x), name="unet")


# ---- super-resolution ------------------------------------------------------------------------------------------------
def shuffle(x, factor, name):
    return layers.Lambda(lambda data: tf.nn.depth_to_space(data, factor), name=name)(x)


def srgan(input_shape=(96, 96, 3)):
    """The generator of Ledig et al., Photo-Realistic Single Image Super-Resolution, 2017: four times as high and wide."""
    def prelu(x, name):
        return layers.PReLU(shared_axes=[1, 2], name=f"{name}_prelu")(x)

    def plain(x, filters, size, name):
        return layers.Conv2D(filters, size, padding="same", name=f"{name}_conv")(x)

    def norm(x, name):
        return layers.BatchNormalization(name=f"{name}_bn")(x)

    data = layers.Input(input_shape, name="image")
    first = x = prelu(plain(data, 64, 9, "head"), "head")
    for block in range(16):
        name = f"block{block}"
        y = prelu(norm(plain(x, 64, 3, f"{name}_a"), f"{name}_a"), name)
        x = layers.Add(name=f"{name}_add")([x, norm(plain(y, 64, 3, f"{name}_b"), f"{name}_b")])
    x = layers.Add(name="body_add")([first, norm(plain(x, 64, 3, "body"), "body")])
    for step in range(2):
        x = prelu(shuffle(plain(x, 256, 3, f"up{step}"), 2, f"up{step}_shuffle"), f"up{step}")
    return tf.keras.Model(data, layers.Activation("tanh", name="image_out")(plain(x, 3, 9, "tail")), name="srgan")


def edsr(input_shape=(96, 96, 3), blocks=16, filters=64):
    """The baseline of Lim et al., Enhanced Deep Residual Networks, 2017: twice as high and wide, no batch norms."""
    def plain(x, count, name):
        return layers.Conv2D(count, 3, padding="same", name=name)(x)

    data = layers.Input(input_shape, name="image")
    first = x = plain(data, filters, "head")
    for block in range(blocks):
        y = layers.ReLU(name=f"block{block}_relu")(plain(x, filters, f"block{block}_a"))
        x = layers.Add(name=f"block{block}_add")([x, plain(y, filters, f"block{block}_b")])
    x = layers.Add(name="body_add")([first, plain(x, filters, "body")])
    x = shuffle(plain(x, 4 * filters, "up"), 2, "up_shuffle")
    return tf.keras.Model(data, plain(x, 3, "tail"), name="edsr")


# ---- text ------------------------------------------------------------------------------------------------------------
@tf.keras.utils.register_keras_serializable("xsp")
class Embeddings(layers.Layer):
    """Of words and of places, added."""

    def __init__(self, words, length, width, **options):
        super().__init__(**options)
        self.words, self.places = layers.Embedding(words, width), layers.Embedding(length, width)

    def call(self, words):
        return self.words(words) + self.places(tf.range(tf.shape(words)[1]))


def bert(words=30522, length=128, depth=4, width=512, heads=8):
    """The encoder of Devlin et al., BERT, 2019; by default its size L-4 H-512 A-8. Differs: one segment, no mask."""
    data = layers.Input((length,), dtype="int32", name="input_ids")
    x = layers.LayerNormalization(name="embeddings_norm")(Embeddings(words, length, width, name="embeddings")(data))
    for number in range(depth):
        name = f"layer{number}"
        y = layers.MultiHeadAttention(heads, width // heads, name=f"{name}_attention", flash_attention=False)(x, x)
        x = layers.LayerNormalization(name=f"{name}_attention_norm")(layers.Add(name=f"{name}_attention_add")([x, y]))
        y = layers.Dense(4 * width, activation="gelu", name=f"{name}_inner")(x)
        y = layers.Dense(width, name=f"{name}_outer")(y)
        x = layers.LayerNormalization(name=f"{name}_norm")(layers.Add(name=f"{name}_add")([x, y]))
    first = layers.Lambda(lambda rows: rows[:, 0], name="first_word")(x)
    return tf.keras.Model(data, layers.Dense(width, activation="tanh", name="pooler")(first), name="bert")


NETWORKS = {"SSDMobileNetV1Like": ssd_mobilenet_v1, "SSDMobileNetV2Like": ssd_mobilenet_v2,
            "DeepLabV3MobileNetV2Like": deeplab_v3, "UNetLike": unet, "SRGAN": srgan, "EDSRBaseline": edsr,
            "BERTLike": bert}
