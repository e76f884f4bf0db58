// SPDX-License-Identifier: Apache-2.0
// A function whose arguments fill the registers for integers and go on on the stack: as a library, and with
// DESCRIBED_GUEST the program that calls it.
#include <stdint.h>
#include <stdio.h>

#define PARAMETERS                                                                                                     \
  int a, double b, const char *c, long d, float e, unsigned f, void *g, uint64_t h, long i, int j, double k, long l
__attribute__((visibility("default"))) double described(PARAMETERS);
__attribute__((visibility("default"))) float half(float value);

#ifndef DESCRIBED_GUEST
double described(PARAMETERS)
{
  return a + b + (c != NULL) + (double)d + (double)e + f + (g != NULL) + (double)h + (double)i + j + k + (double)l;
}

float half(float value)
{
  return value / 2;
}
#else
int main(void)
{
  printf("%g\n", described(-1, 0.5, "say \"x\"", INT64_MIN, -2.25F, 4294967295U, (void *)16, 7, -8, -9, 1e300, -10));
  printf("%g\n", described(1, 2, NULL, 3, 4, 5, NULL, 6, 7, 8, 9, 10));
  printf("%g\n", described(1, 2, (const char *)8, 3, 4, 5, NULL, 6, 7, 8, 9, 10)); // no address of a text
  printf("%g\n", (double)half(3));
  return 0;
}
#endif
