# SPDX-License-Identifier: Apache-2.0
"""OCI image layouts for tests of `xsp evaluate --container`: a small system with the framework, and what else a layer can hold."""
import gzip
import hashlib
import io
import json
import os
import pathlib
import re
import shutil
import subprocess
import tarfile

import onnxruntime

BUILD = pathlib.Path(os.environ["XSP_BUILD"])
FRAMEWORK = next((pathlib.Path(onnxruntime.__file__).parent / "capi").glob("libonnxruntime.so.*"))
FRAMEWORK_IN_IT = "/opt/framework/libonnxruntime.so.1"


def why_not():
    """Why no container starts here; empty: one does."""
    runc = shutil.which("runc", path=os.environ["PATH"] + ":/usr/sbin")
    if runc is None:
        return "runc is not installed"
    if os.geteuid() != 0:
        return "namespaces and limits need root"
    done = subprocess.run(["unshare", "--mount", "true"], capture_output=True, text=True, check=False)
    return done.stderr


def member(name, content=b"", kind=tarfile.REGTYPE, link="", mode=0o755):
    info = tarfile.TarInfo(name)
    info.type, info.linkname, info.mode, info.size = kind, link, mode, len(content)
    return info, content


def layer(*members, form=tarfile.PAX_FORMAT, compressed=True):
    out = io.BytesIO()
    with tarfile.open(fileobj=out, mode="w", format=form) as archive:
        for info, content in members:
            archive.addfile(info, io.BytesIO(content))
    return gzip.compress(out.getvalue(), 1, mtime=0) if compressed else out.getvalue()


def layout(folder, *layers, change=None):
    """An OCI image layout. `change` gets its manifest before that is written."""
    blobs = folder / "blobs" / "sha256"
    blobs.mkdir(parents=True)

    def blob(content, kind, **more):
        digest = hashlib.sha256(content).hexdigest()
        (blobs / digest).write_bytes(content)
        return {"mediaType": f"application/vnd.oci.image.{kind}", "digest": f"sha256:{digest}", "size": len(content), **more}

    manifest = {"schemaVersion": 2, "config": blob(b"{}", "config.v1+json"), "layers": [blob(each, "layer.v1.tar+gzip") for each in layers]}
    if change is not None:
        change(manifest)
    machine = {"x86_64": "amd64", "aarch64": "arm64"}.get(os.uname().machine, os.uname().machine)
    others = [blob(b'{"layers": []}', "manifest.v1+json", platform={"os": "linux", "architecture": "other"})]
    inner = blob(json.dumps({"manifests": [*others, blob(json.dumps(manifest).encode(), "manifest.v1+json",
                                                         platform={"os": "linux", "architecture": machine})]}).encode(), "index.v1+json")
    (folder / "index.json").write_text(json.dumps({"schemaVersion": 2, "manifests": [inner]}))
    (folder / "oci-layout").write_text('{"imageLayoutVersion": "1.0.0"}')
    return folder


def libraries(*programs):
    """The shared libraries that programs need, and the loader: paths."""
    lines = subprocess.run(["ldd", *programs], capture_output=True, text=True, check=True).stdout
    return sorted({path for path in re.findall(r"(/\S+) \(0x", lines) if not path.startswith(str(BUILD.resolve()))})


def system_layer(name):
    """A root file system with what a runner and ONNX Runtime need, and nothing else."""
    members = [member("./etc", kind=tarfile.DIRTYPE), member("./etc/os-release", f'PRETTY_NAME="{name}"\n'.encode(), mode=0o644),
               member("usr/lib", kind=tarfile.DIRTYPE), member("lib", kind=tarfile.SYMTYPE, link="usr/lib"),
               member("tmp/gone", b"of the first layer")]
    for path in (*libraries(BUILD / "xsp-runner", FRAMEWORK), *(f"/lib/x86_64-linux-gnu/{each}" for each in ("librt.so.1", "libdl.so.2"))):
        members.append(member(path.lstrip("/"), pathlib.Path(path).read_bytes()))
    return layer(*members)

def framework_layer():
    """ONNX Runtime at FRAMEWORK_IN_IT, without compression."""
    return layer(member(FRAMEWORK_IN_IT.lstrip("/"), FRAMEWORK.read_bytes()), member("tmp/.wh.gone"), compressed=False)
