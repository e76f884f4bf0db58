// SPDX-License-Identifier: Apache-2.0
// A program that runs a SavedModel with TensorFlow's C interface, without xsp: linked against the library (-DLINKED),
// or looking its functions up. `run_tensorflow LIBRARY FOLDER INPUT OUTPUT BATCH TIMES` prints a checksum for each run
// of a model with an input of [BATCH, 32, 32, 3] and an output of [BATCH, 10].
#include <dlfcn.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct output {
  void *operation;
  int index;
};

#define FUNCTIONS(X)                                                                                                   \
  X(TF_NewStatus, void *, (void))                                                                                      \
  X(TF_GetCode, int, (const void *))                                                                                   \
  X(TF_Message, const char *, (const void *))                                                                          \
  X(TF_NewGraph, void *, (void))                                                                                       \
  X(TF_NewSessionOptions, void *, (void))                                                                              \
  X(TF_LoadSessionFromSavedModel, void *,                                                                              \
    (const void *, const void *, const char *, const char *const *, int, void *, void *, void *))                      \
  X(TF_GraphOperationByName, void *, (void *, const char *))                                                           \
  X(TF_AllocateTensor, void *, (int, const int64_t *, int, size_t))                                                    \
  X(TF_TensorData, void *, (const void *))                                                                             \
  X(TF_DeleteTensor, void, (void *))                                                                                   \
  X(TF_SessionRun, void,                                                                                               \
    (void *, const void *, const struct output *, void *const *, int, const struct output *, void **, int,             \
     const void *const *, int, void *, void *))                                                                        \
  X(TF_DeleteSession, void, (void *, void *))

#ifdef LINKED
#define X(name, result, parameters) extern result name parameters;
#else
#define X(name, result, parameters) static result(*name) parameters;
#endif
FUNCTIONS(X)
#undef X

int main(int count, char **arguments)
{
  if (count != 7)
    return 2;
#ifndef LINKED
  void *library = dlopen(arguments[1], RTLD_NOW);
  if (library == NULL)
    return 4;
#define X(name, result, parameters) *(void **)&name = dlsym(library, #name);
  FUNCTIONS(X)
#undef X
#endif
  void *status = TF_NewStatus(), *graph = TF_NewGraph();
  const char *tags[] = {"serve"};
  void *session =
      TF_LoadSessionFromSavedModel(TF_NewSessionOptions(), NULL, arguments[2], tags, 1, graph, NULL, status);
  if (TF_GetCode(status) != 0) {
    fprintf(stderr, "%s\n", TF_Message(status));
    return 5;
  }
  int64_t shape[] = {atoi(arguments[5]), 32, 32, 3};
  size_t size = (size_t)shape[0] * 32 * 32 * 3;
  void *input = TF_AllocateTensor(1, shape, 4, size * sizeof(float));
  float *values = TF_TensorData(input);
  for (size_t i = 0; i < size; i++)
    values[i] = (float)(i % 255) / 255;
  struct output in = {TF_GraphOperationByName(graph, arguments[3]), 0};
  struct output out = {TF_GraphOperationByName(graph, arguments[4]), 0};
  for (int i = 0; i < atoi(arguments[6]); i++) {
    void *result = NULL;
    TF_SessionRun(session, NULL, &in, &input, 1, &out, &result, 1, NULL, 0, NULL, status);
    if (TF_GetCode(status) != 0) {
      fprintf(stderr, "%s\n", TF_Message(status));
      return 6;
    }
    uint64_t sum = 0;
    const float *numbers = TF_TensorData(result);
    for (int k = 0; k < shape[0] * 10; k++) {
      uint32_t bits;
      memcpy(&bits, &numbers[k], sizeof bits);
      sum = sum * 31 + bits;
    }
    printf("%016llx\n", (unsigned long long)sum);
    TF_DeleteTensor(result);
  }
  TF_DeleteTensor(input);
  TF_DeleteSession(session, status);
  return 0;
}
