// SPDX-License-Identifier: Apache-2.0
// Execution providers of ONNX Runtime for `--device`. Called by predictor.c while it makes the session's options. What a
// provider does not take stays on the CPU: the tag `provider` of each layer has the one that executed it.
#include "frameworks/onnxruntime/state.h"

#include "base/slice.h"

#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#define SUFFIX "ExecutionProvider"

struct provider {
  const char *name;   // "CUDAExecutionProvider"
  const char *given;  // as the user wrote it, without `number`
  const char *number; // after the colon: the device's, or OpenVINO's name of it; NULL: none
};

// "cuda" and "CUDAExecutionProvider" name the same, in any case.
static bool is_named(const char *provider, const char *name)
{
  size_t length = strlen(name), whole = strlen(provider);
  size_t part = text_ends_with(provider, SUFFIX) ? whole - strlen(SUFFIX) : whole;
  return (length == whole || length == part) && strncasecmp(provider, name, length) == 0;
}

static const char *find(const char *const *names, int count, const char *name)
{
  for (int i = 0; i < count; i++)
    if (is_named(names[i], name))
      return names[i];
  return NULL;
}

// The library's list, copied. It has all that this build supports, whether its libraries and devices are there or not.
static enum status list_available(struct onnxruntime_state *state, struct arena *arena, const char *const **ret_names,
                                  int *ret_count, struct error *err)
{
  char **names = NULL;
  int count = 0;
  TRY_ORT(state->api.available_providers(&names, &count), "cannot list execution providers");
  const char **copies = arena_alloc_array(arena, (size_t)count + 1, sizeof *copies);
  for (int i = 0; i < count; i++)
    copies[i] = arena_copy(arena, names[i], strlen(names[i]));
  TRY_ORT(state->api.release_available_providers(names, count), "cannot list execution providers");
  *ret_names = copies;
  *ret_count = count;
  return STATUS_OK;
}

static enum status choose(struct onnxruntime_state *state, struct arena *arena, const char *const *names, int count,
                          struct provider *ret_provider, struct error *err)
{
  static const char *const of_gpus[] = {"CUDA", "ROCM", "MIGraphX", "WebGpu"};
  const struct framework_device *device = &state->common.device;
  *ret_provider = (struct provider){0};
  if (device->kind == DEVICE_GPU) {
    for (size_t i = 0; i < sizeof of_gpus / sizeof of_gpus[0] && ret_provider->name == NULL; i++)
      ret_provider->name = find(names, count, ret_provider->given = of_gpus[i]);
    if (device->index >= 0)
      ret_provider->number = arena_format(arena, "%d", device->index);
  } else {
    const char *colon = strchr(device->text, ':');
    size_t length = colon != NULL ? (size_t)(colon - device->text) : strlen(device->text);
    ret_provider->given = arena_copy(arena, device->text, length);
    ret_provider->name = find(names, count, ret_provider->given);
    ret_provider->number = colon != NULL ? colon + 1 : NULL;
  }
  if (ret_provider->name != NULL)
    return STATUS_OK;
  const char *present = "";
  for (int i = 0; i < count; i++)
    present = framework_device_list(
        arena, present,
        arena_copy(arena, names[i], strlen(names[i]) - (text_ends_with(names[i], SUFFIX) ? strlen(SUFFIX) : 0)));
  return framework_device_missing(device, "onnxruntime", present, err);
}

// ---- appending -------------------------------------------------------------------------------------------------------

// CUDA's and TensorRT's options are objects of the library; NULL or a status of it.
static struct ort_status *append_with_options(struct onnxruntime_state *state, const struct ort_provider_calls *calls,
                                              const struct provider *provider)
{
  const char *keys[2], *values[2];
  size_t count = 0;
  void *options = NULL;
  if (provider->number != NULL) {
    keys[count] = "device_id";
    values[count++] = provider->number;
  }
  if (state->common.options.pin_algorithms && is_named(provider->name, "CUDA")) {
    keys[count] = "cudnn_conv_algo_search"; // else by times that are measured in this process
    values[count++] = "HEURISTIC";
  }
  struct ort_status *failed = calls->create(&options);
  if (failed == NULL && count > 0)
    failed = calls->update(options, keys, values, count);
  if (failed == NULL)
    failed = calls->append(state->session_options, options);
  if (options != NULL)
    calls->release(options);
  return failed;
}

