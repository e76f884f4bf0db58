# SPDX-License-Identifier: Apache-2.0
"""`xsp profile --device`, and what the file records of the device, without a GPU: the real ONNX Runtime, the same behind a
table with CUDA's, TensorRT's and ROCm's providers, a stand-in for TensorFlow with GPUs, and stand-ins for NVML and cuDNN.
OpenVINO, LiteRT and MXNet: their long_*.py."""
import glob
import json
import os
import pathlib
import subprocess
import sysconfig
import tempfile
import unittest

import runner_session

BUILD = pathlib.Path(os.environ["XSP_BUILD"])
PROGRAMS = BUILD / "test-programs"
ORT, = glob.glob(sysconfig.get_path("purelib") + "/onnxruntime/capi/libonnxruntime.so.*")
TENSORFLOW = PROGRAMS / "libtensorflow_stand_in.so"
FROZEN = pathlib.Path(os.environ["XSP_SOURCE"]) / "fuzz" / "corpus" / "tensorflow" / "frozen"
USE, SYSTEM = 2, 3
GPU = {"XSP_LIBRARY_NVML": PROGRAMS / "libcudnn.so.9"}  # one stand-in for both


class DeviceTest(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.models = runner_session.test_models()

    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)
        self.output, self.log = self.folder / "out.xsp", self.folder / "log"
        self.frozen = self.folder / "tiny.pb"
        self.frozen.write_bytes(FROZEN.read_bytes()[1:])

    def profile(self, model, library, *options, status=0, **environment):
        environment = {"XSP_STAND_IN_LOG": self.log, "XSP_STAND_IN_OF": ORT, **environment}
        result = subprocess.run(
            [BUILD / "xsp", "profile", model, "--quiet", "--force", "--runs", "1", "-o", self.output, *library, *options],
            capture_output=True, text=True, timeout=600,
            env={**os.environ, **{key: str(value) for key, value in environment.items()}})
        self.assertEqual(result.returncode, status, result.stderr)
        return result

    def onnx(self, device, *options, stand_in=True, status=0, **environment):
        library = PROGRAMS / "libonnxruntime_stand_in.so" if stand_in else ORT
        return self.profile(self.models / "tiny.onnx", ["--library", f"onnxruntime={library}"], "--levels", "M", "--device",
                            device, *options, status=status, **environment)

    def tensorflow(self, *options, **named):
        return self.profile(self.frozen, ["--library", f"tensorflow={TENSORFLOW}"], "--levels", "M", *options, **named)

    def calls(self):
        lines = self.log.read_text().splitlines() if self.log.exists() else []
        self.log.unlink(missing_ok=True)
        return lines

    def system(self):
        result = subprocess.run([BUILD / "xsp", "info", self.output, "--json"], capture_output=True, check=True)
        return json.loads(result.stdout)["experiments"][0]["system"]

    # ---- ONNX Runtime
    def test_a_real_provider_by_name(self):
        for name in ("azure", "AzureExecutionProvider"):
            self.assertIn("on AzureExecutionProvider", self.onnx(name, stand_in=False).stdout)
            self.assertEqual(self.system()["device"], "AzureExecutionProvider")
        self.onnx("cpu", stand_in=False)
        self.assertEqual(self.system()["device"], "CPUExecutionProvider")

    def test_one_that_is_not_there_lists_those_that_are(self):
        for device in ("gpu", "gpu:1", "cuda", "tensorrt:0"):
            line = self.onnx(device, stand_in=False, status=USE).stderr
            self.assertRegex(line, f"^xsp: no such device: .*'{device}'.*Azure, CPU.*; try: ")
            self.assertFalse(self.output.exists())
        for device in ("gpu:x", ""):
            self.assertRegex(self.onnx(device, stand_in=False, status=USE).stderr, "^xsp: not a device")

    def test_cuda_and_tensorrt_get_their_options(self):
        for device, recorded, calls in (
                ("gpu", "CUDAExecutionProvider", ["append cuda", "release cuda"]),
                ("gpu:1", "CUDAExecutionProvider:1", ["update cuda device_id=1", "append cuda", "release cuda"]),
                ("cuda:2", "CUDAExecutionProvider:2", ["update cuda device_id=2", "append cuda", "release cuda"]),
                # CUDA takes what TensorRT does not.
                ("TensorRT:1", "TensorrtExecutionProvider:1",
                 ["update tensorrt device_id=1", "append tensorrt", "release tensorrt", "update cuda device_id=1",
                  "append cuda", "release cuda"])):
            self.onnx(device)
            self.assertEqual((self.calls(), self.system()["device"]), (calls, recorded))

    def test_other_providers(self):
        self.onnx("rocm:1")
        self.assertEqual(self.calls(), ["rocm 1"])
        self.onnx("OpenVINO:NPU")
        self.assertEqual(self.calls(), ["OpenVINOExecutionProvider device_type=NPU", "OpenVINO device_type=NPU"])
        self.assertIn("Unknown provider name", self.onnx("OPENVINO", status=SYSTEM).stderr)  # neither spelling is known

    def test_a_provider_that_does_not_load(self):
        line = self.onnx("cuda", status=SYSTEM, XSP_STAND_IN_FAILS=1).stderr
        self.assertRegex(line, "^xsp: cannot use the device: cuda: libcublasLt.so.12: .*; try: ")
        self.assertIn("release cuda", self.calls())

    def test_pinned_algorithms(self):
        result = self.onnx("gpu:1", "--pin-algorithms")
        self.assertEqual(self.calls(), ["deterministic", "update cuda device_id=1 cudnn_conv_algo_search=HEURISTIC",
                                        "append cuda", "release cuda"])
        self.assertIn("algorithms pinned by: use_deterministic_compute", result.stdout)
        self.assertIn("cudnn_conv_algo_search", self.system()["pinned_algorithms"])
        self.onnx("tensorrt", "--pin-algorithms")
        self.assertEqual(self.calls(), ["deterministic", "append tensorrt", "release tensorrt",
                                        "update cuda cudnn_conv_algo_search=HEURISTIC", "append cuda", "release cuda"])
        self.onnx("cpu", "--pin-algorithms", stand_in=False)  # takes it, too
        self.onnx("cpu")
        self.assertEqual((self.calls(), self.system().get("pinned_algorithms")), ([], None))

    def test_a_framework_without_a_switch(self):
        script = self.folder / "net.xspscript"
        script.write_text("input data float N,8\nlayer conv1 Conv 300us\n")
        self.assertIn("algorithms pinned by: no switch", self.profile(script, [], "--pin-algorithms").stdout)
        self.assertEqual(self.system()["pinned_algorithms"], "no switch")

    # ---- TensorFlow
    def test_tensorflow_is_configured(self):
        for options, config, device in (
                ((), None, "GPU:0"), (("--device", "cpu"), "config 0a 07 0a 03 47 50 55 10 00", None),
                (("--device", "gpu"), None, "GPU:0"), (("--device", "gpu:1"), "config 32 03 2a 01 31", "GPU:1"),
                (("--device", "gpu:12"), "config 32 04 2a 02 31 32", "GPU:12")):
            self.tensorflow(*options, XSP_STAND_IN_GPUS=2)
            config_line = [line for line in self.calls() if line.startswith("config")]
            self.assertEqual(config_line, [config] if config else [])
            if device:
                self.assertEqual(self.system()["device"], device)
        line = self.tensorflow("--device", "gpu", status=USE).stderr
        self.assertRegex(line, "^xsp: no such device: .*'gpu'.*it has CPU")
        self.assertRegex(self.tensorflow("--device", "TPU", status=USE, XSP_STAND_IN_GPUS=1).stderr, "'TPU'.*CPU, GPU")

    # ---- what is recorded
    def test_gpu_driver_cuda_and_cudnn(self):
        self.tensorflow(XSP_STAND_IN_GPUS=1, XSP_STAND_IN_GPU_NAMES="NVIDIA H200,NVIDIA H200",
                        XSP_STAND_IN_CUDNN=PROGRAMS / "libcudnn.so.9", XSP_PEAKS="quick", **GPU)
        system = self.system()
        self.assertEqual({key: system.get(key) for key in (
            "device", "gpu", "gpus", "gpu_count", "gpu_memory_bytes", "gpu_driver", "cuda_driver_version", "cudnn_version")},
            {"device": "GPU:0", "gpu": "NVIDIA H200", "gpus": "NVIDIA H200, NVIDIA H200", "gpu_count": 2,
             "gpu_memory_bytes": 150754820096, "gpu_driver": "570.86.15", "cuda_driver_version": 12080,
             "cudnn_version": 90701})
        self.assertFalse([key for key in system if key.startswith("peak")])  # the CPUs' are no roof of a GPU

    def test_different_gpus_are_no_roof(self):
        self.tensorflow(XSP_STAND_IN_GPUS=2, XSP_STAND_IN_GPU_NAMES="NVIDIA H200,Tesla P4", **GPU)
        system = self.system()
        self.assertEqual((system["gpus"], system.get("gpu")), ("NVIDIA H200, Tesla P4", None))

    def test_on_the_cpu_the_gpus_are_only_listed(self):
        self.onnx("cpu", stand_in=False, XSP_STAND_IN_GPU_NAMES="NVIDIA H200", XSP_PEAKS="quick", **GPU)
        system = self.system()
        self.assertEqual((system["gpus"], system.get("gpu"), system.get("cudnn_version")), ("NVIDIA H200", None, None))
        self.assertTrue([key for key in system if key.startswith("peak_flops_per_s")])

    def test_no_gpu(self):
        (self.folder / "libnvidia-ml.so.1").touch()  # comes before the machine's own, and is not a library
        self.onnx("cpu", stand_in=False, LD_LIBRARY_PATH=self.folder)
        self.assertFalse([key for key in self.system() if "gpu" in key or "cud" in key])

    def test_an_nvml_that_was_named_is_used_or_an_error(self):
        absent = self.folder / "libnvidia-ml.so.1"
        for path, message in ((absent, f"cannot open library: {absent}: "),
                              (ORT, f"not an NVML library: {ORT}: nvmlInit_v2 is missing; try: ")):
            line = self.onnx("cpu", stand_in=False, status=SYSTEM, XSP_LIBRARY_NVML=path).stderr
            self.assertTrue(line.startswith(f"xsp: {message}"), line)
            self.assertFalse(self.output.exists())
            self.assertEqual(list(self.folder.glob("*.partial*")), [])

    def test_predictors_without_devices(self):
        script = self.folder / "net.xspscript"
        script.write_text("input data float N,8\nlayer conv1 Conv 300us\n")
        line = self.profile(script, [], "--device", "cpu", status=USE).stderr
        self.assertRegex(line, "^xsp: cannot choose the device: --device: the predictor of script")


if __name__ == "__main__":
    unittest.main()
