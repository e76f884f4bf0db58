// SPDX-License-Identifier: Apache-2.0
// The thread of --retention, and the list of uploads that it may remove: DIR/.xsp-serve.uploads, a line "NAME BYTES TIME_NS" for each.
// A file that was replaced or touched since then no longer fits its line, and is kept.
#include "serve/retention.h"

#include "base/buf.h"
#include "base/clock.h"
#include "base/condition.h"
#include "base/input_file.h"
#include "base/memory.h"
#include "base/scoped.h"
#include "base/slice.h"
#include "base/sorted.h"
#include "base/transfer.h"
#include "base/vector.h"

#include <ctype.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <unistd.h>

#define UPLOADS ".xsp-serve.uploads"
#define UPLOADS_BYTES_MOST ((size_t)64 << 20)
#define PERIOD_NS UINT64_C(2000000000)

struct retention {
  struct retention_options options;
  pthread_t thread;
  pthread_mutex_t lock;
  pthread_cond_t changed; // by CLOCK_MONOTONIC
  bool is_ending;
};

bool retention_is_server_name(const char *name)
{
  static const char form[] = "spans-00000000-000000-000.xsp";
  size_t at = 0;
  while (form[at] != 0 && (form[at] == '0' ? isdigit((unsigned char)name[at]) != 0 : name[at] == form[at]))
    at++;
  return form[at] == 0 && name[at] == 0;
}

// ---- uploads ---------------------------------------------------------------------------------------------------------
static void put_line(struct buf *out, const char *name, uint64_t bytes, int64_t changed_ns)
{
  buf_format(out, "%s %" PRIu64 " %" PRId64 "\n", name, bytes, changed_ns);
}

bool retention_add(int folder, const char *name, int file)
{
  struct stat facts, list_facts;
  struct buf line SCOPED(buf_done) = {0};
  int list SCOPED(scoped_close) = regular_file_open(folder, UPLOADS, O_WRONLY | O_CREAT | O_APPEND, &list_facts);
  bool is_done = list >= 0 && fstat(file, &facts) == 0;
  if (is_done) {
    put_line(&line, name, (uint64_t)facts.st_size, clock_ns_of(facts.st_mtim));
    is_done = write(list, line.data, line.length) == (ssize_t)line.length && fsync(list) == 0;
  }
  return is_done;
}

struct uploads {
  struct buf text;
  VECTOR(struct slice) lines; // of `text`, in order
};

SORTED_BY(compare_lines, struct slice, slice_compare(*a, *b))

// Empty where there is no such list. uploads_done must follow.
static void read_uploads(int folder, struct uploads *uploads)
{
  struct stat facts;
  struct slice rest, line;
  struct buf *text = &uploads->text;
  int list SCOPED(scoped_close) = regular_file_open(folder, UPLOADS, O_RDONLY, &facts);
  ssize_t count = 1;
  *uploads = (struct uploads){0};
  buf_init(text, UPLOADS_BYTES_MOST);
  while (list >= 0 && count > 0 && buf_reserve(text, 4096)) {
    count = read(list, text->data + text->length, 4096);
    text->length += count > 0 ? (size_t)count : 0;
  }
  for (rest = (struct slice){text->data, text->length}; slice_cut(&rest, '\n', &line);)
    *vector_add(&uploads->lines) = line;
  vector_sort(&uploads->lines, compare_lines);
}

static void uploads_done(struct uploads *uploads)
{
  vector_done(&uploads->lines);
  buf_done(&uploads->text);
}

static bool is_upload(const struct uploads *uploads, const struct kept_file *file)
{
  struct buf line SCOPED(buf_done) = {0};
  put_line(&line, file->name, file->bytes, file->changed_ns);
  const struct slice wanted = {line.data, line.length - 1}; // without the line's end
  return sorted_find(&wanted, uploads->lines.items, uploads->lines.count, sizeof wanted, compare_lines) != NULL;
}

