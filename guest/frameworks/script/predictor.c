// SPDX-License-Identifier: Apache-2.0
// A predictor that computes nothing: layers and kernels of known names and durations, spent waiting busily, and faults on
// demand. It is what makes the pipeline's figures checkable: what goes in is written in a text file.
#include "frameworks/script/predictor.h"

#include "base/clock.h"
#include "base/mapped.h"
#include "frameworks/common/predictor.h"
#include "frameworks/script/model.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

__attribute__((visibility("default"))) struct xsp_script_hooks xsp_script_hooks = {.size = sizeof xsp_script_hooks};

struct state {
  struct predictor_state common; // first
  struct script_model model;
  uint64_t predictions;
};

static void work(uint64_t duration_ns)
{
  uint64_t end = clock_now_ns(CLOCK_MONOTONIC) + duration_ns;
  while (clock_now_ns(CLOCK_MONOTONIC) < end)
    ;
}

static void allocate(uint64_t bytes)
{
  const size_t block = (size_t)16 << 20;
  for (uint64_t done = 0; done < bytes; done += block) {
    size_t size = bytes - done < block ? (size_t)(bytes - done) : block;
    char *memory = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (memory == MAP_FAILED)
      abort();               // as frameworks do
    memset(memory, 1, size); // the kernel gives memory where it is touched, and kills where there is none
  }
}

static void do_fault(const struct script_model *model)
{
  switch (model->fault) {
  case SCRIPT_FAULT_NONE:
    break;
  case SCRIPT_ABORT:
    abort();
  case SCRIPT_SEGV:
    raise(SIGSEGV);
    break;
  case SCRIPT_EXIT:
    _exit((int)model->fault_value);
  case SCRIPT_HANG:
    for (;;)
      pause();
  case SCRIPT_ALLOCATE:
    allocate(model->fault_value);
    break;
  }
}

static enum status script_probe(const char *library_path, char *library, size_t library_size, char *version,
                                size_t version_size, struct error *err)
{
  snprintf(library, library_size, "built in");
  snprintf(version, version_size, "1");
  return STATUS_OK;
}

static void make_sites(struct state *state)
{
  int64_t index = 0;
  for (struct script_layer *layer = state->model.layers; layer != NULL; layer = layer->next, index++) {
    layer->site = xsp_site_create("script", XSP_LEVEL_LAYER, layer->name, NULL);
    if (layer->site == NULL)
      continue;
    xsp_site_tag_int(layer->site, "layer_index", index);
    xsp_site_tag_string(layer->site, "layer_type", layer->type);
    if (layer->alloc_bytes >= 0)
      xsp_site_tag_int(layer->site, "alloc_bytes", layer->alloc_bytes);
  }
}

static enum status script_open(struct predictor_model *model, struct arena *arena, struct error *err)
{
  struct state *state = model->state;
  const char *path = state->common.options.model_path;
  struct mapped file;
  XSP_TRY(predictor_map_file(path, SIZE_MAX, NULL, &file, err));
  enum status status = script_parse(file.bytes, file.size, path, arena, &state->model, err);
  mapped_close(&file);
  XSP_TRY(status);
  if (state->common.has_layers)
    make_sites(state);
  model->framework = "script";
  model->framework_version = "1";
  model->library_path = "built in";
  model->inputs = state->model.inputs;
  model->input_count = state->model.input_count;
  model->layer_source = state->common.has_layers ? "script" : "none";
  if (state->model.fault != SCRIPT_FAULT_NONE && state->model.fault_prediction == 0)
    do_fault(&state->model);
  return STATUS_OK;
}

// "N,64,7,7" → "[4,64,7,7]": names are replaced by the batch size.
static void format_shape(const char *shape, int64_t batch, char *text, size_t size)
{
  size_t used = (size_t)snprintf(text, size, "[");
  while (*shape != 0 && used < size) {
    size_t length = strcspn(shape, ",");
    if (*shape >= '0' && *shape <= '9')
      used += (size_t)snprintf(text + used, size - used, "%.*s", (int)length, shape);
    else
      used += (size_t)snprintf(text + used, size - used, "%lld", (long long)batch);
    shape += length;
    if (*shape == ',' && used + 1 < size) {
      text[used++] = ',';
      shape++;
    }
  }
  if (used < size)
    snprintf(text + used, size - used, "]");
}

static void run_layer(const struct script_layer *layer, int64_t batch, double scale)
{
  struct xsp_span span = xsp_span_start(layer->site);
  if (span.start != 0 && layer->shape != NULL) {
    char shape[256];
    format_shape(layer->shape, batch, shape, sizeof shape);
    xsp_span_tag_string(&span, "layer_shape", shape);
  }
  work((uint64_t)((double)layer->duration_ns * scale));
  for (const struct script_kernel *kernel = layer->kernels; kernel != NULL; kernel = kernel->next) {
    if (xsp_script_hooks.kernel_begin != NULL)
      xsp_script_hooks.kernel_begin(kernel->name);
    work((uint64_t)((double)kernel->duration_ns * scale));
    if (xsp_script_hooks.kernel_end != NULL)
      xsp_script_hooks.kernel_end(kernel->name);
  }
  xsp_span_finish(&span);
}

static enum status script_predict(struct predictor_model *model, const struct tensor *inputs, struct error *err)
{
  struct state *state = model->state;
  state->predictions++;
  if (state->model.fault != SCRIPT_FAULT_NONE && state->model.fault_prediction == state->predictions)
    do_fault(&state->model);
  int64_t batch = model->input_count > 0 && inputs[0].info->rank > 0 ? inputs[0].shape[0] : 1;
  double scale = 1 + (double)(batch - 1) * state->model.batch_factor;
  for (const struct script_layer *layer = state->model.layers; layer != NULL; layer = layer->next)
    run_layer(layer, batch, scale);
  return STATUS_OK;
}

const struct predictor predictor_script = {
    .name = "script",
    .summary = "scripted models of known layers, kernels and faults, for tests",
    .extensions = ".script.txt .xspscript",
    .state_bytes = sizeof(struct state),
    .probe = script_probe,
    .open = script_open,
    .predict = script_predict,
};
