// SPDX-License-Identifier: Apache-2.0
// Smooths a row of numbers ten times. It does not use xsp; see traced.c.
#include <stdio.h>

static double row[1 << 16];

static void smooth(void)
{
  for (int i = 1; i + 1 < 1 << 16; i++)
    row[i] = (row[i - 1] + row[i] + row[i + 1]) / 3;
}

int main(void)
{
  row[1 << 15] = 1;
  for (int step = 0; step < 10; step++)
    smooth();
  printf("%.6f\n", row[1 << 15]);
  return 0;
}
