# SPDX-License-Identifier: Apache-2.0
"""Builds the wheel for pip (PEP 517) by the standard library alone, so that `pip install ./answers/python` needs no network."""
import base64
import hashlib
import pathlib
import re
import tarfile
import zipfile

HERE = pathlib.Path(__file__).resolve().parent
FIELDS = dict(re.findall(r'^(name|version|description|requires-python) = "(.*)"$', (HERE / "pyproject.toml").read_text(), re.M))
NAME = f"{FIELDS['name']}-{FIELDS['version']}"
METADATA = (f"Metadata-Version: 2.1\nName: {FIELDS['name']}\nVersion: {FIELDS['version']}\nSummary: {FIELDS['description']}\n"
            f"License: Apache-2.0\nRequires-Python: {FIELDS['requires-python']}\n")


def package_files():
    return {f"xsp/{path.name}": path.read_bytes() for path in (HERE / "src" / "xsp").glob("*.py")}


def write_wheel(folder, files, name=NAME, tag="py3-none-any", metadata=METADATA, programs=()):
    """A wheel of these files, {name in the wheel: bytes}; `programs` are executable. Equal files give equal wheels."""
    info = f"{name}.dist-info"
    wheel = f"Wheel-Version: 1.0\nGenerator: xsp\nRoot-Is-Purelib: {str(tag.endswith('any')).lower()}\nTag: {tag}\n"
    files = {**files, f"{info}/METADATA": metadata.encode(), f"{info}/WHEEL": wheel.encode()}
    record = ""
    for file, data in sorted(files.items()):
        digest = base64.urlsafe_b64encode(hashlib.sha256(data).digest()).rstrip(b"=").decode()
        record += f"{file},sha256={digest},{len(data)}\n"
    files[f"{info}/RECORD"] = f"{record}{info}/RECORD,,\n".encode()
    path = pathlib.Path(folder) / f"{name}-{tag}.whl"
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        for file, data in sorted(files.items()):
            entry = zipfile.ZipInfo(file, (1980, 1, 1, 0, 0, 0))
            entry.external_attr = (0o100755 if file in programs else 0o100644) << 16
            entry.compress_type = zipfile.ZIP_DEFLATED
            archive.writestr(entry, data)
    return path.name


def build_wheel(wheel_directory, config_settings=None, metadata_directory=None):
    return write_wheel(wheel_directory, package_files())


def build_editable(wheel_directory, config_settings=None, metadata_directory=None):
    return write_wheel(wheel_directory, {"xsp.pth": f"{HERE / 'src'}\n".encode()})


def build_sdist(sdist_directory, config_settings=None):
    path = pathlib.Path(sdist_directory) / f"{NAME}.tar.gz"
    with tarfile.open(path, "w:gz") as archive:
        for file in ("pyproject.toml", "backend.py", "src"):
            archive.add(HERE / file, f"{NAME}/{file}", filter=lambda entry: None if "__pycache__" in entry.name else entry)
    return path.name
