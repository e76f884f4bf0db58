// SPDX-License-Identifier: Apache-2.0
// The window over plain and compressed files: what it shows, where it refuses, what it leaves after.
#include "importers/input.h"

#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include <zlib.h>
#include <zstd.h>

#include <cmocka.h>

#include "tests/support/expect.h"

static char folder[] = "/tmp/xsp-input-test-XXXXXX";
static char path[64];

struct bytes {
  char *data;
  size_t length;
};

static int make_folder(void **state)
{
  (void)state;
  if (mkdtemp(folder) == NULL)
    return -1;
  snprintf(path, sizeof path, "%s/file", folder);
  return 0;
}

static int remove_folder(void **state)
{
  (void)state;
  unlink(path);
  return rmdir(folder); // fails where a temporary file was left
}

// Keeps `bytes`.
static void save_copy(struct bytes bytes)
{
  FILE *file = fopen(path, "wb");
  assert_non_null(file);
  assert_int_equal(fwrite(bytes.data, 1, bytes.length, file), bytes.length);
  assert_int_equal(fclose(file), 0);
}

static void save(struct bytes bytes)
{
  save_copy(bytes);
  free(bytes.data);
}

// Bytes that have their position and compress a little.
static struct bytes counting(size_t length)
{
  struct bytes bytes = {malloc(length + 16), length};
  assert_non_null(bytes.data);
  for (size_t i = 0; i < length; i += 8)
    snprintf(bytes.data + i, 9, "%07x ", (unsigned)i & 0xfffffff);
  return bytes;
}

static struct bytes joined(struct bytes first, struct bytes second)
{
  struct bytes both = {malloc(first.length + second.length + 1), first.length + second.length};
  assert_non_null(both.data);
  memcpy(both.data, first.data, first.length);
  memcpy(both.data + first.length, second.data, second.length);
  free(first.data);
  free(second.data);
  return both;
}

static struct bytes gzip(struct bytes plain)
{
  z_stream stream = {0};
  assert_int_equal(deflateInit2(&stream, 1, Z_DEFLATED, 15 + 16, 8, Z_DEFAULT_STRATEGY), Z_OK);
  struct bytes packed = {malloc(plain.length + plain.length / 1000 + 64), plain.length + plain.length / 1000 + 64};
  assert_non_null(packed.data);
  stream.next_in = (Bytef *)plain.data;
  stream.avail_in = (uInt)plain.length;
  stream.next_out = (Bytef *)packed.data;
  stream.avail_out = (uInt)packed.length;
  assert_int_equal(deflate(&stream, Z_FINISH), Z_STREAM_END);
  packed.length = stream.total_out;
  deflateEnd(&stream);
  free(plain.data);
  return packed;
}

static struct bytes zstd(struct bytes plain)
{
  struct bytes packed = {malloc(ZSTD_compressBound(plain.length)), ZSTD_compressBound(plain.length)};
  assert_non_null(packed.data);
  packed.length = ZSTD_compress(packed.data, packed.length, plain.data, plain.length, 1);
  assert_false(ZSTD_isError(packed.length));
  free(plain.data);
  return packed;
}

static struct bytes text(const char *literal)
{
  return (struct bytes){strdup(literal), strlen(literal)};
}

// What a window held stays until the next but one.
static void test_windows_that_stay(void **state)
{
  (void)state;
  struct input input;
  struct bytes plain = counting(300000);
  save_copy(plain);
  OK(input_open_window(path, plain.length, 1000, &input, err));
  assert_false(input_read_apart(&input)); // no threads are wanted
  input_read_ahead(&input);
  assert_true(input_read_apart(&input));
  for (size_t step = 1; !input.is_last; step = step * 7 % 1001) {
    const char *before = input.at;
    size_t left = (size_t)(input.end - input.at);
    uint64_t at = input_offset(&input, before);
    input.at += step < left ? step : left;
    OK(input_more(&input, err));
    assert_memory_equal(before, plain.data + at, left);
  }
  input_close(&input);
  free(plain.data);
}

