// SPDX-License-Identifier: Apache-2.0
// The Kineto importer on files that are cut, stretched or full of what nobody expects: always one clear error or a sound
// store, in bounded time. What it makes of sound files: tests/importers/test_import_kineto.py.
#include "importers/importer.h"

#include <inttypes.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/buf.h"
#include "tests/support/expect.h"

static char folder[] = "/tmp/xsp-kineto-test-XXXXXX";
static char path[64], input_path[64];

static int make_folder(void **state)
{
  (void)state;
  if (mkdtemp(folder) == NULL)
    return -1;
  snprintf(path, sizeof path, "%s/out.xsp", folder);
  snprintf(input_path, sizeof input_path, "%s/in.json", folder);
  return 0;
}

static int remove_folder(void **state)
{
  (void)state;
  unlink(input_path);
  return rmdir(folder); // fails where a test left something after
}

static void write_input(const char *text, size_t length)
{
  FILE *file = fopen(input_path, "wb");
  assert_non_null(file);
  assert_int_equal(fwrite(text, 1, length, file), length);
  assert_int_equal(fclose(file), 0);
}

static enum status keep_integer(void *context, const struct store_cell *cells, size_t count, struct error *err)
{
  (void)err;
  assert_int_equal(count, 1);
  *(int64_t *)context = cells[0].integer;
  return STATUS_OK;
}

struct result {
  enum status status;
  struct error error;
  uint64_t events, kept, skipped;
  int64_t answer; // to the question asked
};

// Imports what write_input wrote and asks the store a question.
static struct result import_with(unsigned threads, const char *question)
{
  const struct import_options options = {.format = "kineto", .threads = threads};
  const char *const paths[] = {input_path};
  struct result result = {.answer = -1};
  struct arena arena = {0};
  struct import_file *files = NULL;
  struct store *store;
  OK(store_create(path, true, &store, err));
  result.status = import_files(paths, 1, &options, store, &arena, &files, &result.error);
  if (result.status == STATUS_OK) {
    result.events = files[0].events;
    result.kept = files[0].kept;
    for (size_t i = 0; i < files[0].skipped_count; i++)
      result.skipped += files[0].skipped[i].count;
    struct store_query_sink sink = {.context = &result.answer, .row = keep_integer};
    if (question != NULL)
      OK(store_query(store, question, &sink, err));
  }
  store_discard(store);
  arena_done(&arena);
  return result;
}

static struct result import(const char *question)
{
  return import_with(1, question);
}

static struct result import_text_file(const char *text, const char *question)
{
  write_input(text, strlen(text));
  return import(question);
}

// ---- cut ---------------------------------------------------------------------------------------------------------------
static const char sample[] =
    "{\"schemaVersion\": 1, \"deviceProperties\": [{\"id\": 0, \"name\": \"GPU\", \"numSms\": 80}],\n"
    "\"traceEvents\": [\n"
    "{\"ph\": \"M\", \"name\": \"thread_name\", \"pid\": 9, \"tid\": 9, \"args\": {\"name\": \"main\"}},\n"
    "{\"ph\": \"X\", \"cat\": \"python_function\", \"name\": \"a.py(1): \\u00e4\", \"pid\": 9, \"tid\": 9, \"ts\": 0.5,"
    " \"dur\": 90, \"args\": {}},\n"
    "{\"ph\": \"X\", \"cat\": \"cpu_op\", \"name\": \"aten::mm\", \"pid\": 9, \"tid\": 9, \"ts\": 10.001, \"dur\": 10,"
    " \"args\": {\"External id\": 3, \"Input Dims\": [[2, 3], []], \"Call stack\": \"a;b\", \"t\": true}},\n"
    "{\"ph\": \"X\", \"cat\": \"cuda_runtime\", \"name\": \"cudaLaunchKernel\", \"pid\": 9, \"tid\": 9, \"ts\": 11,"
    " \"dur\": 5, \"args\": {\"correlation\": 35}},\n"
    "{\"ph\": \"X\", \"cat\": \"kernel\", \"name\": \"gemm\", \"pid\": 0, \"tid\": 7, \"ts\": 45, \"dur\": 1.76e0,"
    " \"args\": {\"stream\": 7, \"correlation\": 35, \"n\": null, \"x\": -1.5e-3}}\n"
    "], \"distributedInfo\": {\"rank\": 1, \"world_size\": 2}, \"baseTimeNanoseconds\": 1735632360000000000}";

