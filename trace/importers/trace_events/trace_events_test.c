// SPDX-License-Identifier: Apache-2.0
// The reader of trace events on documents of our own: every window size gives the same events, every cut is one clear
// error, shapes that begin alike are told apart. tests/importers/test_trace_events.py compares it with another reader of JSON.
// Built twice: with the machine's own instructions and with the portable scanners.
#include "importers/trace_events/trace_events.h"

#include <inttypes.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "tests/support/expect.h"

#define ROOMY ((size_t)1 << 16)

static char path[] = "/tmp/xsp-trace-events-test-XXXXXX";

static int make_file(void **state)
{
  (void)state;
  int fd = mkstemp(path);
  return fd < 0 ? -1 : close(fd);
}

static int remove_file(void **state)
{
  (void)state;
  return unlink(path);
}

static void save(const char *text, size_t length)
{
  FILE *file = fopen(path, "wb");
  assert_non_null(file);
  assert_int_equal(fwrite(text, 1, length, file), length);
  assert_int_equal(fclose(file), 0);
}

static void put_value(FILE *out, const char *name, const struct trace_value *value)
{
  fprintf(out, " %s:%d:%.*s", name, (int)value->type, (int)value->raw.length, value->raw.data);
}

static void put_item(FILE *out, const struct trace_reader *reader, enum trace_item item)
{
  const struct trace_event *event = &reader->event;
  if (item == TRACE_KEY) {
    fprintf(out, "key %.*s", (int)reader->key.length, reader->key.data);
    put_value(out, "value", &reader->value);
  } else if (item == TRACE_EVENT) {
    fprintf(out, "%" PRIu64 " %c %.*s|%.*s", event->offset, event->phase != 0 ? event->phase : '-',
            (int)event->name.length, event->name.data, (int)event->category.length, event->category.data);
    if (event->has_start)
      fprintf(out, " [%" PRId64 ", %" PRId64 "]%s", event->start_ns, event->end_ns, event->has_duration ? "" : "?");
    put_value(out, "pid", &event->process_id);
    put_value(out, "tid", &event->thread_id);
    put_value(out, "id", &event->id);
    for (size_t i = 0; i < event->argument_count; i++) {
      fprintf(out, " %.*s=", (int)event->arguments[i].key.length, event->arguments[i].key.data);
      put_value(out, "", &event->arguments[i].value);
    }
  } else {
    fprintf(out, "end%s", reader->is_unclosed ? ", unclosed" : "");
  }
  fputc('\n', out);
}

// All items of the file as text, then the error's line where there is one. To be freed.
static char *read_all(size_t window_bytes, enum status *ret_status)
{
  char *text = NULL, line[2048];
  size_t length = 0;
  FILE *out = open_memstream(&text, &length);
  struct input input;
  struct trace_reader reader = {0};
  struct error err = {0};
  enum trace_item item = TRACE_EVENT;
  enum status status = input_open_window(path, UINT64_MAX, window_bytes, &input, &err);
  if (status == STATUS_OK)
    status = trace_open(&input, &reader, &err);
  while (status == STATUS_OK && item != TRACE_END)
    if ((status = trace_next(&reader, &item, &err)) == STATUS_OK)
      put_item(out, &reader, item);
  if (status != STATUS_OK) {
    error_line(&err, line, sizeof line);
    fprintf(out, "%s\n", line);
  }
  trace_close(&reader);
  input_close(&input);
  fclose(out);
  *ret_status = status;
  return text;
}

struct listing { // of what trace_read hands on
  FILE *out;
  uint64_t left; // events, after which the importer fails
};

static enum status list_event(void *context, const struct trace_event *event, struct error *error)
{
  struct listing *listing = context;
  if (listing->left-- == 0)
    return error_set(error, STATUS_INPUT, "cannot import", "here", NULL, "the importer has had enough");
  put_item(listing->out, &(struct trace_reader){.event = *event}, TRACE_EVENT);
  return STATUS_OK;
}

static enum status list_key(void *context, struct slice key, const struct trace_value *value, uint64_t offset,
                            struct error *error)
{
  struct listing *listing = context;
  put_item(listing->out, &(struct trace_reader){.key = key, .value = *value}, TRACE_KEY);
  fprintf(listing->out, "until %" PRIu64 "\n", offset);
  return STATUS_OK;
}

