# SPDX-License-Identifier: Apache-2.0
"""Image-classification networks that keras.applications lacks, for keras_model.py: the Inception family (v1, v2, v4) as in
TensorFlow's model repository, Caffe's GoogLeNet and AlexNet, and ResNet-50 v1.5. Layers are named after their place."""
import tensorflow as tf

layers = tf.keras.layers
BRANCHES = "abcdef"


def conv(x, filters, size, strides=1, padding="same", name=None):
    """Convolution, batch normalisation, ReLU. `size` is an edge or (height, width)."""
    x = layers.Conv2D(filters, size, strides, padding, use_bias=False, name=f"{name}_conv")(x)
    x = layers.BatchNormalization(scale=False, epsilon=1e-3, name=f"{name}_bn")(x)
    return layers.ReLU(name=f"{name}_relu")(x)


def chain(x, steps, name):
    """`steps`: filters and size of one convolution after the other; a third value is its stride, unpadded where it is
    negative; "avg" and "max" are 3×3 poolings, "reduce" the one that halves, "reduce valid" unpadded."""
    for number, step in enumerate(steps):
        here = f"{name}{number}"
        if step == "avg":
            x = layers.AveragePooling2D(3, 1, "same", name=f"{here}_pool")(x)
        elif step == "max":
            x = layers.MaxPooling2D(3, 1, "same", name=f"{here}_pool")(x)
        elif step in ("reduce", "reduce valid"):
            x = layers.MaxPooling2D(3, 2, "valid" if step.endswith("valid") else "same", name=f"{here}_pool")(x)
        else:
            filters, size, stride = (*step, 1)[:3]
            x = conv(x, filters, size, abs(stride), "valid" if stride < 0 else "same", here)
    return x


def mixed(x, name, *branches):
    return layers.Concatenate(name=name)([chain(x, steps, f"{name}_{branch}")
                                          for branch, steps in zip(BRANCHES, branches)])


def classifier(data, x, classes, name):
    x = layers.GlobalAveragePooling2D(name="pool")(x)
    x = layers.Dense(classes, name="logits")(x)
    return tf.keras.Model(data, layers.Softmax(name="predictions")(x), name=name)


# ---- Inception v1 and GoogLeNet: Szegedy et al., Going Deeper with Convolutions, 2015 ---------------------------------
GOOGLENET = {  # 1×1; 3×3 after its reduction; 5×5 after its reduction; after the pooling
    "3b": (64, 96, 128, 16, 32, 32), "3c": (128, 128, 192, 32, 96, 64),
    "4b": (192, 96, 208, 16, 48, 64), "4c": (160, 112, 224, 24, 64, 64), "4d": (128, 128, 256, 24, 64, 64),
    "4e": (112, 144, 288, 32, 64, 64), "4f": (256, 160, 320, 32, 128, 128),
    "5b": (256, 160, 320, 32, 128, 128), "5c": (384, 192, 384, 48, 128, 128)}


def inception_v1(input_shape=(224, 224, 3), classes=1001):
    """As in TensorFlow's model repository: batch norms, and 3×3 where the paper has 5×5."""
    data = layers.Input(input_shape, name="image")
    x = chain(data, [(64, 7, 2), "reduce", (64, 1), (192, 3), "reduce"], "stem")
    for name, (one, less3, three, less5, five, pooled) in GOOGLENET.items():
        x = mixed(x, f"mixed_{name}", [(one, 1)], [(less3, 1), (three, 3)], [(less5, 1), (five, 3)],
                  ["max", (pooled, 1)])
        if name in ("3c", "4f"):
            x = layers.MaxPooling2D(3 if name == "3c" else 2, 2, "same", name=f"pool_{name}")(x)
    return classifier(data, x, classes, "inception_v1")


@tf.keras.utils.register_keras_serializable("xsp")
class LocalResponseNormalization(layers.Layer):
    """AlexNet's, over 5 channels."""

    def call(self, x):
        return tf.nn.local_response_normalization(x, depth_radius=2, bias=1.0, alpha=2e-5, beta=0.75)


def plain(x, filters, size, strides=1, padding="same", name=None):
    return layers.Conv2D(filters, size, strides, padding, activation="relu", name=name)(x)


