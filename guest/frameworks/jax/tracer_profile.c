// SPDX-License-Identifier: Apache-2.0
// Writes profiles into the session's folder, as DIR/tracer-PID.xplane.pb (trace/format/session.h). A profile numbers threads by a
// hash: a plane after it has the kernel's numbers, as XSpaces that follow each other are one. Called by tracer.c.
#include "base/scoped.h"
#include "base/transfer.h"
#include "frameworks/common/threads.h"
#include "frameworks/jax/tracer.h"

#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#define THREADS_MOST 4096u
#define THREAD_BYTES 32u // of a line: two keys and two numbers, and around it a key and a length

// Of xplane.proto.
enum { SPACE_PLANES = 1, PLANE_NAME = 2, PLANE_LINES = 3, LINE_ID = 1, LINE_DISPLAY_ID = 10 };
enum { VARINT = 0, BYTES = 2 };

static size_t put_number(uint8_t *at, uint64_t number)
{
  size_t length = 0;
  for (; number >= 0x80; number >>= 7)
    at[length++] = (uint8_t)(number | 0x80);
  at[length++] = (uint8_t)number;
  return length;
}

static size_t put_field(uint8_t *at, unsigned field, unsigned type, uint64_t number)
{
  size_t length = put_number(at, (uint64_t)field << 3 | type);
  return length + put_number(at + length, number);
}

// ---- threads ---------------------------------------------------------------------------------------------------------

static size_t put_thread(uint8_t *at, const struct known_thread *thread)
{
  uint8_t line[THREAD_BYTES];
  size_t length = put_field(line, LINE_ID, VARINT, thread->hash);
  length += put_field(line + length, LINE_DISPLAY_ID, VARINT, thread->id);
  size_t head = put_field(at, PLANE_LINES, BYTES, length);
  memcpy(at + head, line, length);
  return head + length;
}

static bool write_threads(int file)
{
  static const char name[] = "/xsp:threads";
  struct pool pool SCOPED(framework_pool_done) = {
      .maximum_bytes = THREADS_MOST * (sizeof(struct known_thread) + THREAD_BYTES + 8) * 2};
  struct thread_table table = framework_threads_list(&pool);
  size_t count = table.count < THREADS_MOST ? table.count : THREADS_MOST, length = 0;
  uint8_t *plane = framework_pool_alloc(&pool, count + 1, THREAD_BYTES), head[16];
  bool is_written = true;
  if (plane != NULL) {
    length = put_field(plane, PLANE_NAME, BYTES, strlen(name));
    memcpy(plane + length, name, strlen(name));
    length += strlen(name);
    for (size_t i = 0; i < count; i++)
      length += put_thread(plane + length, &table.threads[i]);
    is_written =
        transfer_write(file, head, put_field(head, SPACE_PLANES, BYTES, length)) && transfer_write(file, plane, length);
  }
  return is_written;
}

uint64_t jax_profile_write(const char *session, const char *bytes, size_t length)
{
  char path[320];
  snprintf(path, sizeof path, "%s/tracer-%d.xplane.pb", session, (int)getpid());
  int file SCOPED(scoped_close) = open(path, O_WRONLY | O_CREAT | O_NOFOLLOW | O_CLOEXEC, 0600);
  off_t before = file >= 0 ? lseek(file, 0, SEEK_END) : -1, after = -1;
  if (before >= 0 && transfer_write(file, bytes, length) && write_threads(file))
    after = lseek(file, 0, SEEK_CUR);
  if (before >= 0 && after < 0 && ftruncate(file, before) != 0)
    (void)unlink(path); // half a profile would cost the whole ones before it
  return after > 0 ? (uint64_t)after : 0;
}
