// SPDX-License-Identifier: Apache-2.0
// A library in front of a framework's own, for the long tests: copies the output of the framework's profiler to files,
// so that it can be compared with the predictor's layers of the same run. The test compiles it with -DTEE_NAME for one
// framework and links it with the real library (which serves all other functions), whose path is REAL; the prefix of
// the files is in XSP_TEE.
#include <dlfcn.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void *real(const char *name)
{
  void *library = dlopen(REAL, RTLD_NOW | RTLD_LOCAL | RTLD_NOLOAD);
  void *found = library != NULL ? dlsym(library, name) : NULL;
  if (found == NULL)
    abort();
  return found;
}

static void keep(const void *bytes, size_t length)
{
  static unsigned number;
  const char *prefix = getenv("XSP_TEE");
  char path[4096];
  snprintf(path, sizeof path, "%s%06u", prefix != NULL ? prefix : "/dev/null/", number++);
  FILE *file = fopen(path, "wb");
  if (file == NULL || fwrite(bytes, 1, length, file) != length || fclose(file) != 0)
    abort();
}

#ifdef TEE_TENSORFLOW
#include "frameworks/tensorflow/abi.h"

// Metadata of a run is given back once it has been read.
void TF_DeleteBuffer(struct tf_buffer *buffer)
{
  void (*next)(struct tf_buffer *) = real("TF_DeleteBuffer");
  if (buffer->length > 0)
    keep(buffer->data, buffer->length);
  next(buffer);
}
#endif

#ifdef TEE_MXNET
static char profile[4096];

int MXSetProcessProfilerConfig(int count, const char *const *keys, const char *const *values, void *store)
{
  int (*next)(int, const char *const *, const char *const *, void *) = real("MXSetProcessProfilerConfig");
  for (int i = 0; i < count; i++)
    if (strcmp(keys[i], "filename") == 0)
      snprintf(profile, sizeof profile, "%s", values[i]);
  return next(count, keys, values, store);
}

int MXDumpProcessProfile(int is_last, int of_server, void *store)
{
  int (*next)(int, int, void *) = real("MXDumpProcessProfile");
  int result = next(is_last, of_server, store);
  FILE *file = fopen(profile, "rb");
  static char text[1 << 24];
  size_t length = file != NULL ? fread(text, 1, sizeof text, file) : 0;
  if (length == 0 || length == sizeof text)
    abort();
  fclose(file);
  keep(text, length);
  return result;
}
#endif

#ifdef TEE_LITERT
typedef void *handle;
static handle compiled;

int LiteRtCreateCompiledModel(handle environment, handle model, handle options, handle *ret_compiled)
{
  int (*next)(handle, handle, handle, handle *) = real("LiteRtCreateCompiledModel");
  int result = next(environment, model, options, ret_compiled);
  compiled = *ret_compiled;
  return result;
}

// Each event, raw: 104 bytes and its tag's text. Behind those of the first inference the profiler's own summary, which goes
// on telling of the first for ever.
int LiteRtGetProfilerEvents(handle profiler, int count, void *events)
{
  int (*next)(handle, int, void *) = real("LiteRtGetProfilerEvents");
  int (*summary)(handle, handle, const char **) = real("LiteRtGetProfileSummary");
  static bool is_later;
  int result = next(profiler, count, events);
  char *text = NULL;
  size_t length = 0;
  FILE *lines = open_memstream(&text, &length);
  for (int i = 0; i < count; i++) {
    const unsigned char *event = (const unsigned char *)events + (size_t)i * 104;
    const char *tag;
    uint64_t start, duration;
    uint32_t kind;
    memcpy(&tag, event, sizeof tag);
    memcpy(&kind, event + 8, sizeof kind);
    memcpy(&start, event + 16, sizeof start);
    memcpy(&duration, event + 24, sizeof duration);
    fprintf(lines, "%u %llu %llu %s\n", kind, (unsigned long long)start, (unsigned long long)duration, tag);
  }
  const char *words = NULL;
  if (!is_later && (summary(profiler, compiled, &words) != 0 || words == NULL))
    abort();
  fprintf(lines, "\n%s", words != NULL ? words : "");
  is_later = true;
  if (fclose(lines) != 0)
    abort();
  keep(text, length);
  free(text);
  return result;
}
#endif

#ifdef TEE_OPENVINO
#include "frameworks/openvino/abi.h"

// One line a node: its mean until now, in microseconds, and its name.
int ov_infer_request_get_profiling_info(const struct ov_infer_request *request, struct ov_profiling_list *list)
{
  int (*next)(const struct ov_infer_request *, struct ov_profiling_list *) =
      real("ov_infer_request_get_profiling_info");
  int result = next(request, list);
  size_t used = 0, size = list->count * 1024 + 1;
  char *text = malloc(size);
  for (size_t i = 0; i < list->count && text != NULL; i++)
    if (list->infos[i].status == OV_NODE_EXECUTED)
      used += (size_t)snprintf(text + used, size - used, "%lld %.900s\n", (long long)list->infos[i].real_time_us,
                               list->infos[i].name);
  if (text == NULL)
    abort();
  keep(text, used);
  free(text);
  return result;
}
#endif
