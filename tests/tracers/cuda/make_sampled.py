# SPDX-License-Identifier: Apache-2.0
"""make_sampled.py FOLDER: sampled.cu as code for Hopper with lines of source, by NVRTC in FOLDER (the lib of the package
nvidia-cuda-nvrtc, 13.1.115). The code names the folder where it was made: call it in /src."""
import ctypes
import pathlib
import sys

HERE = pathlib.Path(__file__).parent
for name in ("libnvrtc-builtins.so.13.1", "libnvrtc.so.13"):
    nvrtc = ctypes.CDLL(str(pathlib.Path(sys.argv[1]).resolve() / name), mode=ctypes.RTLD_GLOBAL)
program, size = ctypes.c_void_p(), ctypes.c_size_t()
options = (ctypes.c_char_p * 2)(b"--gpu-architecture=sm_90", b"-lineinfo")
assert nvrtc.nvrtcCreateProgram(ctypes.byref(program), (HERE / "sampled.cu").read_bytes(), b"sampled.cu", 0, None, None) == 0
assert nvrtc.nvrtcCompileProgram(program, 2, options) == 0
assert nvrtc.nvrtcGetCUBINSize(program, ctypes.byref(size)) == 0
code = ctypes.create_string_buffer(size.value)
assert nvrtc.nvrtcGetCUBIN(program, code) == 0
(HERE / "sampled.cubin").write_bytes(code.raw)