// By name. Older versions know fewer names, and only in their own spelling, which the user may have used.
static struct ort_status *append_by_name(struct onnxruntime_state *state, const struct provider *provider)
{
  const char *keys[] = {is_named(provider->name, "OpenVINO") ? "device_type" : "device_id"};
  size_t count = provider->number != NULL;
  struct ort_status *failed =
      state->api.append_provider(state->session_options, provider->name, keys, &provider->number, count);
  if (failed == NULL || state->api.error_code(failed) != ORT_ERROR_INVALID_ARGUMENT)
    return failed;
  struct ort_status *again =
      state->api.append_provider(state->session_options, provider->given, keys, &provider->number, count);
  state->api.release_status(again == NULL ? failed : again);
  return again == NULL ? NULL : failed;
}

// AMD's providers of versions that do not know them by name; such builds export a function each.
static bool append_exported(struct onnxruntime_state *state, const struct provider *provider,
                            struct ort_status **ret_failed)
{
  char symbol[96];
  snprintf(symbol, sizeof symbol, "OrtSessionOptionsAppendExecutionProvider_%.*s",
           (int)(strlen(provider->name) - strlen(SUFFIX)), provider->name);
  void *address = dlsym(state->common.library.handle, symbol);
  struct ort_status *(*append)(struct ort_session_options *, int device) = NULL;
  memcpy(&append, &address, sizeof address);
  if (append == NULL)
    return false;
  *ret_failed = append(state->session_options, provider->number != NULL ? atoi(provider->number) : 0);
  return true;
}

static enum status append(struct onnxruntime_state *state, const struct provider *provider, struct error *err)
{
  const struct ort_api *api = &state->api;
  const struct ort_provider_calls cuda = {api->create_cuda_options, api->update_cuda_options, api->append_cuda,
                                          api->release_cuda_options};
  const struct ort_provider_calls tensorrt = {api->create_tensorrt_options, api->update_tensorrt_options,
                                              api->append_tensorrt, api->release_tensorrt_options};
  bool is_of_amd = is_named(provider->name, "ROCM") || is_named(provider->name, "MIGraphX");
  struct ort_status *failed = NULL;
  if (is_named(provider->name, "CUDA"))
    failed = append_with_options(state, &cuda, provider);
  else if (is_named(provider->name, "Tensorrt"))
    failed = append_with_options(state, &tensorrt, provider);
  else if (!is_of_amd || !append_exported(state, provider, &failed))
    failed = append_by_name(state, provider);
  if (failed == NULL)
    return STATUS_OK;
  enum status status = error_set(err, STATUS_SYSTEM, "cannot use the device", state->common.device.text,
                                 "the libraries and the driver that its execution provider needs, or --device cpu",
                                 "%s", api->error_message(failed));
  api->release_status(failed);
  return status;
}

enum status onnxruntime_add_device(struct onnxruntime_state *state, struct arena *arena, struct predictor_model *model,
                                   struct error *err)
{
  enum device_kind kind = state->common.device.kind;
  const char *const *names = NULL;
  int count = 0;
  struct provider provider;
  model->device = "CPU" SUFFIX;
  model->device_class = PREDICTOR_ON_CPU;
  if (kind == DEVICE_DEFAULT || kind == DEVICE_CPU)
    return STATUS_OK;
  XSP_TRY(list_available(state, arena, &names, &count, err));
  XSP_TRY(choose(state, arena, names, count, &provider, err));
  bool is_cuda = is_named(provider.name, "CUDA"), is_tensorrt = is_named(provider.name, "Tensorrt");
  model->device =
      provider.number == NULL ? provider.name : arena_format(arena, "%s:%s", provider.name, provider.number);
  if (is_named(provider.name, "CPU"))
    return STATUS_OK;
  model->device_class = is_cuda || is_tensorrt ? PREDICTOR_ON_CUDA : PREDICTOR_ON_OTHER;
  XSP_TRY(append(state, &provider, err));
  const char *rest = is_tensorrt ? find(names, count, "CUDA") : NULL; // takes what TensorRT does not
  return rest == NULL ? STATUS_OK
                      : append(state, &(struct provider){.name = rest, .given = rest, .number = provider.number}, err);
}
