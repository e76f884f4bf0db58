// SPDX-License-Identifier: Apache-2.0
// Evaluates what its arguments say through libxsp_evaluate, in two threads at once, and prints the tables of one. For
// tests/evaluate/test_evaluate_interfaces.py.
#include <xsp/evaluate.h>

#include <pthread.h>
#include <stdint.h>
#include <stdio.h>

static void *evaluate(void *arguments)
{
  char *json = NULL;
  int status = xsp_evaluate(arguments, &json);
  if (status != XSP_EVALUATE_OK)
    fprintf(stderr, "%s\n", xsp_evaluate_error());
  else
    printf("%s", json);
  xsp_evaluate_free(json);
  return (void *)(intptr_t)status;
}

int main(int count, char **arguments)
{
  static const char *const none[] = {"missing.yml", "--data", "missing", NULL};
  pthread_t other;
  void *status = NULL;
  char *json = (char *)"";
  if (pthread_create(&other, NULL, evaluate, arguments + 1) != 0)
    return 3;
  int missing = xsp_evaluate(none, &json);
  pthread_join(other, &status);
  return missing == XSP_EVALUATE_INPUT && json == NULL ? (int)(intptr_t)status : 4;
}