// Reads all with steps of odd lengths, checking the promises on the way.
static void compare_bytes(size_t window_bytes, bool ahead, struct bytes plain)
{
  struct input input;
  uint64_t at = 0;
  OK(input_open_window(path, plain.length, window_bytes, &input, err));
  if (ahead)
    input_read_ahead(&input);
  for (size_t step = 1;; step = step * 7 % 1001) {
    size_t left = (size_t)(input.end - input.at);
    assert_int_equal(input_offset(&input, input.at), at);
    assert_memory_equal(input.at, plain.data + at, left);
    for (size_t i = 0; i < INPUT_PADDING; i++)
      assert_int_equal(input.end[i], 0);
    if (left == 0 && input.is_last)
      break;
    size_t taken = step < left ? step : left;
    if (input.is_last)
      taken = left;
    input.at += taken;
    at += taken;
    OK(input_more(&input, err));
  }
  assert_int_equal(at, plain.length);
  assert_int_equal(input.end_offset, plain.length);
  input_close(&input);
}

// The file holds `plain`, which is freed, on one thread and on two.
static void expect_bytes(size_t window_bytes, struct bytes plain)
{
  compare_bytes(window_bytes, false, plain);
  compare_bytes(window_bytes, true, plain);
  free(plain.data);
}

static void read_refused(uint64_t limit_bytes, bool ahead, const char *where, const char *why)
{
  struct input input;
  struct error err = {0};
  enum status status = input_open(path, limit_bytes, &input, &err);
  if (status == STATUS_OK && ahead)
    input_read_ahead(&input);
  while (status == STATUS_OK && !input.is_last) {
    input.at = input.end;
    status = input_more(&input, &err);
  }
  input_close(&input);
  assert_int_equal(status, STATUS_INPUT);
  assert_non_null(strstr(err.where, where));
  if (strstr(err.why, why) == NULL)
    fail_msg("\"%s\" does not say \"%s\"", err.why, why);
}

static void expect_refused(uint64_t limit_bytes, const char *where, const char *why)
{
  read_refused(limit_bytes, false, where, why);
  read_refused(limit_bytes, true, where, why);
}

static void test_plain(void **state)
{
  (void)state;
  static const size_t lengths[] = {1, 63, 64, 65, 1000, 300000};
  for (size_t i = 0; i < sizeof lengths / sizeof lengths[0]; i++) {
    save(counting(lengths[i]));
    expect_bytes(64, counting(lengths[i]));
    expect_bytes(4096, counting(lengths[i]));
    expect_bytes(INPUT_WINDOW_BYTES, counting(lengths[i]));
  }
}

static void test_compressed(void **state)
{
  (void)state;
  const size_t length = 900000; // more than a layer's buffer, however well it is packed
  char zeros[100] = {0};
  save(gzip(counting(length)));
  expect_bytes(1 << 16, counting(length));
  save(zstd(counting(length)));
  expect_bytes(1 << 16, counting(length));
  save(zstd(gzip(counting(length))));
  expect_bytes(1 << 16, counting(length));
  save(gzip(zstd(counting(length))));
  expect_bytes(1 << 16, counting(length));
  save(gzip(gzip(counting(length))));
  expect_bytes(1 << 16, counting(length));
  save(gzip(gzip(gzip(counting(length)))));
  expect_refused(UINT64_MAX, path, "more than 2 times over");
  // Members and frames one after the other, empty ones among them, and padding.
  save(joined(joined(gzip(text("one ")), gzip(text(""))), joined(gzip(text("two")), gzip(text("")))));
  expect_bytes(64, text("one two"));
  struct bytes padding = {malloc(sizeof zeros), sizeof zeros};
  memset(padding.data, 0, padding.length);
  save(joined(joined(gzip(text("one ")), padding), gzip(text("two"))));
  expect_bytes(64, text("one two"));
  struct bytes skippable = {malloc(11), 11};
  memcpy(skippable.data, "\x5a\x2a\x4d\x18\x03\0\0\0abc", 11);
  struct bytes another = {malloc(11), 11};
  memcpy(another.data, skippable.data, 11);
  save(joined(joined(skippable, zstd(text("one "))), joined(zstd(text("")), joined(another, zstd(text("two"))))));
  expect_bytes(64, text("one two"));
}

static void test_missing(void **state)
{
  (void)state;
  unlink(path);
  expect_refused(UINT64_MAX, path, "No such file");
  assert_int_equal(mkdir(path, 0700), 0);
  expect_refused(UINT64_MAX, path, "it is a directory");
  assert_int_equal(rmdir(path), 0);
  save(text(""));
  expect_refused(UINT64_MAX, path, "it is empty");
  save(gzip(text("")));
  expect_refused(UINT64_MAX, path, "it is empty after decompression");
}

