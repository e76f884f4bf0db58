// SPDX-License-Identifier: Apache-2.0
// Loads a model and makes predictions, each with work before and after it. The spans' categories identify the stages:
// `xsp run -o stages.xsp -- build/examples/stages 20`, then `xsp analyze A1 stages.xsp` (docs/analyses.md).
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <xsp/span.h>

#define WIDTH 256

XSP_SITE_FULL(load_site, XSP_LEVEL_APPLICATION, "load weights", "load", "example");
XSP_SITE_FULL(before_site, XSP_LEVEL_APPLICATION, "normalise", "preprocess", "example");
XSP_SITE_FULL(model_site, XSP_LEVEL_MODEL, "perceptron", NULL, "example");
XSP_SITE_FULL(after_site, XSP_LEVEL_APPLICATION, "find best", "postprocess", "example");

static float weights[WIDTH][WIDTH], pixels[WIDTH], scores[WIDTH];

static void load(void)
{
  struct xsp_span span = xsp_span_start(&load_site);
  for (int row = 0; row < WIDTH; row++)
    for (int column = 0; column < WIDTH; column++)
      weights[row][column] = sinf((float)(row * WIDTH + column));
  xsp_span_finish(&span);
}

static void normalise(int seed)
{
  struct xsp_span span = xsp_span_start(&before_site);
  for (int i = 0; i < WIDTH; i++)
    pixels[i] = (float)((i * 7 + seed) % 256) / 127.5F - 1;
  xsp_span_finish(&span);
}

static void predict(void)
{
  struct xsp_span span = xsp_span_start(&model_site);
  xsp_span_tag_int(&span, "batch_size", 1);
  for (int row = 0; row < WIDTH; row++) {
    scores[row] = 0;
    for (int column = 0; column < WIDTH; column++)
      scores[row] += weights[row][column] * pixels[column];
  }
  xsp_span_finish(&span);
}

static int find_best(void)
{
  struct xsp_span span = xsp_span_start(&after_site);
  int best = 0;
  for (int i = 1; i < WIDTH; i++)
    best = scores[i] > scores[best] ? i : best;
  xsp_span_finish(&span);
  return best;
}

int main(int count, char **values)
{
  int predictions = count > 1 ? atoi(values[1]) : 10, sum = 0;
  load();
  for (int i = 0; i < predictions; i++) {
    normalise(i);
    predict();
    sum += find_best();
  }
  printf("%d\n", sum);
  return 0;
}