static void test_cut_at_every_byte(void **state)
{
  (void)state;
  for (size_t length = 0; length < sizeof sample - 1; length++) {
    write_input(sample, length);
    struct result result = import(NULL);
    assert_int_equal(result.status, STATUS_INPUT);
    assert_non_null(strstr(result.error.where, input_path));
    assert_true(result.error.why[0] != 0);
  }
  write_input(sample, sizeof sample - 1);
  struct result result = import("select start_ns from span where name = 'aten::mm'");
  assert_int_equal(result.status, STATUS_OK);
  assert_int_equal(result.events, 5);
  assert_int_equal(result.kept, 3);
  assert_int_equal(result.skipped, 2);
  assert_int_equal(result.answer, INT64_C(1735632360000010001));
}

// Every third byte replaced by another: an error or a store, never anything else.
static void test_bytes_changed(void **state)
{
  (void)state;
  static const char others[] = {'"', '{', ']', '9', '\\', (char)0xff, 0};
  char text[sizeof sample];
  unsigned refused = 0, taken = 0;
  for (size_t at = 0; at < sizeof sample - 1; at += 3) {
    memcpy(text, sample, sizeof sample);
    text[at] = others[at % sizeof others];
    write_input(text, sizeof sample - 1);
    struct result result = import(NULL);
    assert_true(result.status == STATUS_OK || result.status == STATUS_INPUT);
    refused += result.status == STATUS_INPUT;
    taken += result.status == STATUS_OK;
    if (result.status == STATUS_OK)
      assert_int_equal(result.events, result.kept + result.skipped);
  }
  assert_true(refused > 50 && taken > 50);
}

// ---- much --------------------------------------------------------------------------------------------------------------
static void test_deep_nesting_is_refused(void **state)
{
  (void)state;
  enum { DEPTH = 1000000 };
  static const char head[] =
      "{\"traceEvents\": [{\"ph\": \"X\", \"cat\": \"cpu_op\", \"ts\": 1, \"dur\": 1, \"args\": {\"a\": ";
  struct buf text;
  buf_init(&text, BUF_MAXIMUM_DEFAULT);
  buf_text(&text, head);
  for (int i = 0; i < DEPTH; i++)
    buf_text(&text, i % 2 ? "[" : "{\"a\":");
  assert_false(text.failed);
  write_input(text.data, text.length);
  struct result result = import(NULL);
  assert_int_equal(result.status, STATUS_INPUT);
  assert_non_null(strstr(result.error.where, "byte"));
  buf_done(&text);
}

// Files whose every event brings a thread, a stream, a name, a key and a category of its own.
static void test_nothing_repeats(void **state)
{
  (void)state;
  enum { EVENTS = 60000 };
  struct buf text;
  buf_init(&text, BUF_MAXIMUM_DEFAULT);
  buf_text(&text, "{\"traceEvents\": [");
  for (int i = 0; i < EVENTS; i++) {
    static const char *const categories[] = {"cpu_op", "kernel", "python_function", "own"};
    buf_format(
        &text,
        "%s{\"ph\": \"%c\", \"cat\": \"%s%.*d\", \"name\": \"thread_name\", \"pid\": \"p%d\", \"tid\": %d, \"ts\": %d,"
        " \"dur\": 3, \"args\": {\"name\": \"%d\", \"stream\": %d, \"key %d\": %d}}",
        i > 0 ? "," : "", i % 5 == 4 ? 'M' : 'X', categories[i % 4], i % 4 == 3 ? 6 : 0, i % 4 == 3 ? i : 0, i, i, i, i,
        i, i, i);
  }
  buf_text(&text, "]}");
  assert_false(text.failed);
  write_input(text.data, text.length);
  struct result result = import("select count(*) from track");
  assert_int_equal(result.status, STATUS_OK);
  assert_int_equal(result.events, EVENTS);
  assert_int_equal(result.kept, EVENTS * 4 / 5 * 3 / 4);
  assert_int_equal(result.skipped, EVENTS - result.kept);
  assert_int_equal(result.answer, result.kept);
  buf_done(&text);
}