def googlenet(input_shape=(224, 224, 3), classes=1000):
    """As in Caffe: biases instead of batch norms, local response normalisation, 5×5 convolutions."""
    data = layers.Input(input_shape, name="image")
    x = plain(data, 64, 7, 2, name="conv1")
    x = layers.MaxPooling2D(3, 2, "same", name="pool1")(x)
    x = LocalResponseNormalization(name="norm1")(x)
    x = plain(plain(x, 64, 1, name="conv2_reduce"), 192, 3, name="conv2")
    x = LocalResponseNormalization(name="norm2")(x)
    x = layers.MaxPooling2D(3, 2, "same", name="pool2")(x)
    for name, (one, less3, three, less5, five, pooled) in GOOGLENET.items():
        here = f"inception_{name}"
        x = layers.Concatenate(name=here)([
            plain(x, one, 1, name=f"{here}_1x1"),
            plain(plain(x, less3, 1, name=f"{here}_3x3_reduce"), three, 3, name=f"{here}_3x3"),
            plain(plain(x, less5, 1, name=f"{here}_5x5_reduce"), five, 5, name=f"{here}_5x5"),
            plain(layers.MaxPooling2D(3, 1, "same", name=f"{here}_pool")(x), pooled, 1, name=f"{here}_pool_proj")])
        if name in ("3c", "4f"):
            x = layers.MaxPooling2D(3, 2, "same", name=f"pool_{name}")(x)
    return classifier(data, x, classes, "googlenet")


# ---- Inception v2 (batch norms; Ioffe and Szegedy, 2015) --------------------------------------------------------------
INCEPTION_V2 = {  # 1×1; 3×3 after its reduction; two 3×3 after theirs; kind of pooling, and after it
    "3b": (64, 64, 64, 64, 96, "avg", 32), "3c": (64, 64, 96, 64, 96, "avg", 64), "4a": (128, 160, 64, 96),
    "4b": (224, 64, 96, 96, 128, "avg", 128), "4c": (192, 96, 128, 96, 128, "avg", 128),
    "4d": (160, 128, 160, 128, 160, "avg", 96), "4e": (96, 128, 192, 160, 192, "avg", 96), "5a": (128, 192, 192, 256),
    "5b": (352, 192, 320, 160, 224, "avg", 128), "5c": (352, 192, 320, 192, 224, "max", 128)}


def inception_v2(input_shape=(224, 224, 3), classes=1001):
    data = layers.Input(input_shape, name="image")
    x = layers.SeparableConv2D(64, 7, 2, "same", depth_multiplier=8, use_bias=False, name="stem_conv")(data)
    x = layers.ReLU(name="stem_relu")(layers.BatchNormalization(scale=False, name="stem_bn")(x))
    x = chain(x, ["reduce", (64, 1), (192, 3), "reduce"], "stem")
    for name, sizes in INCEPTION_V2.items():
        if len(sizes) == 4:  # halves
            less3, three, less, double = sizes
            x = mixed(x, f"mixed_{name}", [(less3, 1), (three, 3, 2)], [(less, 1), (double, 3), (double, 3, 2)],
                      ["reduce"])
        else:
            one, less3, three, less, double, pool, pooled = sizes
            x = mixed(x, f"mixed_{name}", [(one, 1)], [(less3, 1), (three, 3)],
                      [(less, 1), (double, 3), (double, 3)], [pool, (pooled, 1)])
    return classifier(data, x, classes, "inception_v2")


# ---- Inception v4: Szegedy et al., Inception-v4, Inception-ResNet and the Impact of Residual Connections, 2017 ---------
def inception_v4(input_shape=(299, 299, 3), classes=1001):
    high, wide = (7, 1), (1, 7)
    data = layers.Input(input_shape, name="image")
    x = chain(data, [(32, 3, -2), (32, 3, -1), (64, 3)], "stem")
    x = mixed(x, "mixed_3a", ["reduce valid"], [(96, 3, -2)])
    x = mixed(x, "mixed_4a", [(64, 1), (96, 3, -1)], [(64, 1), (64, wide), (64, high), (96, 3, -1)])
    x = mixed(x, "mixed_5a", [(192, 3, -2)], ["reduce valid"])
    for block in "bcde":
        x = mixed(x, f"mixed_5{block}", [(96, 1)], [(64, 1), (96, 3)], [(64, 1), (96, 3), (96, 3)], ["avg", (96, 1)])
    x = mixed(x, "mixed_6a", [(384, 3, -2)], [(192, 1), (224, 3), (256, 3, -2)], ["reduce valid"])
    for block in "bcdefgh":
        x = mixed(x, f"mixed_6{block}", [(384, 1)], [(192, 1), (224, wide), (256, high)],
                  [(192, 1), (192, high), (224, wide), (224, high), (256, wide)], ["avg", (128, 1)])
    x = mixed(x, "mixed_7a", [(192, 1), (192, 3, -2)], [(256, 1), (256, wide), (320, high), (320, 3, -2)],
              ["reduce valid"])
    for block in "bcd":
        name = f"mixed_7{block}"
        three, double = chain(x, [(384, 1)], f"{name}_b"), chain(x, [(384, 1), (448, (3, 1)), (512, (1, 3))], f"{name}_c")
        x = layers.Concatenate(name=name)([
            chain(x, [(256, 1)], f"{name}_a"), conv(three, 256, (1, 3), name=f"{name}_b_wide"),
            conv(three, 256, (3, 1), name=f"{name}_b_high"), conv(double, 256, (1, 3), name=f"{name}_c_wide"),
            conv(double, 256, (3, 1), name=f"{name}_c_high"), chain(x, ["avg", (256, 1)], f"{name}_d")])
    return classifier(data, x, classes, "inception_v4")


