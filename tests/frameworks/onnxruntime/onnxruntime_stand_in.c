// SPDX-License-Identifier: Apache-2.0
// The ONNX Runtime of test_devices.py: the real library behind a table in which CUDA, TensorRT and ROCm are available. Their
// functions log what they are asked for and append nothing, so the model then runs on the CPU.
//   XSP_STAND_IN_OF     path of the real library
//   XSP_STAND_IN_LOG    file to which each call is appended
//   XSP_STAND_IN_FAILS  CUDA's provider cannot be loaded
#include <dlfcn.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define SLOTS 417 // of OrtApi, as far as xsp uses it
#define STAND_IN __attribute__((visibility("default")))

struct base {
  const void *(*get_api)(uint32_t version);
  const char *(*version)(void);
};
static const struct base *real;
static void *table[SLOTS];

static void note(const char *what, const char *const *keys, const char *const *values, size_t count)
{
  FILE *file = fopen(getenv("XSP_STAND_IN_LOG"), "ae");
  if (file == NULL)
    return;
  fprintf(file, "%s", what);
  for (size_t i = 0; i < count; i++)
    fprintf(file, " %s=%s", keys[i], values[i]);
  fprintf(file, "\n");
  fclose(file);
}

static void *available(char ***ret_names, int *ret_count)
{
  static char *names[] = {"TensorrtExecutionProvider", "CUDAExecutionProvider", "ROCMExecutionProvider",
                          "OpenVINOExecutionProvider", "CPUExecutionProvider"};
  *ret_names = names;
  *ret_count = 5;
  return NULL;
}

static void *release_available(char **names, int count)
{
  return NULL;
}

#define PROVIDER(name)                                                                                                 \
  static void *create_##name(void **ret_options)                                                                       \
  {                                                                                                                    \
    *ret_options = malloc(1);                                                                                          \
    return NULL;                                                                                                       \
  }                                                                                                                    \
  static void *update_##name(void *options, const char *const *keys, const char *const *values, size_t count)          \
  {                                                                                                                    \
    note("update " #name, keys, values, count);                                                                        \
    return NULL;                                                                                                       \
  }                                                                                                                    \
  static void *append_##name(void *session_options, const void *options)                                               \
  {                                                                                                                    \
    note("append " #name, NULL, NULL, 0);                                                                              \
    void *(*fail)(int, const char *) = (void *(*)(int, const char *))table[0];                                         \
    return getenv("XSP_STAND_IN_FAILS") != NULL ? fail(1, "libcublasLt.so.12: cannot open shared object") : NULL;      \
  }                                                                                                                    \
  static void release_##name(void *options)                                                                            \
  {                                                                                                                    \
    note("release " #name, NULL, NULL, 0);                                                                             \
    free(options);                                                                                                     \
  }
PROVIDER(cuda)
PROVIDER(tensorrt)

// As versions before 1.23 do: own spellings only.
static void *append_by_name(void *session_options, const char *name, const char *const *keys, const char *const *values,
                            size_t count)
{
  note(name, keys, values, count);
  void *(*fail)(int, const char *) = (void *(*)(int, const char *))table[0];
  return strcmp(name, "OpenVINO") == 0 ? NULL : fail(2, "Unknown provider name");
}

static void *set_deterministic(void *session_options, _Bool value)
{
  note(value ? "deterministic" : "not deterministic", NULL, NULL, 0);
  return NULL;
}

STAND_IN void *OrtSessionOptionsAppendExecutionProvider_ROCM(void *session_options, int device);
STAND_IN void *OrtSessionOptionsAppendExecutionProvider_ROCM(void *session_options, int device)
{
  note(device == 1 ? "rocm 1" : "rocm 0", NULL, NULL, 0);
  return NULL;
}

static const void *get_api(uint32_t version)
{
  const void *found = real->get_api(version);
  if (found == NULL)
    return NULL;
  memcpy(table, found, sizeof table);
  table[125] = (void *)available;
  table[126] = (void *)release_available;
  table[170] = (void *)append_tensorrt;
  table[171] = (void *)create_tensorrt;
  table[172] = (void *)update_tensorrt;
  table[174] = (void *)release_tensorrt;
  table[204] = (void *)append_cuda;
  table[205] = (void *)create_cuda;
  table[206] = (void *)update_cuda;
  table[208] = (void *)release_cuda;
  table[216] = (void *)append_by_name;
  table[273] = (void *)set_deterministic;
  return table;
}

static const char *version(void)
{
  return real->version();
}

STAND_IN const void *OrtGetApiBase(void);
STAND_IN const void *OrtGetApiBase(void)
{
  static const struct base base = {get_api, version};
  void *library = dlopen(getenv("XSP_STAND_IN_OF"), RTLD_NOW | RTLD_LOCAL);
  void *symbol = library != NULL ? dlsym(library, "OrtGetApiBase") : NULL;
  const struct base *(*get_base)(void) = NULL;
  memcpy(&get_base, &symbol, sizeof symbol);
  if (get_base == NULL)
    abort();
  real = get_base();
  return &base;
}
