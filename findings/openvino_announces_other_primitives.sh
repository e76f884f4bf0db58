#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# OpenVINO 2026.4.1, CPU: its oneDNN announces each primitive by ITT, under the name of its kind. One expects `pooling` for a
# pooling layer. It is announced as `softmax`, softmax as `sdpa`, an inner product as `binary`: only convolutions and reorders
# have their own name.
set -eu
trap 'exit 1' HUP INT TERM
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/python3" -m pip install -q --disable-pip-version-check openvino==2026.4.1 numpy==2.4.6
cat >"$folder/collector.c" <<'EOF'
#include <pthread.h>
#include <stdio.h>
#include <string.h>
struct domain { volatile int flags; const char *name; void *wide; int extra1; void *extra2; struct domain *next; };
struct string { const char *text; void *wide; int extra1; void *extra2; struct string *next; };
struct id { unsigned long long d1, d2, d3; };
struct slot { const char *name; void **function, *initial, *absent; int group; };
struct global {
  unsigned char magic[8];
  unsigned long major, minor, build;
  volatile long is_initialized, has_mutex, counter;
  pthread_mutex_t mutex;
  void *library, *error_handler;
  const char **path;
  struct slot *slots;
};
static struct domain executions = {.flags = 1}, others;
static struct string strings[4096];
static struct domain *domain_create(const char *name)
{
  return strcmp(name, "dnnl::primitive::execute") == 0 ? &executions : &others;
}
static struct string *string_create(const char *text)
{
  static unsigned count;
  struct string *string = &strings[__atomic_fetch_add(&count, 1, __ATOMIC_RELAXED) % 4096];
  string->text = strdup(text);
  return string;
}
static void task_begin(const struct domain *domain, struct id task, struct id parent, struct string *name)
{
  if (domain == &executions)
    fprintf(stderr, "%s\n", name->text);
}
void __itt_api_init(struct global *global, int groups)
{
  for (struct slot *slot = global->slots; slot != NULL && slot->name != NULL; slot++)
    *slot->function = strcmp(slot->name, "__itt_domain_create") == 0          ? (void *)domain_create
                      : strcmp(slot->name, "__itt_string_handle_create") == 0 ? (void *)string_create
                      : strcmp(slot->name, "__itt_task_begin") == 0           ? (void *)task_begin
                                                                              : slot->absent;
}
EOF
cc -shared -fPIC -w -o "$folder/collector.so" "$folder/collector.c"
cat >"$folder/pool.py" <<'EOF'
import importlib.metadata
import numpy as np, openvino as ov
from openvino import opset13 as operators

picture = operators.parameter([1, 16, 32, 32], np.float32, name="picture")
pool = operators.max_pool(picture, [2, 2], [1, 1], [0, 0], [0, 0], [2, 2], "floor", "explicit", "i64", 0)
model = ov.Model([operators.result(pool.output(0))], [picture], "pool")
compiled = ov.Core().compile_model(model, "CPU", {"INFERENCE_PRECISION_HINT": "f32"})
compiled({0: np.ones((1, 16, 32, 32), np.float32)})
print("openvino", importlib.metadata.version("openvino"))
EOF
INTEL_LIBITTNOTIFY64="$folder/collector.so" "$folder/venv/bin/python3" "$folder/pool.py" 2>"$folder/names"
seen=$(sort -u "$folder/names" | tr '\n' ' ')
echo "expected: a pooling layer is announced as pooling"
echo "seen:     $seen"
case " $seen" in
*" pooling "*) exit 1 ;;
*" softmax "*) exit 0 ;;
*) exit 1 ;;
esac