// As read_all, by trace_read; `apart`: on a thread of its own, if the file has more than a window.
static char *list_all(size_t window_bytes, bool apart, uint64_t events_most)
{
  char *text = NULL, line[2048];
  size_t length = 0;
  struct listing listing = {open_memstream(&text, &length), events_most};
  struct input input;
  struct trace_ending ending = {0};
  struct error err = {0};
  enum status status = input_open_window(path, UINT64_MAX, window_bytes, &input, &err);
  if (status == STATUS_OK && apart)
    input_read_ahead(&input);
  if (status == STATUS_OK)
    status = trace_read(&input, list_event, list_key, &listing, &ending, &err);
  if (status != STATUS_OK && error_line(&err, line, sizeof line) > 0)
    fprintf(listing.out, "%d %s\n", (int)status, line);
  else
    fprintf(listing.out, "%d %" PRIu64 " %" PRId64 "\n", ending.is_unclosed, ending.nonfinite_count,
            ending.resolution_ns);
  input_close(&input);
  fclose(listing.out);
  return text;
}

static void expect_same_apart(size_t window_bytes, uint64_t events_most)
{
  char *here = list_all(window_bytes, false, events_most), *apart = list_all(window_bytes, true, events_most);
  assert_string_equal(apart, here);
  free(here);
  free(apart);
}

static void expect(const char *document, const char *items)
{
  enum status status;
  save(document, strlen(document));
  char *text = read_all(ROOMY, &status);
  assert_string_equal(text, items);
  assert_int_equal(status, STATUS_OK);
  free(text);
}

static void expect_refused(const char *document, uint64_t byte, const char *why)
{
  enum status status;
  char where[64];
  save(document, strlen(document));
  char *text = read_all(ROOMY, &status);
  snprintf(where, sizeof where, "byte %" PRIu64 ": ", byte);
  if (status != STATUS_INPUT || strstr(text, where) == NULL || strstr(text, why) == NULL)
    fail_msg("%s\nwanted \"%s\" at byte %" PRIu64 ", got: %s", document, why, byte, text);
  free(text);
}

static const char sample[] =
    "{\"schemaVersion\": 1, \"list\": [{\"id\": 0, \"name\": \"G\"}, []],\r\n"
    "\"traceEvents\": [\n"
    "  {\n    \"ph\": \"X\", \"cat\": \"cpu_op\", \"name\": \"an operator of more than sixteen bytes\", \"pid\": 7,\n"
    "    \"tid\": \"stream 7\", \"ts\": 1.5, \"dur\": 20.0015,\n    \"args\": {\n      \"External id\": 3,"
    "\"Dims\": [[1, 2], []], \"e\": {}, \"s\": \"x\\\\y\", \"u\": \"\\u00e9\\ud83d\\ude00\xc3\xa9\"\n    }\n  },\n"
    "  {\n    \"ph\": \"X\", \"cat\": \"cpu_op\", \"name\": \"b\", \"pid\": -8,\n    \"tid\": 12, \"ts\": 10e-1, "
    "\"dur\": 2,\n"
    "    \"args\": {\n      \"External id\": -4,\"Dims\": [true, null], \"e\": \"f\", \"s\": 0.5E+2\n    }\n  },\n"
    "  {\"name\": \"n\", \"ph\": \"M\", \"args\": {}, \"id\": null}, {\"ts\": 9223372036854775.807, \"x\": false}\n"
    " ], \"traceName\": \"t\"}";

static void test_sample(void **state)
{
  (void)state;
  expect(sample, "key schemaVersion value:2:1\n"
                 "key list value:7:[{\"id\": 0, \"name\": \"G\"}, []]\n"
                 "79 X an operator of more than sixteen bytes|cpu_op [1500, 21501] pid:2:7 tid:1:stream 7 id:0:"
                 " External id= :2:3 Dims= :7:[[1, 2], []] e= :6:{} s= :1:x\\y u= :1:\xc3\xa9\xf0\x9f\x98\x80\xc3\xa9\n"
                 "345 X b|cpu_op [1000, 3000] pid:2:-8 tid:2:12 id:0:"
                 " External id= :2:-4 Dims= :7:[true, null] e= :1:f s= :2:0.5E+2\n"
                 "536 M n| pid:0: tid:0: id:5:null\n"
                 "586 - | [9223372036854775807, 9223372036854775807]? pid:0: tid:0: id:0:\n"
                 "key traceName value:1:t\n"
                 "end\n");
}

