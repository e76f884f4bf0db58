// SPDX-License-Identifier: Apache-2.0
// A stand-in for TensorFlow's library in test_tensorflow.py: it computes nothing. It logs its calls and
// answers with a recorded RunMetadata or with an error, so that the predictor is tested without 1.6 GB.
//   XSP_STAND_IN_LOG       file to which each call of interest is appended
//   XSP_STAND_IN_METADATA  file that every traced run answers with
//   XSP_STAND_IN_GPUS      number of its GPUs, next to a CPU; 0 without
//   XSP_STAND_IN_CUDNN     a cuDNN that it loads
//   XSP_STAND_IN_ERROR     "CODE MESSAGE": every run fails with it
#include <dlfcn.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define STAND_IN __attribute__((visibility("default")))

struct buffer {
  void *data;
  size_t length;
  void (*deallocate)(void *, size_t);
};
struct output {
  void *operation;
  int index;
};

static int code;
static const char *message = "";
static char thing; // the target of every handle

static void note(const char *what, const void *bytes, size_t length)
{
  const char *path = getenv("XSP_STAND_IN_LOG");
  FILE *file = path != NULL ? fopen(path, "ae") : NULL;
  if (file == NULL)
    return;
  fprintf(file, "%s", what);
  for (size_t i = 0; i < length; i++)
    fprintf(file, " %02x", ((const uint8_t *)bytes)[i]);
  fprintf(file, "\n");
  fclose(file);
}

static void fill(struct buffer *metadata)
{
  const char *path = getenv("XSP_STAND_IN_METADATA");
  FILE *file = path != NULL ? fopen(path, "rb") : NULL;
  if (file == NULL)
    return;
  metadata->data = malloc(1 << 20);
  metadata->length = fread(metadata->data, 1, 1 << 20, file);
  fclose(file);
}

#define HANDLE(name, parameters)                                                                                       \
  STAND_IN void *name parameters;                                                                                      \
  STAND_IN void *name parameters                                                                                       \
  {                                                                                                                    \
    return &thing;                                                                                                     \
  }
#define NOTHING(name, parameters)                                                                                      \
  STAND_IN void name parameters;                                                                                       \
  STAND_IN void name parameters                                                                                        \
  {                                                                                                                    \
  }
#define PROTOTYPE(declaration)                                                                                         \
  STAND_IN declaration;                                                                                                \
  STAND_IN declaration

HANDLE(TF_NewStatus, (void))
HANDLE(TF_NewGraph, (void))
HANDLE(TF_NewImportGraphDefOptions, (void))
HANDLE(TF_NewSessionOptions, (void))
HANDLE(TF_GraphOperationByName, (void *graph, const char *name))
HANDLE(TF_NewTensor, (int type, const int64_t *shape, int rank, void *data, size_t length,
                      void (*deallocate)(void *, size_t, void *), void *argument))
HANDLE(TF_AllocateTensor, (int type, const int64_t *shape, int rank, size_t length))
HANDLE(TF_TensorData, (const void *tensor))
NOTHING(TF_DeleteStatus, (void *status))
NOTHING(TF_DeleteGraph, (void *graph))
NOTHING(TF_DeleteImportGraphDefOptions, (void *options))
NOTHING(TF_GraphImportGraphDef, (void *graph, const struct buffer *bytes, const void *options, void *status))
NOTHING(TF_DeleteSessionOptions, (void *options))
HANDLE(TF_SessionListDevices, (void *session, void *status))
NOTHING(TF_DeleteDeviceList, (void *list))
NOTHING(TF_CloseSession, (void *session, void *status))
NOTHING(TF_DeleteSession, (void *session, void *status))
NOTHING(TF_DeleteTensor, (void *tensor))
NOTHING(TF_StringInit, (void *string))
NOTHING(TF_StringCopy, (void *string, const char *text, size_t length))
NOTHING(TF_StringDealloc, (void *string))

PROTOTYPE(const char *TF_Version(void))
{
  return "0-stand-in";
}

PROTOTYPE(void *TF_NewSession(void *graph, const void *options, void *status))
{
  const char *cudnn = getenv("XSP_STAND_IN_CUDNN");
  return cudnn == NULL || dlopen(cudnn, RTLD_NOW | RTLD_LOCAL) != NULL ? &thing : NULL;
}

PROTOTYPE(int TF_GetCode(const void *status))
{
  return code;
}

PROTOTYPE(const char *TF_Message(const void *status))
{
  return message;
}

PROTOTYPE(int TF_OperationNumOutputs(void *operation))
{
  return 1;
}

PROTOTYPE(size_t TF_TensorByteSize(const void *tensor))
{
  return 0;
}

PROTOTYPE(int TF_NumDims(const void *tensor))
{
  return 0;
}

PROTOTYPE(int64_t TF_Dim(const void *tensor, int dimension))
{
  return 0;
}

PROTOTYPE(int TF_TensorType(const void *tensor))
{
  return 1;
}

PROTOTYPE(struct buffer *TF_NewBuffer(void))
{
  return calloc(1, sizeof(struct buffer));
}

PROTOTYPE(void TF_DeleteBuffer(struct buffer *buffer))
{
  free(buffer->data);
  free(buffer);
}

PROTOTYPE(int TF_DeviceListCount(const void *list))
{
  const char *gpus = getenv("XSP_STAND_IN_GPUS");
  return 1 + (gpus != NULL ? atoi(gpus) : 0);
}

PROTOTYPE(const char *TF_DeviceListType(const void *list, int index, void *status))
{
  return index == 0 ? "CPU" : "GPU";
}

PROTOTYPE(void TF_SetConfig(void *options, const void *proto, size_t length, void *status))
{
  note("config", proto, length);
}

PROTOTYPE(void *TF_LoadSessionFromSavedModel(const void *options, const struct buffer *run_options, const char *folder,
                                             const char *const *tags, int count, void *graph, struct buffer *meta_graph,
                                             void *status))
{
  note(folder, NULL, 0);
  return &thing;
}

PROTOTYPE(void TF_SessionRun(void *session, const struct buffer *run_options, const struct output *inputs,
                             void *const *input_values, int input_count, const struct output *outputs,
                             void **output_values, int output_count, const void *const *targets, int target_count,
                             struct buffer *run_metadata, void *status))
{
  const char *error = getenv("XSP_STAND_IN_ERROR");
  printf("TensorFlow talks\n");
  note(run_metadata != NULL ? "traced" : "plain", run_options != NULL ? run_options->data : NULL,
       run_options != NULL ? run_options->length : 0);
  if (error != NULL) {
    code = atoi(error);
    message = strchr(error, ' ') + 1;
  } else if (run_metadata != NULL) {
    fill(run_metadata);
  }
}
