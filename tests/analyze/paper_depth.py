# SPDX-License-Identifier: Apache-2.0
"""Tables VIII (image classification), IX and X of the XSP paper, and experiments made of their figures: a model's latency
over the batch sizes that its optimal one follows from, and at that one kernels that take, compute and move what is printed.

Gigabytes are 10^9 bytes in Table IX and 1000 * 2^20 in Table X.
"""
import pathlib

from scripted import UNIX_START, Script

SYSTEM = {"gpu": "Tesla V100-SXM2-16GB"}  # in the table of known GPUs

# ID: name
NAMES = {
    1: "Inception ResNet v2",
    2: "Inception v4",
    3: "Inception v3",
    4: "ResNet v2 152",
    5: "ResNet v2 101",
    6: "ResNet v1 152",
    7: "MLPerf ResNet50 v1.5",
    8: "ResNet v1 101",
    9: "AI Matrix ResNet152",
    10: "ResNet v2 50",
    11: "ResNet v1 50",
    12: "AI Matrix ResNet50",
    13: "Inception v2",
    14: "AI Matrix DenseNet121",
    15: "MLPerf MobileNet v1",
    16: "VGG16",
    17: "VGG19",
    18: "MobileNet v1 1.0 224",
    19: "AI Matrix GoogleNet",
    20: "MobileNet v1 1.0 192",
    21: "Inception v1",
    22: "BVLC GoogLeNet Caffe",
    23: "MobileNet v1 0.75 224",
    24: "MobileNet v1 1.0 160",
    25: "MobileNet v1 0.75 192",
    26: "MobileNet v1 0.75 160",
    27: "MobileNet v1 1.0 128",
    28: "MobileNet v1 0.5 224",
    29: "MobileNet v1 0.75 128",
    30: "MobileNet v1 0.5 192",
    31: "MobileNet v1 0.5 160",
    32: "BVLC AlexNet Caffe",
    33: "MobileNet v1 0.5 128",
    34: "MobileNet v1 0.25 224",
    35: "MobileNet v1 0.25 192",
    36: "MobileNet v1 0.25 160",
    37: "MobileNet v1 0.25 128",
}
# ID: online latency ms, maximum throughput per s, optimal batch
TABLE_VIII = {
    1: (23.24, 346.6, 128),
    2: (17.29, 436.7, 128),
    3: (9.85, 811.0, 64),
    4: (14.05, 466.8, 256),
    5: (10.39, 671.7, 256),
    6: (13.7, 541.3, 256),
    7: (6.22, 930.7, 256),
    8: (10.01, 774.7, 256),
    9: (14.61, 468.0, 256),
    10: (6.23, 1119.7, 256),
    11: (6.19, 1284.6, 256),
    12: (5.99, 1060.3, 256),
    13: (6.45, 2032.0, 128),
    14: (12.8, 846.4, 32),
    15: (3.15, 2576.4, 128),
    16: (21.33, 687.5, 256),
    17: (22.1, 593.4, 256),
    18: (3.19, 2580.6, 128),
    19: (5.35, 2464.5, 128),
    20: (3.11, 3460.8, 128),
    21: (5.3, 2576.6, 128),
    22: (6.53, 951.7, 8),
    23: (3.18, 3183.7, 64),
    24: (3.01, 4240.5, 64),
    25: (3.05, 4187.8, 64),
    26: (2.81, 5569.6, 64),
    27: (2.91, 6743.2, 64),
    28: (3.55, 3346.5, 64),
    29: (2.96, 8378.4, 64),
    30: (3.28, 4453.2, 64),
    31: (3.22, 6148.7, 64),
    32: (2.33, 2495.8, 16),
    33: (3.2, 8924.0, 64),
    34: (3.4, 5257.9, 64),
    35: (3.26, 7135.7, 64),
    36: (3.15, 10081.5, 256),
    37: (3.15, 10707.6, 256),
}
# ID, latency ms, GPU %, Gflop, reads GB, writes GB, occupancy %, intensity, Tflop/s, bound
TABLE_IX = [
    (1, 400.06, 94.77, 2910.44, 50.64, 38.74, 39.74, 32.56, 7.68, "compute"),
    (2, 324.49, 93.92, 2492.92, 27.25, 24.48, 33.79, 48.19, 8.18, "compute"),
    (3, 86.39, 88.05, 552.22, 10.54, 8.18, 34.6, 29.50, 7.26, "compute"),
    (4, 593.97, 96.32, 3954.06, 58.90, 65.44, 43.51, 31.80, 6.91, "compute"),
    (5, 412.37, 94.90, 2725.14, 39.08, 44.62, 42.88, 32.56, 6.96, "compute"),
    (6, 517.11, 95.90, 3947.38, 51.17, 54.77, 42.78, 37.26, 7.96, "compute"),
    (7, 275.05, 92.43, 1742.39, 24.40, 32.61, 43.15, 30.62, 6.85, "compute"),
    (8, 360.90, 94.29, 2720.62, 33.87, 37.12, 42.19, 38.32, 7.99, "compute"),
    (9, 591.47, 96.29, 4034.74, 63.70, 72.16, 43.9, 29.70, 7.08, "compute"),
    (10, 245.07, 91.74, 1480.10, 21.84, 28.29, 42.96, 29.52, 6.58, "compute"),
    (11, 213.52, 90.42, 1477.33, 18.79, 22.76, 42.29, 35.56, 7.65, "compute"),
    (12, 257.80, 91.89, 1561.76, 24.86, 33.39, 44.26, 26.81, 6.59, "compute"),
    (13, 68.27, 83.62, 363.33, 9.67, 7.32, 40.23, 21.38, 6.36, "compute"),
    (14, 40.24, 93.32, 150.02, 10.13, 7.93, 44.94, 8.30, 4.00, "memory"),
    (15, 51.57, 79.76, 148.18, 7.08, 6.81, 52.58, 10.67, 3.60, "memory"),
    (16, 399.31, 94.98, 2655.39, 24.38, 33.23, 26.14, 46.10, 7.00, "compute"),
    (17, 464.47, 95.61, 3207.02, 26.44, 37.65, 24.91, 50.04, 7.22, "compute"),
    (18, 51.59, 79.73, 148.18, 6.97, 6.75, 52.59, 10.80, 3.60, "memory"),
    (19, 56.08, 80.20, 259.14, 7.63, 6.18, 42.16, 18.76, 5.76, "compute"),
    (20, 38.48, 79.55, 108.93, 6.51, 6.19, 52.32, 8.58, 3.56, "memory"),
    (21, 53.35, 79.43, 252.06, 7.21, 5.61, 41.74, 19.67, 5.95, "compute"),
    (22, 9.08, 80.00, 20.26, 0.73, 0.84, 33.87, 12.97, 2.79, "memory"),
    (23, 20.82, 73.14, 45.10, 4.86, 4.11, 52.73, 5.03, 2.96, "memory"),
    (24, 14.92, 78.26, 38.17, 3.24, 2.88, 48.92, 6.23, 3.27, "memory"),
    (25, 15.69, 72.61, 33.10, 3.52, 3.08, 52.02, 5.01, 2.91, "memory"),
    (26, 11.30, 71.86, 23.14, 2.31, 2.17, 51.01, 5.17, 2.85, "memory"),
    (27, 9.86, 77.23, 24.39, 1.90, 1.84, 47.78, 6.54, 3.20, "memory"),
    (28, 20.00, 71.93, 52.03, 2.99, 2.85, 43.87, 8.91, 3.62, "memory"),
    (29, 7.75, 71.35, 14.80, 1.26, 1.35, 47.12, 5.68, 2.68, "memory"),
    (30, 15.07, 71.75, 38.22, 2.08, 2.09, 43.27, 9.17, 3.53, "memory"),
    (31, 10.91, 71.38, 26.62, 1.29, 1.42, 41.43, 9.83, 3.42, "memory"),
    (32, 6.52, 68.69, 15.36, 0.76, 0.51, 37.31, 12.11, 3.43, "memory"),
    (33, 7.44, 70.48, 17.05, 0.71, 0.88, 39.88, 10.73, 3.25, "memory"),
    (34, 11.95, 53.93, 14.79, 1.25, 1.42, 44.25, 5.52, 2.30, "memory"),
    (35, 9.09, 53.68, 10.87, 0.84, 1.02, 43.46, 5.82, 2.23, "memory"),
    (36, 25.36, 60.78, 36.75, 3.26, 3.09, 42.39, 5.79, 2.38, "memory"),
    (37, 23.71, 70.01, 23.81, 1.87, 2.31, 39.8, 5.69, 1.43, "memory"),
]
# ID, normalised online latency, optimal batch, normalised maximum throughput, GPU %, Gflop, reads GB, writes GB, occupancy %,
# intensity, Tflop/s, bound
TABLE_X = [
    (4, 1.76, 256, 1.03, 97.00, 4116.42, 49.05, 52.62, 46.91, 38.61, 7.95, "compute"),
    (5, 1.59, 256, 1.02, 96.77, 2882.65, 32.33, 36.16, 46.38, 40.14, 7.96, "compute"),
    (6, 1.68, 256, 0.90, 96.20, 3828.11, 51.29, 55.00, 49.40, 34.35, 7.54, "compute"),
    (8, 1.60, 256, 0.91, 95.67, 2589.76, 33.93, 37.84, 49.57, 34.42, 7.45, "compute"),
    (10, 1.41, 256, 1.03, 97.10, 1636.10, 17.03, 22.60, 46.98, 39.37, 7.60, "compute"),
    (11, 1.32, 256, 0.96, 94.90, 1339.50, 18.37, 24.04, 51.97, 30.12, 6.76, "compute"),
    (18, 1.00, 256, 1.54, 93.75, 298.38, 6.91, 8.29, 63.53, 18.71, 4.96, "compute"),
    (23, 0.95, 64, 1.76, 79.49, 45.00, 3.47, 2.73, 63.38, 6.92, 4.08, "memory"),
    (28, 0.87, 64, 1.35, 81.01, 51.47, 1.99, 1.82, 48.68, 12.88, 4.49, "memory"),
    (34, 0.93, 64, 1.64, 64.32, 13.77, 0.81, 0.90, 50.57, 7.64, 2.88, "memory"),
]