// Texts that are looked up later than their tags are made come to the right tags, whatever is looked up between and
// wherever a batch of rows ends. Values stay
// for `steady` events, names for 256 times as many.
static void check_values(int keys, int steady)
{
  enum { EVENTS = 30000 };
  struct buf text;
  buf_init(&text, BUF_MAXIMUM_DEFAULT);
  buf_text(&text, "{\"traceEvents\": [");
  for (int i = 0; i < EVENTS; i++) {
    buf_format(&text, "%s{\"ph\":\"X\",\"cat\":\"kernel\",\"name\":\"n%d\",\"ts\":%d,\"dur\":1,\"args\":{",
               i > 0 ? "," : "", i / (steady * 256), i);
    for (int key = 0; key < keys; key++)
      buf_format(&text, "%s\"%d\":[%d, \"%0*d\"]", key > 0 ? "," : "", key, key, key == 5 ? 150 : 1, i / steady);
    buf_text(&text, "}}");
  }
  buf_text(&text, "]}");
  assert_false(text.failed);
  write_input(text.data, text.length);
  buf_done(&text);
  char question[512];
  snprintf(question, sizeof question,
           "select (select count(*) from span where name = 'n' || ((span_id - 1) / %d)) + (select count(*) from tag"
           " where value = '[' || key || printf(',\"%%0*d\"]', iif(key = '5', 150, 1), (span_id - 1) / %d))",
           steady * 256, steady);
  for (unsigned threads = 1; threads <= 2; threads++) {
    struct result result = import_with(threads, question);
    assert_int_equal(result.status, STATUS_OK);
    assert_int_equal(result.answer, (keys + 1) * EVENTS);
  }
}

static void test_values_that_hardly_repeat(void **state)
{
  (void)state;
  for (int keys = 0; keys < 4; keys++)
    check_values(keys, 4); // a batch is full of spans first, which is when a new name comes
  check_values(6, 1);
}

// Many frames within each other and a span in every one: paths stay within their bounds.
static void test_frames_within_frames(void **state)
{
  (void)state;
  enum { FRAMES = 20000 };
  struct buf text;
  buf_init(&text, BUF_MAXIMUM_DEFAULT);
  buf_text(&text, "{\"traceEvents\": [");
  for (int i = 0; i < FRAMES; i++)
    buf_format(&text,
               "%s{\"ph\":\"X\",\"cat\":\"python_function\",\"name\":\"f%d\",\"pid\":1,\"tid\":1,\"ts\":%d,\"dur\":%d},"
               "{\"ph\":\"X\",\"cat\":\"cpu_op\",\"name\":\"op\",\"pid\":1,\"tid\":1,\"ts\":%d,\"dur\":0.5}",
               i > 0 ? "," : "", i, i, 2 * (FRAMES - i), i);
  buf_text(&text, "]}");
  write_input(text.data, text.length);
  struct result result = import("select count(*) from span join context using (context_id)");
  assert_int_equal(result.status, STATUS_OK);
  assert_int_equal(result.answer, XSP_CALL_PATH_FRAMES - 1); // each in one frame more; the last frame is the operator
  buf_done(&text);
}

// ---- odd ---------------------------------------------------------------------------------------------------------------
static const char *const odd[] = {
    "null",  "true",     "[]",  "{}", "\"\"",        "-1",         "1e400", "99999999999999999999",
    "\"x\"", "[[[[]]]]", "0.1", "-0", "\"\\u0000\"", "\"\\ud800\""};
#define ODD ((int)(sizeof odd / sizeof odd[0]))

// A file with an event for each odd value of a field.
static void test_hostile_fields(void **state)
{
  (void)state;
  static const char *const fields[] = {"pid", "tid", "name", "cat", "ph", "args", "id"};
  char text[4096];
  for (size_t i = 0; i < sizeof fields / sizeof fields[0]; i++) {
    int length = snprintf(text, sizeof text, "[{\"ph\":\"X\",\"cat\":\"kernel\",\"name\":\"k\",\"ts\":1,\"dur\":2}");
    for (int j = 0; j < ODD; j++)
      length +=
          snprintf(text + length, sizeof text - (size_t)length,
                   ",{\"ph\":\"X\",\"cat\":\"kernel\",\"name\":\"k\",\"ts\":1,\"dur\":2,\"%s\":%s}", fields[i], odd[j]);
    snprintf(text + length, sizeof text - (size_t)length, "]");
    struct result result = import_text_file(text, "select count(*) from span where duration_ns = 2000");
    assert_int_equal(result.status, STATUS_OK);
    assert_int_equal(result.events, 1 + ODD);
    assert_int_equal(result.kept, strcmp(fields[i], "ph") == 0 ? 1 : 1 + ODD);
    assert_int_equal(result.answer, result.kept);
  }
}

