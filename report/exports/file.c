// SPDX-License-Identifier: Apache-2.0
// Checked writes to one output file. Called by the exports and the page; the front door (exports.c) renames and
// removes.
#include "report/exports/file.h"

#include <errno.h>
#include <string.h>
#include <unistd.h>

#define FLUSH_BYTES ((size_t)1 << 18)

static enum status failed(struct export_file *file)
{
  const char *advice = errno == ENOENT || errno == ENOTDIR ? "a folder that exists"
                       : errno == EACCES || errno == EROFS ? "a folder that may be written to"
                                                           : "another place, with room for it";
  file->status = error_set_errno(file->err, STATUS_SYSTEM, "cannot write", file->path, advice);
  return file->status;
}

enum status export_file_open(const char *path, struct export_file *ret_file, struct error *err)
{
  *ret_file = (struct export_file){.path = path, .stream = fopen(path, "wbe"), .err = err};
  buf_init(&ret_file->out, BUF_MAXIMUM_DEFAULT);
  return ret_file->stream != NULL ? STATUS_OK : failed(ret_file);
}

static void write_buf(struct export_file *file, struct buf *buf)
{
  if (file->status == STATUS_OK && buf->failed)
    file->status = error_set(file->err, STATUS_INPUT, "cannot write", file->path, NULL, "a part is larger than 1 GiB");
  if (file->status == STATUS_OK && buf->length > 0 && fwrite(buf->data, 1, buf->length, file->stream) != buf->length)
    (void)failed(file);
  buf_clear(buf);
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

enum status export_file_close(struct export_file *file, enum status status)
{
  if (file->status == STATUS_OK)
    file->status = status;
  if (file->stream != NULL) {
    write_buf(file, &file->out);
    // A pipe or a device cannot be synced (EINVAL); a full disk shows in the flush or in the close.
    if (file->status == STATUS_OK &&
        (fflush(file->stream) != 0 || (fsync(fileno(file->stream)) != 0 && errno != EINVAL && errno != EROFS)))
      (void)failed(file);
    if (fclose(file->stream) != 0 && file->status == STATUS_OK)
      (void)failed(file);
  }
  buf_done(&file->out);
  return status != STATUS_OK ? status : file->status;
}