// Writes the list again, with what is still there. Before anything can be uploaded.
static void forget_what_is_gone(int folder)
{
  struct uploads uploads;
  struct buf left SCOPED(buf_done) = {0};
  struct kept_files files;
  struct error error;
  struct stat facts;
  read_uploads(folder, &uploads);
  if (uploads.text.length > 0 && kept_list(folder, &files, &error) == STATUS_OK) {
    for (size_t i = 0; i < files.list.count; i++)
      if (is_upload(&uploads, &files.list.items[i]))
        put_line(&left, files.list.items[i].name, files.list.items[i].bytes, files.list.items[i].changed_ns);
    int list SCOPED(scoped_close) = regular_file_open(folder, UPLOADS ".new", O_WRONLY | O_CREAT | O_TRUNC, &facts);
    if (list >= 0 && transfer_write(list, left.data, left.length) && fsync(list) == 0)
      renameat(folder, UPLOADS ".new", folder, UPLOADS);
    vector_done(&files.list);
  }
  uploads_done(&uploads);
}

// ---- the thread ------------------------------------------------------------------------------------------------------
static bool is_ours(const struct uploads *uploads, const struct kept_file *file)
{
  return retention_is_server_name(file->name) || is_upload(uploads, file);
}

// Files of others count for nothing, neither as bytes nor as candidates.
static void remove_oldest(const struct retention_options *options)
{
  struct kept_files files;
  struct uploads uploads;
  struct error error;
  uint64_t bytes = 0;
  int64_t now_ns = (int64_t)clock_now_ns(CLOCK_REALTIME);
  if (kept_list(options->folder, &files, &error) != STATUS_OK)
    return;
  read_uploads(options->folder, &uploads);
  for (size_t i = 0; i < files.list.count; i++)
    bytes += is_ours(&uploads, &files.list.items[i]) ? files.list.items[i].bytes : 0;
  for (size_t i = files.list.count; i-- > 0;) {
    const struct kept_file *file = &files.list.items[i];
    bool is_old = options->age_s > 0 && (now_ns - file->changed_ns) / 1000000000 >= (int64_t)options->age_s;
    bool is_much = options->bytes > 0 && bytes > options->bytes;
    if ((!is_old && !is_much) || file->is_growing || !is_ours(&uploads, file) ||
        !kept_remove(options->uses, options->folder, file->name))
      continue;
    bytes -= file->bytes;
    options->message("xsp: removed %s/%s: %s", options->path, file->name,
                     is_old ? "it is older than --retention allows" : "more bytes are kept than --retention allows");
  }
  vector_done(&files.list);
  uploads_done(&uploads);
}

static void *run(void *context)
{
  struct retention *retention = context;
  SCOPED_LOCK(&retention->lock);
  while (!retention->is_ending) {
    pthread_mutex_unlock(&retention->lock);
    remove_oldest(&retention->options);
    uint64_t next_ns = clock_now_ns(CLOCK_MONOTONIC) + PERIOD_NS;
    pthread_mutex_lock(&retention->lock);
    if (!retention->is_ending)
      (void)condition_wait(&retention->changed, &retention->lock, next_ns);
  }
  return NULL;
}

enum status retention_start(const struct retention_options *options, struct retention **ret_retention,
                            struct error *err)
{
  *ret_retention = NULL;
  forget_what_is_gone(options->folder);
  if (options->age_s == 0 && options->bytes == 0)
    return STATUS_OK;
  struct retention *retention = memory_new(1, sizeof *retention);
  retention->options = *options;
  pthread_mutex_init(&retention->lock, NULL);
  condition_init(&retention->changed);
  if (pthread_create(&retention->thread, NULL, run, retention) == 0) {
    *ret_retention = retention;
    return STATUS_OK;
  }
  free(retention);
  return error_set(err, STATUS_SYSTEM, "cannot serve", NULL, NULL, "no thread can be started");
}

void retention_stop(struct retention *retention)
{
  if (retention == NULL)
    return;
  condition_raise(&retention->changed, &retention->lock, &retention->is_ending);
  pthread_join(retention->thread, NULL);
  pthread_cond_destroy(&retention->changed);
  pthread_mutex_destroy(&retention->lock);
  free(retention);
}