static void test_every_window(void **state)
{
  (void)state;
  enum status status;
  save(sample, strlen(sample));
  char *whole = read_all(ROOMY, &status);
  assert_int_equal(status, STATUS_OK);
  for (size_t window = 1; window < sizeof sample + 2; window++) {
    char *text = read_all(window, &status);
    assert_int_equal(status, STATUS_OK);
    assert_string_equal(text, whole);
    free(text);
  }
  free(whole);
}

static void test_every_cut(void **state)
{
  (void)state;
  for (size_t length = 1; length < sizeof sample - 1; length++) {
    enum status status;
    save(sample, length);
    char *text = read_all(ROOMY, &status);
    assert_int_equal(status, STATUS_INPUT);
    assert_non_null(strstr(text, ": the file ends too early: "));
    char *small = read_all(7, &status);
    assert_string_equal(small, text);
    free(text);
    free(small);
  }
}

// An array may end without its bracket, but only after an event.
static void test_unclosed(void **state)
{
  (void)state;
  static const char array[] = "[\n{\"name\": \"a\", \"ph\": \"X\"},\n{}\n]\n";
  for (size_t length = 1; length < sizeof array - 1; length++) {
    enum status status;
    save(array, length);
    char *text = read_all(ROOMY, &status);
    bool in_event = length < 26 || length == 29; // their braces close at 25 and 29
    bool closed = length > 31;
    assert_int_equal(status, in_event ? STATUS_INPUT : STATUS_OK);
    if (status == STATUS_OK)
      assert_int_equal(strstr(text, "end, unclosed\n") != NULL, !closed);
    free(text);
  }
  expect("[]", "end\n");
  expect("{}", "end\n");
  expect("{\"traceEvents\": []}", "end\n");
  expect("\xef\xbb\xbf[{}]", "4 - | pid:0: tid:0: id:0:\nend\n");
  expect("{\"traceEvents\": [], \"a\": 1, \"traceEvents\": [{}]}",
         "key a value:2:1\n44 - | pid:0: tid:0: id:0:\nend\n");
}

static void test_refused(void **state)
{
  (void)state;
  expect_refused("5", 0, "'{' or '[' was expected");
  expect_refused("  nonsense", 2, "'{' or '[' was expected");
  expect_refused("[{} {}]", 4, "',' or ']' was expected");
  expect_refused("[{},]", 4, "an event in braces was expected");
  expect_refused("[,{}]", 1, "an event in braces was expected");
  expect_refused("[1]", 1, "an event in braces was expected");
  expect_refused("[{}]]", 4, "nothing was expected after the document's end");
  expect_refused("[{}}", 3, "',' or ']' was expected");
  expect_refused("{\"a\": 1,}", 8, "a key in quotes was expected");
  expect_refused("{,\"a\": 1}", 1, "a key in quotes was expected");
  expect_refused("{\"a\" 1}", 5, "':' was expected after a key");
  expect_refused("{\"a\": 1 \"b\": 2}", 8, "',' or '}' was expected");
  expect_refused("{\"traceEvents\": {}}", 16, "an array of events was expected");
  expect_refused("[{\"a\": 01}]", 8, "',' or '}' was expected");
  expect_refused("[{\"a\": 1.}]", 9, "a digit was expected after the decimal point");
  expect_refused("[{\"a\": 1e+}]", 10, "a digit was expected in the exponent");
  expect_refused("[{\"a\": -}]", 8, "a digit was expected");
  expect_refused("[{\"a\": +1}]", 7, "a value was expected");
  expect_refused("[{\"a\": nul}]", 7, "a value was expected");
  expect_refused("[{\"a\": Nan}]", 7, "a value was expected");
  expect_refused("[{\"a\": --Infinity}]", 8, "a digit was expected");
  expect_refused("[{\"a\": +inf}]", 7, "a value was expected");
  expect_refused("[{\"a\": Infinit", 14, "a value was expected");
  expect_refused("[{\"a\": nanb}]", 10, "',' or '}' was expected");
  expect_refused("[{\"a\": nan(in)}]", 10, "',' or '}' was expected");
  expect_refused("[{\"a\": NaN(ind)}]", 10, "',' or '}' was expected");
  expect_refused("[{\"a\": inf(ind)}]", 10, "',' or '}' was expected");
  expect_refused("[{\"a\": nan(ind", 10, "',' or '}' was expected");
  expect_refused("[{\"a\": \"\\x\"}]", 8, "a bad escape in a string");
  expect_refused("[{\"a\": \"\\u12g4\"}]", 8, "a bad escape in a string");
  expect_refused("[{\"args\": {\"a\": [1 2]}}]", 19, "',' or ']' was expected");
  expect_refused("[{\"args\": {\"a\": [1,]}}]", 19, "a value was expected");
  expect_refused("[{\"args\": {\"a\": {1:2}}}]", 17, "a key in quotes was expected");
  expect_refused("[{\"args\": {\"a\": [}]}]", 17, "a value was expected");
  expect_refused("[{}, {\"ts\": 9223372036854775.808}]", 5, "beyond 64 bits of nanoseconds");
  expect_refused("[{}, {\"ts\": 9223372036854775, \"dur\": 1}]", 5, "beyond 64 bits of nanoseconds");
  expect_refused("[{\"ts\": 1e30}]", 1, "beyond 64 bits of nanoseconds");
  expect_refused("[{\"dur\": 1e30}]", 1, "beyond 64 bits of nanoseconds");
}

