// SPDX-License-Identifier: Apache-2.0
// Checked writes to one output file. Called by the exports and the page; the front door (exports.c) renames and
// removes.
#include "report/exports/file.h"

#include "analyze/analyze.h"
#include "base/scoped.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

#define FLUSH_BYTES ((size_t)1 << 18)
#define REPORT_SPANS 4096

static bool is_stdout(const char *path)
{
  return strcmp(path, "-") == 0;
}

static enum status set_failure(const char *path, struct error *err)
{
  const char *advice = errno == ENOENT || errno == ENOTDIR ? "a folder that exists"
                       : errno == EACCES || errno == EROFS ? "a folder that may be written to"
                                                           : "another place, with room for it";
  return is_stdout(path) && errno == EPIPE // the caller ends quietly
             ? STATUS_SYSTEM
             : error_set_errno(err, STATUS_SYSTEM, "cannot write", is_stdout(path) ? "stdout" : path, advice);
}

static enum status failed(struct export_file *file)
{
  return file->status = set_failure(file->path, file->err);
}

// Made anew: in a folder that everybody writes to, a file or a link of that name could be somebody else's.
static int make_file(const char *path)
{
  return open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
}

enum status export_file_make(const char *path, struct error *err)
{
  int file SCOPED(scoped_close) = make_file(path);
  if (file < 0)
    return set_failure(path, err);
  return STATUS_OK;
}

// A closed stdout was opened for reading when the program began, so that no file takes its number.
static bool is_writable(int file)
{
  int flags = fcntl(file, F_GETFL);
  return flags >= 0 && (flags & O_ACCMODE) != O_RDONLY;
}

enum status export_file_open(const char *path, struct export_file *ret_file, struct error *err)
{
  *ret_file = (struct export_file){.path = path, .err = err};
  buf_init(&ret_file->out, BUF_MAXIMUM_DEFAULT);
  if (is_stdout(path) && !is_writable(STDOUT_FILENO))
    return ret_file->status = error_set(err, STATUS_SYSTEM, "cannot write", "stdout", "-o FILE", "it is closed");
  int file = is_stdout(path) ? fcntl(STDOUT_FILENO, F_DUPFD_CLOEXEC, STDERR_FILENO + 1) : make_file(path);
  ret_file->stream = file >= 0 ? fdopen(file, "wb") : NULL;
  return ret_file->stream != NULL ? STATUS_OK : failed(ret_file);
}

static void write_bytes(struct export_file *file, const void *bytes, size_t length)
{
  if (file->status == STATUS_OK && length > 0 && fwrite(bytes, 1, length, file->stream) != length)
    (void)failed(file);
}

static void write_buf(struct export_file *file, struct buf *buf)
{
  if (file->status == STATUS_OK && buf->failed)
    file->status = error_set(file->err, STATUS_INPUT, "cannot write", file->path, NULL, "a part is larger than 1 GiB");
  write_bytes(file, buf->data, buf->length);
  buf_clear(buf);
}

void export_file_spans(struct export_file *file, size_t count)
{
  uint64_t before = file->spans;
  file->spans += count;
  if (before / REPORT_SPANS != file->spans / REPORT_SPANS)
    headway_tell(&file->watcher, file->spans, file->all_spans);
}

static enum status add_count(void *context, const struct store_cell *cells, size_t count, struct error *err)
{
  *(uint64_t *)context += (uint64_t)cells[0].integer;
  return STATUS_OK;
}

enum status export_file_count_spans(struct export_file *file, struct store *store, struct error *err)
{
  const struct store_query_sink sink = {.context = &file->all_spans, .row = add_count};
  return file->watcher.step != NULL ? store_query(store, "select count(*) from span", &sink, err) : STATUS_OK;
}

void export_file_flush(struct export_file *file)
{
  if (file->out.length >= FLUSH_BYTES || file->out.failed)
    write_buf(file, &file->out);
}

void export_file_put(struct export_file *file, struct buf *buf)
{
  write_buf(file, &file->out);
  write_buf(file, buf);
}

void export_file_put_bytes(struct export_file *file, const void *bytes, size_t length)
{
  write_buf(file, &file->out);
  write_bytes(file, bytes, length);
}

enum status export_file_close(struct export_file *file, enum status status)
{
  if (file->status == STATUS_OK)
    file->status = status;
  if (file->stream != NULL) {
    write_buf(file, &file->out);
    // A pipe or a device cannot be synced (EINVAL); a full disk shows in the flush or in the close.
    if (file->status == STATUS_OK &&
        (fflush(file->stream) != 0 ||
         (!file->is_scratch && fsync(fileno(file->stream)) != 0 && errno != EINVAL && errno != EROFS)))
      (void)failed(file);
    if (fclose(file->stream) != 0 && file->status == STATUS_OK)
      (void)failed(file);
  }
  buf_done(&file->out);
  return status != STATUS_OK ? status : file->status;
}
