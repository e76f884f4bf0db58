// SPDX-License-Identifier: Apache-2.0
// OTLP files cut at every byte, and with a byte changed anywhere: refused with one clear reason, or read; never more than that.
// What they mean when they are whole is tests/otlp/test_otlp.py.
#include "importers/importer.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

static const char json[] =
    "{\"resourceSpans\":[{\"resource\":{\"attributes\":[{\"key\":\"xsp.run\",\"value\":{\"intValue\":\"1\"}}]},"
    "\"scopeSpans\":[{\"scope\":{\"name\":\"test\"},\"spans\":[{\"traceId\":\"0102030405060708090a0b0c0d0e0f10\","
    "\"spanId\":\"0000000000000001\",\"name\":\"a\\u00e9\\\\\\\"\",\"kind\":1,\"startTimeUnixNano\":"
    "\"1700000000000000000\",\"endTimeUnixNano\":\"1700000000000000010\",\"attributes\":[{\"key\":\"list\",\"value\":"
    "{\"arrayValue\":{\"values\":[{\"intValue\":\"1\"},{\"kvlistValue\":{\"values\":[{\"key\":\"a\",\"value\":"
    "{\"boolValue\":true}}]}}]}}}],\"events\":[{\"timeUnixNano\":\"1700000000000000001\",\"name\":\"e\"}]}]}]}]}";

// The same, with one item in the list.
static const char proto[] =
    "\x0a\x7f\x0a\x0f\x0a\x0d\x0a\x07xsp."
    "run\x12\x02\x18\x01\x12\x6c\x0a\x06\x0a\x04test\x12\x62\x0a\x10\x01\x02\x03\x04"
    "\x05\x06\x07\x08\x09\x0a\x0b\x0c\x0d\x0e\x0f\x10\x12\x08\0\0\0\0\0\0\0\x01\x2a\x01\x61\x30\x01\x39\0\0\x2a\x36\xfe"
    "\x9c\x97\x17\x41\x0a\0\x2a\x36\xfe\x9c\x97\x17\x4a\x0f\x0a\x09thread."
    "id\x12\x02\x18\x01\x4a\x0e\x0a\x04list\x12\x06"
    "\x2a\x04\x0a\x02\x18\x01\x5a\x0c\x09\x01\0\x2a\x36\xfe\x9c\x97\x17\x12\x01\x65";

static char folder[] = "/tmp/xsp-otlp-test-XXXXXX";
static char source[64], target[64];

static int make_folder(void **state)
{
  (void)state;
  if (mkdtemp(folder) == NULL)
    return -1;
  snprintf(source, sizeof source, "%s/in", folder);
  snprintf(target, sizeof target, "%s/out.xsp", folder);
  return 0;
}

static int remove_folder(void **state)
{
  (void)state;
  unlink(source);
  return rmdir(folder); // fails where a test left something after
}

// STATUS_OK or STATUS_INPUT with a place and a reason; *ret_kept: the spans.
static enum status import_bytes(const char *bytes, size_t length, const char *format, uint64_t *ret_kept)
{
  struct error err = {0};
  struct arena arena = {0};
  struct store *store = NULL;
  struct import_file *files = NULL;
  const struct import_options options = {.format = format, .threads = 1};
  const char *paths[] = {source};
  FILE *file = fopen(source, "wb");
  assert_non_null(file);
  assert_int_equal(fwrite(bytes, 1, length, file), length);
  assert_int_equal(fclose(file), 0);
  assert_int_equal(store_create(target, true, &store, &err), STATUS_OK);
  enum status status = import_files(paths, 1, &options, store, &arena, &files, &err);
  *ret_kept = status == STATUS_OK ? files[0].kept : 0;
  if (status != STATUS_OK) {
    assert_int_equal(status, STATUS_INPUT);
    assert_int_equal(err.status, STATUS_INPUT);
    assert_non_null(strstr(err.where, source));
    assert_true(strlen(err.why) > 5);
  } else {
    assert_int_equal(files[0].events, files[0].kept + (files[0].skipped_count > 0 ? files[0].skipped[0].count : 0));
  }
  store_discard(store);
  arena_done(&arena);
  return status;
}

static void cut_anywhere(const char *whole, size_t length, const char *format)
{
  uint64_t kept;
  assert_int_equal(import_bytes(whole, length, format, &kept), STATUS_OK);
  assert_int_equal(kept, 1);
  for (size_t cut = 1; cut < length; cut++)
    assert_int_equal(import_bytes(whole, cut, format, &kept), STATUS_INPUT);
}

static void json_cut_anywhere(void **state)
{
  (void)state;
  cut_anywhere(json, sizeof json - 1, "otlp");
}

static void proto_cut_anywhere(void **state)
{
  (void)state;
  cut_anywhere(proto, sizeof proto - 1, "otlp-proto");
}

// Any status but a failure of the program is an answer.
static void change_anywhere(const char *whole, size_t length, const char *format)
{
  static const unsigned char changes[] = {0x00, 0xff, 0x80, '"', '{', ']'};
  char *changed = malloc(length);
  uint64_t kept;
  size_t refused = 0;
  assert_non_null(changed);
  for (size_t at = 0; at < length; at += 3) {
    memcpy(changed, whole, length);
    changed[at] = (char)changes[at / 3 % sizeof changes];
    refused += import_bytes(changed, length, format, &kept) == STATUS_INPUT;
  }
  assert_true(refused > length / 12);
  free(changed);
}

static void json_changed_anywhere(void **state)
{
  (void)state;
  change_anywhere(json, sizeof json - 1, "otlp");
}

static void proto_changed_anywhere(void **state)
{
  (void)state;
  change_anywhere(proto, sizeof proto - 1, "otlp-proto");
}

// However the file's head is cut, it is never taken for the other format.
static void heads_are_told_apart(void **state)
{
  (void)state;
  static char window[4096]; // zeros after the head, as after a window
  for (size_t length = 1; length < sizeof json; length++) {
    memset(window, 0, sizeof window);
    memcpy(window, json, length);
    assert_int_equal(importer_otlp.recognize((struct slice){window, length}, true),
                     length >= strlen("{\"resourceSpans\":") ? 3 : 0);
    assert_int_equal(importer_otlp_proto.recognize((struct slice){window, length}, true), 0);
  }
  for (size_t length = 1; length < sizeof proto; length++) {
    memset(window, 0, sizeof window);
    memcpy(window, proto, length);
    assert_int_equal(importer_otlp.recognize((struct slice){window, length}, true), 0);
    int claim = importer_otlp_proto.recognize((struct slice){window, length}, true);
    assert_int_equal(claim, length < 10 ? 0 : length < 49 ? 2 : 3); // the trace id ends at byte 49
  }
}

int main(void)
{
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(json_cut_anywhere),     cmocka_unit_test(proto_cut_anywhere),
      cmocka_unit_test(json_changed_anywhere), cmocka_unit_test(proto_changed_anywhere),
      cmocka_unit_test(heads_are_told_apart),
  };
  return cmocka_run_group_tests(tests, make_folder, remove_folder);
}