// Gaps that begin alike: longer ones, other kinds of value after them, "args" that are no object or come twice.
static void test_shapes(void **state)
{
  (void)state;
  expect("[{\"ts\":5},{\"ts\":\"5\"},{\"ts\": 5},{\"ts\":[5]},{\"ts\":null},{\"ts\":-5},{\"ts\":\n5},{\"ts\":5 "
         "},{\"ts\" :5}]",
         "1 - | [5000, 5000]? pid:0: tid:0: id:0:\n10 - | [5000, 5000]? pid:0: tid:0: id:0:\n"
         "21 - | [5000, 5000]? pid:0: tid:0: id:0:\n31 - | pid:0: tid:0: id:0:\n42 - | pid:0: tid:0: id:0:\n"
         "54 - | [-5000, -5000]? pid:0: tid:0: id:0:\n64 - | [5000, 5000]? pid:0: tid:0: id:0:\n"
         "74 - | [5000, 5000]? pid:0: tid:0: id:0:\n84 - | [5000, 5000]? pid:0: tid:0: id:0:\nend\n");
  expect("[{\"id\":[]},{\"id\": 7},{\"id\":\"s\"},{\"id\":true}]",
         "1 - | pid:0: tid:0: id:7:[]\n11 - | pid:0: tid:0: id:2:7\n21 - | pid:0: tid:0: id:1:s\n"
         "32 - | pid:0: tid:0: id:3:true\nend\n");
  expect("[{\"args\":{\"a\":1},\"args\":{\"b\":2}},{\"args\":{\"a\":1},\"args\":5},{\"args\":{\"a\":1},\"args\":{}}]",
         "1 - | pid:0: tid:0: id:0: b= :2:2\n33 - | pid:0: tid:0: id:0:\n59 - | pid:0: tid:0: id:0:\nend\n");
  expect("[{\"args\":{}},{\"args\":{},\"name\":\"x\"},{\"args\":{\"a\":{}}},{\"args\":{\"a\":1}}]",
         "1 - | pid:0: tid:0: id:0:\n13 - x| pid:0: tid:0: id:0:\n36 - | pid:0: tid:0: id:0: a= :6:{}\n"
         "54 - | pid:0: tid:0: id:0: a= :2:1\nend\n");
  expect("[{\"n\\u0061me\":\"x\"},{\"n\\u0061me\":\"y\"},{\"name\":\"x\",\"name\":5}]",
         "1 - x| pid:0: tid:0: id:0:\n19 - y| pid:0: tid:0: id:0:\n37 - | pid:0: tid:0: id:0:\nend\n");
}

