// SPDX-License-Identifier: Apache-2.0
// Outputs of models read by processing/, for tests: process_output FORM FILE ROWS COLUMNS BATCH [WIDTH HEIGHT …]
//   FORM as output_form_format has it. FILE: float32 values, of each item of the batch ROWS x COLUMNS (boxes, text) or, of a mask,
//   COLUMNS channels of pixels, ROWS of them.
//   boxes  FORM FILE ROWS COLUMNS BATCH WIDTH HEIGHT RESIZED_WIDTH RESIZED_HEIGHT LEFT TOP INPUT_WIDTH INPUT_HEIGHT: a line for each box
//   mask   FORM FILE HEIGHT CHANNELS BATCH WIDTH: the classes as bytes
//   text   FORM FILE STEPS CLASSES BATCH: the tokens, a line for each item
#include "processing/processing.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static char **arguments;

static unsigned number(int place)
{
  return (unsigned)strtol(arguments[place], NULL, 10);
}

static void put_boxes(const struct boxes_form *form, const float *values, size_t batch)
{
  size_t rows = number(3), columns = number(4);
  const struct picture_place place = {
      number(6), number(7), number(8), number(9), strtol(arguments[10], NULL, 10), strtol(arguments[11], NULL, 10)};
  for (size_t item = 0; item < batch; item++) {
    struct boxes boxes = {0};
    struct boxes_source source;
    if (!boxes_source_of_one(form, values + item * rows * columns, rows, columns, &source))
      exit(3);
    boxes_decode(form, &source, item, number(12), number(13), &boxes);
    boxes_suppress(form, &boxes);
    boxes_place(&place, &boxes);
    for (size_t i = 0; i < boxes.list.count; i++) {
      const struct box *box = &boxes.list.items[i];
      printf("%zu %zu %.9g %.9g %.9g %.9g %.9g\n", item, box->place, (double)box->score, (double)box->left,
             (double)box->top, (double)box->right, (double)box->bottom);
    }
    boxes_done(&boxes);
  }
}

static void put_mask(const struct mask_form *form, const float *values)
{
  struct mask mask;
  if (!mask_decode(form, values, number(4), number(6), number(3), &mask))
    exit(3);
  fwrite(mask.classes, 1, (size_t)mask.width * mask.height, stdout);
  mask_done(&mask);
}

static void put_text(const struct text_form *form, const float *values, size_t batch)
{
  size_t steps = number(3), classes = number(4), *tokens = calloc(steps + 1, sizeof *tokens);
  for (size_t item = 0; item < batch; item++) {
    text_best(values + item * steps * classes, steps, classes, tokens);
    size_t count = text_decode(form, tokens, steps);
    for (size_t i = 0; i < count; i++)
      printf("%zu ", tokens[i]);
    printf("\n");
  }
  free(tokens);
}

int main(int count, char **values)
{
  struct output_form form;
  struct buf text = {0};
  arguments = values;
  if (count < 6 || !output_form_parse(values[1], &form))
    return 2;
  output_form_format(&form, &text); // what is written can be read
  struct output_form again;
  if (!output_form_parse(text.data, &again))
    return 2;
  FILE *file = fopen(values[2], "rb");
  size_t batch = number(5);
  float *numbers = calloc((size_t)1 << 22, sizeof *numbers);
  size_t got = file != NULL ? fread(numbers, sizeof *numbers, (size_t)1 << 22, file) : 0;
  if (got == 0 && number(3) != 0)
    return 2;
  if (again.kind == OUTPUT_BOXES)
    put_boxes(&again.boxes, numbers, batch);
  else if (again.kind == OUTPUT_MASK)
    put_mask(&again.mask, numbers);
  else
    put_text(&again.text, numbers, batch);
  if (file != NULL)
    fclose(file);
  free(numbers);
  buf_done(&text);
  return 0;
}