static void test_truncated(void **state)
{
  (void)state;
  struct bytes packed[] = {gzip(counting(2000)), zstd(counting(2000)), zstd(gzip(counting(2000)))};
  for (size_t kind = 0; kind < 3; kind++) {
    for (size_t length = kind == 0 ? 2 : 4; length < packed[kind].length; length++) {
      save_copy((struct bytes){packed[kind].data, length});
      expect_refused(UINT64_MAX, "compressed byte", "cut short");
    }
    free(packed[kind].data);
  }
}

static void test_corrupt(void **state)
{
  (void)state;
  struct bytes packed = gzip(counting(2000));
  packed.data[packed.length - 6] ^= 1; // of the checksum
  save_copy(packed);
  expect_refused(UINT64_MAX, "compressed byte", "incorrect data check");
  free(packed.data);
  packed = gzip(counting(3000000)); // far after the first window
  packed.data[packed.length - 6] ^= 1;
  save(packed);
  expect_refused(UINT64_MAX, "compressed byte", "incorrect data check");
  packed = joined(gzip(text("one")), text("and what is no member"));
  save(packed);
  expect_refused(UINT64_MAX, "compressed byte", "incorrect header check");
  packed = joined(zstd(text("one")), text("and what is no frame"));
  save(packed);
  expect_refused(UINT64_MAX, "compressed byte", "zstd: ");
  packed = zstd(counting(2000));
  memset(packed.data + 7, 0xff, 3); // the first block's head
  save(packed);
  expect_refused(UINT64_MAX, "compressed byte", "zstd: ");
}

static void test_limit(void **state)
{
  (void)state;
  struct bytes bomb = {calloc(1, 50 << 20), 50 << 20};
  save(counting(5000));
  expect_bytes(64, counting(5000)); // its limit is its length
  expect_refused(4999, path, "more than 4999 bytes");
  save(gzip(counting(5000)));
  expect_bytes(64, counting(5000));
  expect_refused(4999, path, "more than 4999 bytes after decompression");
  save(gzip(bomb));
  expect_refused(1 << 20, path, "after decompression");
  struct input input;
  struct error error = {0};
  save(counting(5000));
  assert_int_equal(input_open(path, 4000, &input, &error), STATUS_INPUT);
  assert_string_equal(error.advice, "--limit-bytes 5000");
}

static void test_longest_element(void **state)
{
  (void)state;
  struct bytes zeros = {calloc(1, 270 << 20), 270 << 20};
  struct input input;
  struct error err = {0};
  enum status status = STATUS_OK;
  save(gzip(zeros));
  ok(input_open(path, UINT64_MAX, &input, &err), &err);
  input.at += 5;
  while (status == STATUS_OK && !input.is_last)
    status = input_more(&input, &err);
  assert_int_equal(status, STATUS_INPUT);
  assert_non_null(strstr(err.where, "byte 5"));
  assert_non_null(strstr(err.why, "longer than 128 MiB"));
  input_close(&input);
}

static void test_rewind(void **state)
{
  (void)state;
  struct input input;
  save(gzip(counting(100000)));
  OK(input_open_window(path, UINT64_MAX, 4096, &input, err));
  input.at += 100;
  OK(input_rewind(&input, err)); // within the window
  assert_memory_equal(input.at, "0000000 ", 8);
  input.at = input.end;
  OK(input_more(&input, err));
  input.at += 50;
  OK(input_more(&input, err));
  OK(input_rewind(&input, err));
  assert_int_equal(input_offset(&input, input.at), 0);
  assert_memory_equal(input.at, "0000000 ", 8);
  input_close(&input);
  expect_bytes(4096, counting(100000));
}

// Closed or rewound while the other thread is at work.
static void count_windows(void *context, const char *file, uint64_t done_bytes, uint64_t size_bytes)
{
  (void)file, (void)done_bytes, (void)size_bytes;
  ++*(unsigned *)context;
}