// Times in quotes are times where all that is there is a number.
static void test_quoted_times(void **state)
{
  (void)state;
  expect(
      "[{\"ts\":\"1700000000000000.1239\",\"dur\":\"0.0001\"},{\"ts\":\"-1e-1\",\"dur\":2},{\"ts\":7,\"dur\":\"\\u0031."
      "5\"}]",
      "1 - | [1700000000000000123, 1700000000000000124] pid:0: tid:0: id:0:\n47 - | [-100, 1900] pid:0: tid:0: id:0:\n"
      "70 - | [7000, 8500] pid:0: tid:0: id:0:\nend\n");
  expect(
      "[{\"ts\":\"\"},{\"ts\":\"5 "
      "\"},{\"ts\":\"+5\"},{\"ts\":\"05\"},{\"ts\":\"5.\"},{\"ts\":\".5\"},{\"ts\":\"5e\"},{\"ts\":\"-\"}]",
      "1 - | pid:0: tid:0: id:0:\n11 - | pid:0: tid:0: id:0:\n23 - | pid:0: tid:0: id:0:\n35 - | pid:0: tid:0: id:0:\n"
      "47 - | pid:0: tid:0: id:0:\n59 - | pid:0: tid:0: id:0:\n71 - | pid:0: tid:0: id:0:\n83 - | pid:0: tid:0: "
      "id:0:\nend\n");
  expect_refused("[{\"ts\":\"9223372036854775.808\"}]", 1, "beyond 64 bits of nanoseconds");
}

// More keys than the tree of shapes holds, at one place and after each other.
static void test_many_shapes(void **state)
{
  (void)state;
  char *text = NULL, *items = NULL;
  size_t length = 0, items_length = 0;
  FILE *document = open_memstream(&text, &length);
  FILE *wanted = open_memstream(&items, &items_length);
  fputc('[', document);
  for (int i = 0; i < 5000; i++) {
    long at = ftell(document) + (i > 0);
    fprintf(document, "%s{\"args\": {\"k%d\": %d, \"l%d\": \"%d\"}}", i > 0 ? "," : "", i, i, i % 7, i);
    fprintf(wanted, "%ld - | pid:0: tid:0: id:0: k%d= :2:%d l%d= :1:%d\n", at, i, i, i % 7, i);
  }
  fputc(']', document);
  fputs("end\n", wanted);
  fclose(document);
  fclose(wanted);
  expect(text, items);
  free(text);
  free(items);
}

static void test_invalid_utf8(void **state)
{
  (void)state;
  expect("[{\"name\":\"a\xff\x62\xc3\",\"cat\":\"\\ud800\\u0041\\udc00\",\"id\":[\"\xed\xa0\x80\\n\"],\"args\":{"
         "\"\xfe\":1}}]",
         "1 - a\xef\xbf\xbd"
         "b\xef\xbf\xbd|\xef\xbf\xbd"
         "A\xef\xbf\xbd pid:0: tid:0: id:7:[\"\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd\\n\"] \xef\xbf\xbd= :2:1\nend\n");
  expect("[{\"name\":\"raw\ttab\x01\"}]", "1 - raw\ttab\x01| pid:0: tid:0: id:0:\nend\n");
}

static void test_key_numbers(void **state)
{
  (void)state;
  static const char document[] = "[{\"args\":{\"a\":1,\"b\":2}},{\"args\":{\"b\":1,\"a\":2,\"\\u0061\":3}}]";
  struct input input;
  struct trace_reader reader;
  enum trace_item item;
  save(document, strlen(document));
  OK(input_open(path, UINT64_MAX, &input, err));
  OK(trace_open(&input, &reader, err));
  OK(trace_next(&reader, &item, err));
  assert_int_equal(reader.event.argument_count, 2);
  uint32_t a = reader.event.arguments[0].key_number, b = reader.event.arguments[1].key_number;
  assert_int_not_equal(a, 0);
  assert_int_not_equal(b, 0);
  assert_int_not_equal(a, b);
  OK(trace_next(&reader, &item, err));
  assert_int_equal(reader.event.arguments[0].key_number, b);
  assert_int_equal(reader.event.arguments[1].key_number, a);
  assert_int_equal(reader.event.arguments[2].key_number, 0);
  assert_true(slice_is(reader.event.arguments[2].key, "a"));
  assert_ptr_equal(trace_find(&reader.event, "a"), &reader.event.arguments[2]);
  assert_null(trace_find(&reader.event, "c"));
  trace_close(&reader);
  input_close(&input);
}

