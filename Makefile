# SPDX-License-Identifier: Apache-2.0
# What one types. Thin on purpose: tools/setup prepares the machine, tools/build drives CMake, ctest runs the tests.
# Needs git and make to begin with; `make setup` brings the rest (Debian 12; root or sudo).

BUILD  ?= build
PREFIX ?= /usr/local
JOBS   ?= $(shell nproc 2>/dev/null || echo 2)

export XSP_BUILD = $(BUILD)
export XSP_JOBS = $(JOBS)
# ONNX Runtime's wheels would leave files in the home.
export ORT_DISABLE_TELEMETRY = 1
SHELL = /bin/sh
.SUFFIXES:
.NOTPARALLEL:
.PHONY: all setup demo zoo accuracy test test-all test-bare test-packages test-aarch64 bench dist install editor clean gpu-check help

all: ## build xsp: build/xsp, and what `make install` installs
	@tools/build --programs "$(BUILD)"

setup: ## install what building and testing need: packages, .venv with the pinned Python packages
	@tools/setup

demo: ## install what it needs, build, profile real models, print their tables; leaves demo/*.html and demo/*.xsp
	@tools/setup --demo
	@tools/build --programs --quiet "$(BUILD)"
	@.venv/bin/python3 tools/demo

zoo: setup all ## measure the models of lab/models/ within an hour; again: goes on. ZOO="--budget 300 --only 'resnet*'"
	@.venv/bin/python3 tools/zoo $(ZOO)

accuracy: setup all ## repeat MLModelScope's evaluation with handwritten digits into accuracy/, and write docs/studies/evaluation-accuracy.md
	@.venv/bin/python3 tools/accuracy/measure accuracy
	@.venv/bin/python3 tools/accuracy/page accuracy >accuracy/page.md
	@mv accuracy/page.md docs/studies/evaluation-accuracy.md

test: setup ## set up, build, run the quick tests (under 10 minutes on 2 cores); TEST=name: only these, slow or not
	@tools/build "$(BUILD)"
	@tools/run_tests "$(BUILD)" $(if $(TEST),--only '$(TEST)',-LE 'long|slow')

test-all: setup ## the same, the slow and the long tests; as root those for aarch64, where QEMU and the cross compilers are
	@tools/build "$(BUILD)"
	@tools/run_tests "$(BUILD)"
	@missing=; [ "$$(id -u)" = 0 ] || missing=" root"; \
	for tool in debootstrap qemu-aarch64 aarch64-linux-gnu-gcc aarch64-linux-gnu-g++; do \
	  command -v $$tool >/dev/null || missing="$$missing $$tool"; \
	done; \
	if [ -z "$$missing" ]; then tools/test_aarch64; else echo "test-all: make test-aarch64 is left out: it needs$$missing" >&2; fi

test-bare: ## `make test` in a bare Debian 12 of its own, as a newcomer has it; as root (RUN="tools/flakes --load": another command)
	@tools/test_bare $(if $(RUN),'$(RUN)')

test-packages: dist ## install what dist/ has in bare Debian 12 and 13 and Ubuntu 22.04 and 24.04; as root (RUN="noble": only there)
	@tools/test_packages $(RUN)

test-aarch64: ## build for aarch64 and run the tests that QEMU's user mode can run; as root
	@tools/test_aarch64

bench: ## measure against floors and peers; one JSON object a line in build/bench.jsonl
	@tools/setup --bench
	@tools/build --programs "$(BUILD)-bench" -DXSP_BENCH=ON -DCMAKE_BUILD_TYPE=RelWithDebInfo
	@mkdir -p "$(BUILD)"
	@.venv/bin/python3 bench/run.py --build "$(BUILD)-bench" --output "$(BUILD)/bench.jsonl"

dist: setup ## what can be installed, in dist/: wheel, Debian package, tarball; xsp.html opens .xsp files (ARCH=aarch64: in dist/aarch64/, as root)
	@tools/dist $(ARCH)

install: all ## install under PREFIX (/usr/local), DESTDIR honoured
	@cmake --install "$(BUILD)" --prefix "$(PREFIX)"

editor: ## build the extension for VS Code: answers/editor/dist/xsp.vsix (docs/editor.md); needs Node 20.19 and npm's registry, once
	@tools/editor

gpu-check: all ## check the tracer of CUDA on this machine's NVIDIA GPU; leaves gpu-check/report.html and gpu-check.json
	@"$(BUILD)/gpu-check" $(if $(wildcard .venv/bin/python3),--python .venv/bin/python3) $(GPU_CHECK)

clean: ## remove what was built, not .venv
	@rm -rf "$(BUILD)" "$(BUILD)-bench" build-dist build-dist-* build-ci-* dist demo gpu-check answers/editor/dist

help: ## this list
	@awk -F ':.*## ' '/^[a-z0-9-]+:.*## /{printf "make %-13s %s\n", $$1, $$2}' Makefile