def write(path, framework, name, online_ms, batch, latency_ms, gpu_pct, gflop, reads, writes, occupancy_pct):
    script, now = Script(), UNIX_START
    script.system(**SYSTEM)
    script.experiment(name, workload=name, framework=framework)
    script.workload(model_name=name, task="image classification")

    def run(number, levels, size, ms, kernel_ms=None, has_metrics=False):
        nonlocal now
        script.run(number, levels, size)
        script.track(1, "main", run_id=number)
        for _ in range(3):
            script.span(name, now, round(ms * 1e6), run_id=number, tags={"batch_size": size})
            if kernel_ms is not None:
                tags = {"flops": round(gflop * 1e9), "dram_read_bytes": round(reads), "dram_write_bytes": round(writes),
                        "achieved_occupancy_pct": float(occupancy_pct)}
                script.span("kernel", now, round(kernel_ms * 1e6), "kernel", run_id=number, category="kernel",
                            tags=tags if has_metrics else {})
            now += round(ms * 1e6) + 1000

    run(1, "M", 1, online_ms)
    run(2, "M", batch, latency_ms)
    run(3, "M", 2 * batch, 2 * latency_ms)  # doubling gains nothing: `batch` is the optimal one
    run(4, "M/K", batch, latency_ms + 10, latency_ms * gpu_pct / 100)
    run(5, "M/K+metrics", batch, 9 * latency_ms, 8 * latency_ms, True)
    script.write(pathlib.Path(path) / f"{framework}-{name}.xsp")


def write_tensorflow(row, folder):
    number, latency, gpu, gflop, reads, writes, occupancy = row[:7]
    online, _, batch = TABLE_VIII[number]
    write(folder, "TensorFlow", NAMES[number], online, batch, latency, gpu, gflop, reads * 1e9, writes * 1e9, occupancy)


def write_pair(row, folder):
    """A row of Table X and its base, whose maximum throughput is Table VIII's (Table IX's latency was another run's)."""
    number, online, batch, maximum, gpu, gflop, reads, writes, occupancy = row[:9]
    base_online, base_maximum, base_batch = TABLE_VIII[number]
    write(folder, "TensorFlow", NAMES[number], base_online, base_batch, 1000 * base_batch / base_maximum, 90, 1, 1, 1, 1)
    write(folder, "MXNet", NAMES[number], online * base_online, batch, 1000 * batch / (maximum * base_maximum), gpu, gflop,
          reads * 1000 * 2**20, writes * 1000 * 2**20, occupancy)
