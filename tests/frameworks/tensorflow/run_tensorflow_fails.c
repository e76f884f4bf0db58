// SPDX-License-Identifier: Apache-2.0
// A program that executes a failing function with uninitialised room for results: linked against TensorFlow, without
// xsp. Prints TensorFlow's codes; the last one is not 0.
#include <stddef.h>
#include <stdio.h>
#include <string.h>

extern void *TF_NewStatus(void);
extern int TF_GetCode(const void *status);
extern void *TFE_NewContextOptions(void);
extern void *TFE_NewContext(const void *options, void *status);
extern void TFE_ContextAddFunctionDef(void *context, const char *bytes, size_t size, void *status);
extern void *TFE_NewOp(void *context, const char *name, void *status);
extern void TFE_OpSetDevice(void *op, const char *device, void *status);
extern void TFE_Execute(void *op, void **results, int *count, void *status);

int main(void)
{
  // A FunctionDef with only a signature, which has only a name.
  static const char name[] = "__inference_ff_1", definition[] = "\x0a\x12\x0a\x10__inference_ff_1";
  void *status = TF_NewStatus(), *context = TFE_NewContext(TFE_NewContextOptions(), status);
  TFE_ContextAddFunctionDef(context, definition, sizeof definition - 1, status);
  printf("%d\n", TF_GetCode(status));
  void *op = TFE_NewOp(context, name, status);
  TFE_OpSetDevice(op, "/job:localhost/replica:0/task:0/device:GPU:7", status);
  printf("%d\n", TF_GetCode(status));
  void *results[4];
  memset(results, 0x41, sizeof results);
  int count = 4;
  TFE_Execute(op, results, &count, status);
  printf("%d\n", TF_GetCode(status));
  return 0;
}
