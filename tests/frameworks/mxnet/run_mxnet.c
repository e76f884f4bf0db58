// SPDX-License-Identifier: Apache-2.0
// A program that predicts with MXNet's C interface, without xsp: linked against the library (-DLINKED), or looking its
// functions up. `run_mxnet LIBRARY SYMBOL PARAMETERS BATCH TIMES` prints a checksum for each prediction.
#include <dlfcn.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#define FUNCTIONS(X)                                                                                                   \
  X(PredCreate,                                                                                                        \
    (const char *, const void *, int, int, int, uint32_t, const char **, const uint32_t *, const uint32_t *, void **)) \
  X(PredSetInput, (void *, const char *, const float *, uint32_t))                                                     \
  X(PredForward, (void *))                                                                                             \
  X(PredGetOutput, (void *, uint32_t, float *, uint32_t))                                                              \
  X(PredFree, (void *))

#ifdef LINKED
#define X(name, parameters) extern int MX##name parameters;
FUNCTIONS(X)
#undef X
#else
#define X(name, parameters) static int(*MX##name) parameters;
FUNCTIONS(X)
#undef X
#endif

static char *read_file(const char *path, int *ret_size)
{
  FILE *file = fopen(path, "rb");
  if (file == NULL || fseek(file, 0, SEEK_END) != 0)
    exit(3);
  long size = ftell(file);
  char *text = calloc((size_t)size + 1, 1);
  rewind(file);
  if (text == NULL || fread(text, 1, (size_t)size, file) != (size_t)size)
    exit(3);
  fclose(file);
  *ret_size = (int)size;
  return text;
}

int main(int count, char **arguments)
{
  if (count != 6)
    return 2;
#ifndef LINKED
  void *library = dlopen(arguments[1], RTLD_NOW);
  if (library == NULL)
    return 4;
#define X(name, parameters) *(void **)&MX##name = dlsym(library, "MX" #name);
  FUNCTIONS(X)
#undef X
#endif
  int symbol_size = 0, parameter_size = 0;
  char *symbol = read_file(arguments[2], &symbol_size), *parameters = read_file(arguments[3], &parameter_size);
  uint32_t batch = (uint32_t)atoi(arguments[4]), starts[] = {0, 4}, shape[] = {batch, 3, 96, 96};
  const char *names[] = {"data"};
  void *predictor = NULL;
  if (MXPredCreate(symbol, parameters, parameter_size, 1, 0, 1, names, starts, shape, &predictor) != 0)
    return 5;
  uint32_t size = batch * 3 * 96 * 96;
  float *input = calloc(size, sizeof *input), *output = calloc(batch * 10, sizeof *output);
  for (uint32_t i = 0; i < size; i++)
    input[i] = (float)(i % 255) / 255;
  if (MXPredSetInput(predictor, "data", input, size) != 0)
    return 6;
  for (int i = 0; i < atoi(arguments[5]); i++) {
    if (MXPredForward(predictor) != 0 || MXPredGetOutput(predictor, 0, output, batch * 10) != 0)
      return 7;
    uint64_t sum = 0;
    for (uint32_t k = 0; k < batch * 10; k++)
      sum = sum * 31 + *(uint32_t *)(void *)&output[k];
    printf("%016llx\n", (unsigned long long)sum);
  }
  MXPredFree(predictor);
  free(symbol);
  free(parameters);
  free(input);
  free(output);
  return 0;
}