// The same for arguments, each said twice.
static void test_hostile_arguments(void **state)
{
  (void)state;
  static const char *const keys[] = {"correlation", "device",          "stream",     "External id",
                                     "queued",      "Sequence number", "Call stack", "Trace name",
                                     "grid",        "Output Dims",     "Input Dims", ""};
  char text[8192];
  for (size_t i = 0; i < sizeof keys / sizeof keys[0]; i++) {
    int length = 0;
    for (int j = 0; j < ODD; j++)
      length +=
          snprintf(text + length, sizeof text - (size_t)length,
                   "%s{\"ph\":\"X\",\"cat\":\"%s\",\"name\":\"k\",\"ts\":1,\"dur\":2,\"args\":{\"%s\":%s,\"%s\":%s}}",
                   j > 0 ? "," : "[", j % 2 ? "kernel" : "cpu_op", keys[i], odd[j], keys[i], odd[j]);
    snprintf(text + length, sizeof text - (size_t)length, "]");
    struct result result = import_text_file(text, "select count(*) - count(distinct span_id || '.' || key) from tag");
    assert_int_equal(result.status, STATUS_OK);
    assert_int_equal(result.kept, ODD);
    assert_int_equal(result.answer, 0);
  }
}

// An event with so many arguments, of so many different keys.
static void write_arguments(unsigned count, unsigned keys)
{
  struct buf text;
  buf_init(&text, BUF_MAXIMUM_DEFAULT);
  buf_text(&text, "[{\"ph\":\"X\",\"cat\":\"cpu_op\",\"name\":\"op\",\"ts\":1,\"dur\":2,\"args\":{");
  for (unsigned i = 0; i < count; i++)
    buf_format(&text, "%s\"key %u\":%u", i > 0 ? "," : "", i % keys, i);
  buf_text(&text, "}}]");
  assert_false(text.failed);
  write_input(text.data, text.length);
  buf_done(&text);
}

// Of 30,000 keys that come again the last value counts; more than 65,536 arguments are refused.
static void test_many_arguments(void **state)
{
  (void)state;
  write_arguments(60000, 30000);
  struct result result = import("select count(*) from tag where key = 'key ' || (value - 30000)");
  assert_int_equal(result.status, STATUS_OK);
  assert_int_equal(result.answer, 30000);
  write_arguments(60000, 30000);
  assert_int_equal(import("select count(*) from tag where key glob 'key *'").answer, 30000);
  write_arguments(65536, 65536);
  assert_int_equal(import("select count(*) from tag where key glob 'key *'").answer, 65536);
  write_arguments(65537, 10);
  result = import(NULL);
  assert_int_equal(result.status, STATUS_INPUT);
  assert_string_equal(result.error.why, "an event has more than 65536 arguments");
}

static void test_odd_facts(void **state)
{
  (void)state;
  static const char *const facts[] = {"\"deviceProperties\": {}",
                                      "\"deviceProperties\": [1, {\"id\": \"x\", \"name\": 5}]",
                                      "\"deviceProperties\": [{\"id\": 9223372036854775808, \"numSms\": 1e5}]",
                                      "\"deviceProperties\": [[[{}]]]",
                                      "\"distributedInfo\": []",
                                      "\"distributedInfo\": {\"rank\": {\"rank\": 1}, \"world_size\": \"2\"}",
                                      "\"schemaVersion\": {\"a\": [1, 2]}",
                                      "\"schemaVersion\": null",
                                      "\"cuda_version\": \"\"",
                                      "\"cuda_version\": 1e999",
                                      "\"_version\": 1",
                                      "\"traceName\": 5",
                                      "\"baseTimeNanoseconds\": -1",
                                      "\"baseTimeNanoseconds\": \"7\""};
  for (size_t i = 0; i < sizeof facts / sizeof facts[0]; i++) {
    char text[512];
    snprintf(text, sizeof text,
             "{%s, \"traceEvents\": [{\"ph\":\"X\",\"cat\":\"kernel\",\"name\":\"k\",\"ts\":1,\"dur\":2}]}", facts[i]);
    struct result result = import_text_file(text, "select count(*) from span");
    assert_int_equal(result.status, STATUS_OK);
    assert_int_equal(result.answer, 1);
  }
}