// What is passed over of a plain file is not read.
static void test_pass_over(void **state)
{
  (void)state;
  for (int is_packed = 0; is_packed < 2; is_packed++) {
    struct error error = {0};
    struct input input;
    struct bytes plain = counting(8000000);
    save(is_packed ? gzip(plain) : plain);
    ok(input_open_window(path, UINT64_MAX, 4096, &input, &error), &error);
    uint64_t bytes = 8;
    unsigned windows = 0;
    input.progress = count_windows;
    input.progress_context = &windows;
    ok(input_pass_over(&input, &bytes, &error), &error);
    assert_int_equal(bytes, 8); // they are in the window
    bytes = 7000000;
    ok(input_pass_over(&input, &bytes, &error), &error);
    assert_int_equal(input_offset(&input, input.at) + bytes, 7000000);
    if (!is_packed)
      assert_in_range(windows, 1, 2);
    ok(input_more(&input, &error), &error);
    assert_memory_equal(input.at + bytes, "06acfc0 ", 8);
    bytes = 2000000;
    ok(input_pass_over(&input, &bytes, &error), &error);
    assert_true(input.is_last && bytes > 900000);
    input_close(&input);
  }
}

static void test_leave_early(void **state)
{
  (void)state;
  struct input input;
  save(gzip(counting(6000000)));
  for (int round = 0; round < 20; round++) {
    OK(input_open_window(path, UINT64_MAX, 4096, &input, err));
    input_read_ahead(&input);
    for (int i = 0; i < round * 20; i++) {
      input.at = input.end;
      OK(input_more(&input, err));
    }
    if (round % 2 == 0)
      OK(input_rewind(&input, err));
    input_close(&input);
  }
}

static void test_pipe(void **state)
{
  (void)state;
  int ends[2];
  char name[32];
  struct input input;
  struct error err = {0};
  struct bytes bytes = counting(60000); // fits the pipe
  assert_int_equal(pipe(ends), 0);
  assert_int_equal(write(ends[1], bytes.data, bytes.length), bytes.length);
  close(ends[1]);
  snprintf(name, sizeof name, "/dev/fd/%d", ends[0]);
  ok(input_open_window(name, UINT64_MAX, 4096, &input, &err), &err);
  assert_memory_equal(input.at, bytes.data, 4096);
  input.at = input.end;
  ok(input_rewind(&input, &err), &err);
  input.at = input.end;
  ok(input_more(&input, &err), &err);
  assert_memory_equal(input.at, bytes.data + 4096, 4096);
  assert_int_equal(input_rewind(&input, &err), STATUS_INPUT);
  assert_non_null(strstr(err.why, "only once"));
  input_close(&input);
  close(ends[0]);
  free(bytes.data);
}

static void test_as_file(void **state)
{
  (void)state;
  struct input input;
  const char *name = NULL;
  struct bytes plain = counting(100000);
  char *back = malloc(plain.length);
  assert_non_null(back);
  save(counting(100000));
  OK(input_open(path, UINT64_MAX, &input, err));
  OK(input_as_file(&input, &name, err));
  assert_string_equal(name, path);
  input_close(&input);

  save(gzip(counting(100000)));
  assert_int_equal(setenv("TMPDIR", folder, 1), 0);
  OK(input_open_window(path, UINT64_MAX, 4096, &input, err));
  input.at = input.end;
  OK(input_more(&input, err));
  OK(input_as_file(&input, &name, err));
  assert_string_not_equal(name, path);
  char *copy = strdup(name);
  int fd = open(copy, O_RDONLY);
  assert_true(fd >= 0);
  assert_int_equal(read(fd, back, plain.length), plain.length);
  assert_memory_equal(back, plain.data, plain.length);
  assert_int_equal(read(fd, back, 1), 0);
  close(fd);
  input_close(&input);
  assert_int_not_equal(access(copy, F_OK), 0);
  // Broken on the way: nothing is left.
  struct bytes broken = gzip(counting(1000000));
  broken.length -= 9;
  save(broken);
  struct error error = {0};
  ok(input_open_window(path, UINT64_MAX, 4096, &input, &error), &error);
  assert_int_equal(input_as_file(&input, &name, &error), STATUS_INPUT);
  input_close(&input);
  unsetenv("TMPDIR");
  free(copy);
  free(back);
  free(plain.data);
}

int main(void)
{
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_plain),           cmocka_unit_test(test_compressed),
      cmocka_unit_test(test_missing),         cmocka_unit_test(test_truncated),
      cmocka_unit_test(test_corrupt),         cmocka_unit_test(test_limit),
      cmocka_unit_test(test_longest_element), cmocka_unit_test(test_rewind),
      cmocka_unit_test(test_leave_early),     cmocka_unit_test(test_pipe),
      cmocka_unit_test(test_as_file),         cmocka_unit_test(test_windows_that_stay),
      cmocka_unit_test(test_pass_over),
  };
  return cmocka_run_group_tests(tests, make_folder, remove_folder);
}
