# SPDX-License-Identifier: Apache-2.0
"""Files for the tests of package xsp, with known figures: training steps on a device, with and without call paths."""
from scripted import UNIX_START, Script

STEPS = 3
US = 1000
# In one step, by the innermost layer: host time, and the device time of each of its kernels. In µs.
FORWARD_US, SMALL_US, BACKWARD_US = 100, 2, 300
SMALL_KERNELS = 10
SAMPLES = {"long_scoreboard": 30, "wait": 5, "selected": 7}


class Training(Script):
    """A step: linear (one kernel), a loss of small kernels, the backward operator of linear, the optimizer without device work."""

    def __init__(self, has_paths=True):
        super().__init__()
        self.experiment()
        self.run(1, "A/M/L/K", 8)
        self.track(1, thread=7)
        self.track(2, "stream 7", thread=None, device=0, stream=7)
        self.correlation, self.has_paths, self.paths = 0, has_paths, {}

    def path(self, name, caller=None, kind="framework", file=None, line=None):
        if not self.has_paths:
            return None
        key = name, caller, kind, line
        if key not in self.paths:
            self.paths[key] = self.context(name, caller, kind, file, line)
        return self.paths[key]

    def operator(self, name, start, duration, context, kernels=(), tags=()):
        """A layer, in it a launch for each (kernel, µs)."""
        self.span(name, start, duration, "layer", context=context, tags=tags)
        for place, (kernel, device_us) in enumerate(kernels):
            self.correlation += 1
            self.span("cudaLaunchKernel", start + 100 + place * 200, 100, "kernel", "launch", correlation=self.correlation,
                      category="api")
            self.device_ns = max(self.device_ns, start + 5 * US)
            self.span(kernel, self.device_ns, device_us * US, "kernel", "execution", track=2, correlation=self.correlation,
                      category="kernel")
            self.device_ns += device_us * US

    def step(self, start):
        self.device_ns = start
        self.span("training step", start, 900 * US)
        main = self.path("<module>", kind="python", file="train.py", line=10)
        forward = self.path("Net.forward", main, "python", "net.py", 5)
        loss = self.path("loss_fn", main, "python", "train.py", 3)
        self.span("Net", start + 10 * US, 100 * US, "application", category="forward")
        linear = self.path("aten::linear", forward)
        self.span("aten::linear", start + 11 * US, 40 * US, "layer", context=linear)
        self.operator("aten::addmm", start + 12 * US, 30 * US, self.path("aten::addmm", linear), [("gemm", FORWARD_US)],
                      {"sequence": 1})
        self.span("loss_fn", start + 200 * US, 100 * US, "application", category="forward")
        self.operator("aten::small", start + 201 * US, 90 * US, self.path("aten::small", loss),
                      [("tiny", SMALL_US)] * SMALL_KERNELS)
        self.span("backward", start + 400 * US, 200 * US, "application", category="backward")
        backward = self.path("AddmmBackward0", main)
        tags = {"sequence": 1, "forward_thread": 7}
        self.span("autograd::engine::evaluate_function: AddmmBackward0", start + 401 * US, 100 * US, "layer",
                  context=self.path("autograd::engine::evaluate_function: AddmmBackward0", main), tags=tags)
        self.operator("AddmmBackward0", start + 402 * US, 50 * US, backward, [("gemm_backward", BACKWARD_US)], tags)
        self.span("Optimizer.step#SGD.step", start + 700 * US, 50 * US, "application", category="optimizer")
        if self.has_paths:
            kernel = self.path("gemm", None, "device")
            line = self.path("gemm", kernel, "device", "gemm.cu", 8)
            tags = {"samples": sum(SAMPLES.values()), **{f"samples_{reason}": count for reason, count in SAMPLES.items()}}
            self.span("instruction samples", start + 890 * US, 0, "kernel", track=2, category="samples",
                      context=self.path("+0x80", line, "device"), tags=tags)


def write_training(path, has_paths=True):
    script = Training(has_paths)
    for step in range(STEPS):
        script.step(UNIX_START + step * 2000 * US)
    script.span("Net", UNIX_START + STEPS * 2000 * US, 100 * US, tags={"batch_size": 8})  # an inference
    return script.write(path)