# ---- AlexNet as in Caffe: Krizhevsky et al., 2012 ----------------------------------------------------------------------
def two_groups(x, filters, size, name):
    """A convolution in two groups, as two: TensorFlow has no grouped ones on CPUs."""
    halves = layers.Lambda(lambda data: tf.split(data, 2, axis=-1), name=f"{name}_split")(x)
    return layers.Concatenate(name=name)([plain(half, filters // 2, size, name=f"{name}{group}")
                                          for group, half in zip(BRANCHES, halves)])


def alexnet(input_shape=(227, 227, 3), classes=1000):
    data = layers.Input(input_shape, name="image")
    x = LocalResponseNormalization(name="norm1")(plain(data, 96, 11, 4, "valid", "conv1"))
    x = layers.MaxPooling2D(3, 2, name="pool1")(x)
    x = LocalResponseNormalization(name="norm2")(two_groups(x, 256, 5, "conv2"))
    x = layers.MaxPooling2D(3, 2, name="pool2")(x)
    x = two_groups(two_groups(plain(x, 384, 3, name="conv3"), 384, 3, "conv4"), 256, 3, "conv5")
    x = layers.Flatten(name="flatten")(layers.MaxPooling2D(3, 2, name="pool5")(x))
    for name in ("fc6", "fc7"):
        x = layers.Dense(4096, activation="relu", name=name)(x)
    return tf.keras.Model(data, layers.Dense(classes, activation="softmax", name="fc8")(x), name="alexnet")


# ---- ResNet-50 v1.5: the stride of a stage is in its first 3×3 convolution, not in the 1×1 before it ----------------
def resnet50_v1_5(input_shape=(224, 224, 3), classes=1001):
    def norm(x, name):
        return layers.BatchNormalization(name=f"{name}_bn")(x)

    def convolution(x, filters, size, strides, name):
        return norm(layers.Conv2D(filters, size, strides, "same", use_bias=False, name=f"{name}_conv")(x), name)

    data = layers.Input(input_shape, name="image")
    x = layers.ReLU(name="stem_relu")(convolution(data, 64, 7, 2, "stem"))
    x = layers.MaxPooling2D(3, 2, "same", name="stem_pool")(x)
    for stage, (filters, blocks) in enumerate(((64, 3), (128, 4), (256, 6), (512, 3)), 1):
        for block in range(blocks):
            name, strides = f"stage{stage}_block{block}", 2 if block == 0 and stage > 1 else 1
            shortcut = convolution(x, 4 * filters, 1, strides, f"{name}_shortcut") if block == 0 else x
            y = layers.ReLU(name=f"{name}_a_relu")(convolution(x, filters, 1, 1, f"{name}_a"))
            y = layers.ReLU(name=f"{name}_b_relu")(convolution(y, filters, 3, strides, f"{name}_b"))
            y = layers.Add(name=f"{name}_add")([shortcut, convolution(y, 4 * filters, 1, 1, f"{name}_c")])
            x = layers.ReLU(name=f"{name}_relu")(y)
    return classifier(data, x, classes, "resnet50_v1_5")


NETWORKS = {"InceptionV1": inception_v1, "InceptionV2": inception_v2, "InceptionV4": inception_v4,
            "GoogLeNet": googlenet, "AlexNet": alexnet, "ResNet50V1_5": resnet50_v1_5}