static void test_apart_windows_and_cuts(void **state)
{
  (void)state;
  save(sample, strlen(sample));
  for (size_t window = 1; window < sizeof sample + 2; window += 1 + window / 9)
    expect_same_apart(window, UINT64_MAX);
  for (size_t length = 1; length < sizeof sample - 1; length += 5) {
    save(sample, length);
    expect_same_apart(7, UINT64_MAX);
    expect_same_apart(300, UINT64_MAX);
  }
}

// More than the pieces and windows that exist at once; texts that are decoded, and an event with very many arguments.
static void test_apart_many_pieces(void **state)
{
  (void)state;
  char *text = NULL;
  size_t length = 0;
  FILE *document = open_memstream(&text, &length);
  fputs("{\"a\": \"\\u00e9\", \"traceEvents\": [", document);
  for (int i = 0; i < 9000; i++) {
    fprintf(document, "%s{\"name\": \"n\\n%d\", \"ts\": %d.5, \"args\": {\"k\": NaN, \"long\": \"", i > 0 ? ", " : "",
            i, i);
    for (int j = 0; j < i % 90; j++)
      fputs("\xff\\t", document);
    fputc('"', document);
    for (int j = 0; j < (i == 4321 ? 9999 : i % 11); j++)
      fprintf(document, ", \"k%d\": [%d]", j, i);
    fputs("}}", document);
  }
  fputs("], \"b\": 2, \"c\": [3]}", document);
  fclose(document);
  save(text, length);
  for (size_t window = 100; window < 2 * length; window = 5 * window + 1)
    expect_same_apart(window, UINT64_MAX);
  for (uint64_t events = 0; events < 9000; events = 3 * events + 100)
    expect_same_apart(4096, events);
  for (size_t cut = length - 1; cut > length / 5; cut -= length / 7) { // a byte that nothing expects
    text[cut] = '\1';
    save(text, length);
    expect_same_apart(4096, UINT64_MAX);
  }
  free(text);
}

static void test_values(void **state)
{
  (void)state;
  int64_t whole;
  double real;
#define VALUE(kind, literal) (&(struct trace_value){.type = kind, .raw = {literal, sizeof literal - 1}})
  assert_true(trace_int64(VALUE(TRACE_NUMBER, "9223372036854775807"), &whole));
  assert_int_equal(whole, INT64_MAX);
  assert_true(trace_int64(VALUE(TRACE_STRING, "-9223372036854775808"), &whole));
  assert_int_equal(whole, INT64_MIN);
  assert_false(trace_int64(VALUE(TRACE_NUMBER, "9223372036854775808"), &whole));
  assert_false(trace_int64(VALUE(TRACE_NUMBER, "1.0"), &whole));
  assert_false(trace_int64(VALUE(TRACE_STRING, ""), &whole));
  assert_false(trace_int64(VALUE(TRACE_STRING, "-"), &whole));
  assert_false(trace_int64(VALUE(TRACE_STRING, "7 "), &whole));
  assert_false(trace_int64(VALUE(TRACE_TRUE, "true"), &whole));
  assert_true(trace_double(VALUE(TRACE_NUMBER, "-2.5e3"), &real));
  assert_true(real == -2500);
  assert_false(trace_double(VALUE(TRACE_NUMBER, "1e999"), &real));
  assert_false(trace_double(VALUE(TRACE_STRING, "1"), &real));
}

int main(void)
{
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_sample),
      cmocka_unit_test(test_every_window),
      cmocka_unit_test(test_every_cut),
      cmocka_unit_test(test_unclosed),
      cmocka_unit_test(test_refused),
      cmocka_unit_test(test_shapes),
      cmocka_unit_test(test_quoted_times),
      cmocka_unit_test(test_many_shapes),
      cmocka_unit_test(test_invalid_utf8),
      cmocka_unit_test(test_key_numbers),
      cmocka_unit_test(test_values),
      cmocka_unit_test(test_apart_windows_and_cuts),
      cmocka_unit_test(test_apart_many_pieces),
  };
  return cmocka_run_group_tests(tests, make_file, remove_file);
}
