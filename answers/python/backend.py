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
WHEEL = "Wheel-Version: 1.0\nGenerator: xsp\nRoot-Is-Purelib: true\nTag: py3-none-any\n"


def _write(folder, files):
    """A wheel of these files, {name in the wheel: bytes}. Equal files give equal wheels."""
    info = f"{NAME}.dist-info"
    files = {**files, f"{info}/METADATA": METADATA.encode(), f"{info}/WHEEL": WHEEL.encode()}
    record = ""
    for name, data in sorted(files.items()):
        digest = base64.urlsafe_b64encode(hashlib.sha256(data).digest()).rstrip(b"=").decode()
        record += f"{name},sha256={digest},{len(data)}\n"
    files[f"{info}/RECORD"] = f"{record}{info}/RECORD,,\n".encode()
    path = pathlib.Path(folder) / f"{NAME}-py3-none-any.whl"
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as wheel:
        for name, data in sorted(files.items()):
            wheel.writestr(zipfile.ZipInfo(name, (1980, 1, 1, 0, 0, 0)), data)
    return path.name


def build_wheel(wheel_directory, config_settings=None, metadata_directory=None):
    return _write(wheel_directory, {f"xsp/{path.name}": path.read_bytes() for path in (HERE / "src" / "xsp").glob("*.py")})


def build_editable(wheel_directory, config_settings=None, metadata_directory=None):
    return _write(wheel_directory, {"xsp.pth": f"{HERE / 'src'}\n".encode()})


def build_sdist(sdist_directory, config_settings=None):
    path = pathlib.Path(sdist_directory) / f"{NAME}.tar.gz"
    with tarfile.open(path, "w:gz") as archive:
        for file in ("pyproject.toml", "backend.py", "src"):
            archive.add(HERE / file, f"{NAME}/{file}", filter=lambda entry: None if "__pycache__" in entry.name else entry)
    return path.name
