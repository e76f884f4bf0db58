// SPDX-License-Identifier: Apache-2.0
// A hand-made catalog: every id that does not name a complete entry of the right type inside the file is refused.
#include "collect/catalog_read.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

static _Alignas(64) uint8_t bytes[512];
static struct catalog_view view;
static struct catalog_string *string;
static struct catalog_site *site;
static uint32_t string_id, site_id;

static int make(void **state)
{
  memset(bytes, 0, sizeof bytes);
  struct catalog_head *head = (void *)bytes;
  *head = (struct catalog_head){CATALOG_MAGIC, SESSION_VERSION, sizeof *head, sizeof bytes, sizeof bytes};
  view = (struct catalog_view){bytes, sizeof bytes};
  string_id = 64 / 8;
  string = (void *)(bytes + 64);
  *string = (struct catalog_string){{32, CATALOG_STRING}, 5, 0};
  memcpy(string->text, "hello", 6);
  site_id = (512 - sizeof(struct catalog_site)) / 8; // the last bytes of the file
  site = (void *)(bytes + site_id * 8);
  *site = (struct catalog_site){{sizeof *site, CATALOG_SITE}, 2, 1, string_id, 0, 0, 0, 0, 0};
  return 0;
}

static void test_reads(void **state)
{
  const char *text;
  uint32_t length;
  struct catalog_site got;
  assert_null(catalog_read_check(&view));
  assert_true(catalog_read_string(&view, string_id, &text, &length));
  assert_int_equal(length, 5);
  assert_memory_equal(text, "hello", 5);
  assert_true(catalog_read_site(&view, site_id, &got));
  assert_int_equal(got.name, string_id);
}

static void test_refuses(void **state)
{
  const char *text;
  uint32_t length;
  struct catalog_site got;
  struct catalog_track track;
  assert_false(catalog_read_string(&view, 0, &text, &length));
  assert_false(catalog_read_string(&view, 1, &text, &length)); // inside the head
  assert_false(catalog_read_string(&view, UINT32_MAX, &text, &length));
  assert_false(catalog_read_string(&view, 512 / 8, &text, &length));
  assert_false(catalog_read_string(&view, 504 / 8, &text, &length)); // begins inside, would end outside
  assert_false(catalog_read_string(&view, site_id, &text, &length)); // another type
  assert_false(catalog_read_track(&view, site_id, &track));
  string->length = 17; // longer than the entry
  assert_false(catalog_read_string(&view, string_id, &text, &length));
  string->length = UINT32_MAX;
  assert_false(catalog_read_string(&view, string_id, &text, &length));
  string->length = 16;
  assert_true(catalog_read_string(&view, string_id, &text, &length));
  string->entry.size = 33;
  assert_false(catalog_read_string(&view, string_id, &text, &length));
  string->entry.size = 1024; // longer than the file
  assert_false(catalog_read_string(&view, string_id, &text, &length));
  string->entry.size = 0; // not complete
  assert_false(catalog_read_string(&view, string_id, &text, &length));
  site->level = XSP_LEVEL_COUNT;
  assert_false(catalog_read_site(&view, site_id, &got));
  site->level = 2;
  view.size -= 8;
  assert_false(catalog_read_site(&view, site_id, &got));
}

static void test_heads(void **state)
{
  struct catalog_head *head = (void *)bytes;
  view.size = sizeof *head - 1;
  assert_non_null(catalog_read_check(&view));
  view.size = 512;
  head->head_size = 513;
  assert_non_null(catalog_read_check(&view));
  head->head_size = sizeof *head;
  head->version = 9;
  assert_non_null(catalog_read_check(&view));
  head->version = SESSION_VERSION;
  head->magic = 0;
  assert_non_null(catalog_read_check(&view));
}

static void test_frames_and_paths(void **state)
{
  struct catalog_frame *frame = (void *)(bytes + 128), got_frame;
  struct catalog_path *path = (void *)(bytes + 192), got_path;
  *frame = (struct catalog_frame){.entry = {sizeof *frame, CATALOG_FRAME}, .kind = XSP_FRAME_DEVICE, .name = string_id};
  *path = (struct catalog_path){.entry = {sizeof *path, CATALOG_PATH}, .frame = 128 / 8, .depth = 1};
  assert_true(catalog_read_frame(&view, 128 / 8, &got_frame));
  assert_int_equal(got_frame.name, string_id);
  assert_true(catalog_read_path(&view, 192 / 8, &got_path));
  assert_int_equal(got_path.frame, 128 / 8);
  assert_false(catalog_read_frame(&view, 192 / 8, &got_frame)); // another type
  assert_false(catalog_read_path(&view, 128 / 8, &got_path));
  path->caller = 192 / 8 - 1;
  assert_true(catalog_read_path(&view, 192 / 8, &got_path)); // what is there is looked at when it is read
  path->caller = 192 / 8;
  assert_false(catalog_read_path(&view, 192 / 8, &got_path)); // its own caller
  path->caller = UINT32_MAX;
  assert_false(catalog_read_path(&view, 192 / 8, &got_path));
  frame->kind = XSP_FRAME_KINDS;
  assert_false(catalog_read_frame(&view, 128 / 8, &got_frame));
}

int main(void)
{
  const struct CMUnitTest tests[] = {
      cmocka_unit_test_setup(test_reads, make),
      cmocka_unit_test_setup(test_refuses, make),
      cmocka_unit_test_setup(test_heads, make),
      cmocka_unit_test_setup(test_frames_and_paths, make),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