// ---- recognising -------------------------------------------------------------------------------------------------------
static int claim(const char *head)
{
  return importer_kineto.recognize(slice_of(head), true);
}

static void test_claims(void **state)
{
  (void)state;
  assert_int_equal(claim("{\"schemaVersion\""), 3);
  assert_int_equal(claim("\xef\xbb\xbf \n{\"a\": [{\"b\": \"]}\"}], \"distributedInfo\": 1"), 3);
  assert_int_equal(claim("[{\"cat\": \"ac2g\""), 3);
  assert_int_equal(claim("{\"traceEvents\": [{\"args\": {\"x\": [1, 2, {\"y\": 3}]}, \"cat\" : \"CPU_OP\""), 3);
  assert_int_equal(claim("{\"traceEvents\": [{\"cat\": \"Operator\", \"args\": {\"External id\": 1"), 2);
  assert_int_equal(claim("{\"traceEvents\": [{\"cat\": \"Operator\", \"args\": {\"x\": 1"), 0);
  // Of devices other than NVIDIA's, alone in their file.
  assert_int_equal(claim("[{\"cat\": \"xpu_sync\""), 3);
  assert_int_equal(claim("[{\"cat\": \"mtia_op\""), 3);
  assert_int_equal(claim("[{\"cat\": \"PrivateUse1_Driver\""), 3);
  assert_int_equal(claim("[{\"cat\": \"my_runtime\""), 0);
  assert_int_equal(claim("[{\"cat\": \"a category of another tool, longer than any of Kineto's own\""), 0);
  assert_int_equal(claim("{\"traceEvents\": [{\"args\": {\"cat\": \"cpu_op\"}}]"), 0);
  assert_int_equal(claim("{\"traceEvents\": [{\"name\": \"cat\", \"x\": \"cpu_op\"}]"), 0);
  assert_int_equal(claim("{\"other\": {\"schemaVersion\": 1}}"), 0);
  assert_int_equal(claim("[\"schemaVersion\", {\"schemaVersion\": 1}]"), 0);
  assert_int_equal(claim("{\"a\": \"\\\"schemaVersion\\\": "), 0);
  assert_int_equal(claim(""), 0);
  assert_int_equal(claim("   "), 0);
  assert_int_equal(claim("\"schemaVersion\""), 0);
  assert_int_equal(claim("{\"schemaVersi"), 0);
  assert_int_equal(claim("{\"schemaVersion\\"), 0);
}

static void test_a_head_nested_deeply(void **state)
{
  (void)state;
  static char head[INPUT_HEAD_BYTES];
  memset(head, '[', sizeof head);
  head[0] = '{';
  assert_int_equal(importer_kineto.recognize((struct slice){head, sizeof head}, false), 0);
  memset(head, '}', sizeof head);
  head[0] = '[';
  assert_int_equal(importer_kineto.recognize((struct slice){head, sizeof head}, false), 0);
}

int main(void)
{
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_cut_at_every_byte),
      cmocka_unit_test(test_bytes_changed),
      cmocka_unit_test(test_deep_nesting_is_refused),
      cmocka_unit_test(test_nothing_repeats),
      cmocka_unit_test(test_values_that_hardly_repeat),
      cmocka_unit_test(test_frames_within_frames),
      cmocka_unit_test(test_hostile_fields),
      cmocka_unit_test(test_hostile_arguments),
      cmocka_unit_test(test_many_arguments),
      cmocka_unit_test(test_odd_facts),
      cmocka_unit_test(test_claims),
      cmocka_unit_test(test_a_head_nested_deeply),
  };
  return cmocka_run_group_tests(tests, make_folder, remove_folder);
}
