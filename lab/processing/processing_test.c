// SPDX-License-Identifier: Apache-2.0
// The highest scores, and parameters of pictures as text. The steps themselves: tests/processing/test_images.py.
#include "processing/processing.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

static void test_ranking(void **state)
{
  const float scores[] = {0.5f, 0.75f, NAN, 0.75f, -1, INFINITY, -INFINITY};
  struct ranked top[7];
  (void)state;
  assert_int_equal(ranking_top(scores, 7, 3, top), 3);
  assert_int_equal(top[0].place, 5);
  assert_int_equal(top[1].place, 1); // of equals the first
  assert_int_equal(top[2].place, 3);
  assert_int_equal(ranking_top(scores, 7, 7, top), 7);
  assert_int_equal(top[4].place, 4);
  assert_int_equal(top[5].place, 2); // NaN is no better than the worst
  assert_int_equal(ranking_top(scores, 2, 5, top), 2);
  assert_int_equal(ranking_top(scores, 0, 5, top), 0);
}

static bool is_kept(struct picture picture)
{
  struct picture found;
  struct buf text = {0};
  picture_format(&picture, &text);
  bool is_read = picture_parse(text.data, &found);
  buf_done(&text);
  return is_read && found.color == picture.color && found.filter == picture.filter && found.width == picture.width &&
         found.height == picture.height && found.resize_width == picture.resize_width &&
         found.resize_height == picture.resize_height && found.shorter_side == picture.shorter_side &&
         found.is_letterbox == picture.is_letterbox && found.pad == picture.pad &&
         found.tensor.channels_last == picture.tensor.channels_last &&
         memcmp(found.tensor.mean, picture.tensor.mean, sizeof found.tensor.mean) == 0 &&
         memcmp(found.tensor.scale, picture.tensor.scale, sizeof found.tensor.scale) == 0;
}

static void test_text(void **state)
{
  struct picture picture = {.color = IMAGE_BGR,
                            .filter = IMAGE_LANCZOS,
                            .width = 227,
                            .height = 299,
                            .shorter_side = 256,
                            .tensor = {true, {103.53f, -0.1f, 1e-30f}, {57.375f, 0.3f, 3e30f}}};
  (void)state;
  assert_true(is_kept(picture));
  picture.resize_width = picture.resize_height = 300;
  assert_true(is_kept(picture));
  picture.tensor.scale[1] = 0;
  assert_false(is_kept(picture));
  picture.tensor.scale[1] = 1;
  picture.width = 70000;
  assert_false(is_kept(picture));
  assert_false(picture_parse("", &picture));
  assert_false(picture_parse("7 0 8 8 0 0 0 0 0 1 0 1 0 1", &picture));
}

static bool is_form(const char *text)
{
  char copy[256];
  struct output_form form;
  snprintf(copy, sizeof copy, "%s", text);
  return output_form_parse(copy, &form);
}

// Good ones are written and read back in tests/processing/test_output_steps.py.
static void test_forms_of_outputs(void **state)
{
  (void)state;
  assert_true(is_form("tensor"));
  assert_true(is_form("feature"));
  assert_true(is_form("boxes 0 0 0 0.5 -1 100 0 02 0 0\n\n"));
  assert_true(is_form("boxes 3 1 1 0 0.5 100 1 - 2 1\nab\nc"));
  static const char *const bad[] = {"",
                                    "box",
                                    "feature 1",
                                    "boxes",
                                    "boxes 4 0 0 0.5 -1 100 0 02 0 0\n\n",
                                    "boxes 0 0 0 nan -1 100 0 02 0 0\n\n",
                                    "boxes 0 0 0 0.5 -1 1001 0 02 0 0\n\n",
                                    "boxes 0 0 0 0.5 -1 100 0 00 0 0\n\n",
                                    "boxes 0 0 0 0.5 -1 100 0 023 0 0\n\n",
                                    "boxes 0 0 0 0.5 -1 100 0 06 0 0\n\n",
                                    "boxes 0 0 0 0.5 -1 100 0 - 0 0\n\n",
                                    "boxes 0 0 0 0.5 -1 100 0 02 1 0\na\n",
                                    "boxes 0 0 0 0.5 -1 100 0 - 9 0\nab\n",
                                    "boxes 0 0 0 0.5 -1 100 0 - 2 0\nab",
                                    "mask 1 inf 0 0",
                                    "mask 1 0.5 0 256",
                                    "text 1 0"};
  for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++)
    assert_false(is_form(bad[i]));
}

static void test_a_thin_picture_does_not_become_too_large(void **state)
{
  const struct picture picture = {.shorter_side = 4096, .filter = IMAGE_BOX};
  struct image image = {60000, 1, 1, calloc(60000, 1)};
  struct error err;
  (void)state;
  assert_int_equal(picture_resize(&picture, &image, "thin.png", &err), STATUS_INPUT);
  assert_string_equal(err.where, "thin.png");
  image_done(&image);
}

int main(void)
{
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_ranking),
      cmocka_unit_test(test_text),
      cmocka_unit_test(test_forms_of_outputs),
      cmocka_unit_test(test_a_thin_picture_does_not_become_too_large),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
