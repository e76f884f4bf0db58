# SPDX-License-Identifier: Apache-2.0
"""OpenAPI's own schema of OpenAPI 3.1 documents, out of the package openapi-spec-validator, which is fetched once into XSP_TEST_CACHE
or the build folder. It is not installed: its thirteen dependencies are not needed."""
import hashlib
import json
import os
import pathlib
import subprocess
import sys
import unittest
import zipfile

VERSION, SHA256 = "0.9.0", "222fecffc7714f6d0a6ad62c0e4b66cc2b7dbfafb7b93acfc6c308abbdb51af8"


def openapi_schema():
    """The schema as a dict; raises unittest.SkipTest where it cannot be fetched."""
    cache = pathlib.Path(os.environ.get("XSP_TEST_CACHE") or os.environ["XSP_BUILD"]).resolve() / "openapi-schema"
    wheel = cache / f"openapi_spec_validator-{VERSION}-py3-none-any.whl"
    if not wheel.exists():
        done = subprocess.run([sys.executable, "-m", "pip", "download", "-q", "--no-deps", "--only-binary", ":all:", "-d", cache,
                               f"openapi-spec-validator=={VERSION}"], capture_output=True, text=True, timeout=600)
        if done.returncode != 0:
            raise unittest.SkipTest(f"openapi-spec-validator cannot be fetched: {done.stderr[-300:]}")
    if hashlib.sha256(wheel.read_bytes()).hexdigest() != SHA256:
        raise AssertionError(f"{wheel} is another package than the pinned one")
    with zipfile.ZipFile(wheel) as package:
        return json.loads(package.read("openapi_spec_validator/resources/schemas/v3.1/schema.json"))
