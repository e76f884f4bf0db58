// SPDX-License-Identifier: Apache-2.0
// Checked writes to one output file. Used by the exports. The front door (exports.c) renames and removes.
#include "report/exports/file.h"

#include <errno.h>
#include <string.h>
#include <unistd.h>

static enum status failed(const struct export_file *file, struct error *err)
{
  const char *advice = errno == ENOENT || errno == ENOTDIR ? "a folder that exists"
                       : errno == EACCES || errno == EROFS ? "a folder that may be written to"
                                                           : "another place, with room for it";
  return error_set_errno(err, STATUS_SYSTEM, "cannot write", file->path, advice);
}

enum status export_file_open(const char *path, struct export_file *ret_file, struct error *err)
{
  *ret_file = (struct export_file){.path = path, .stream = fopen(path, "wbe")};
  return ret_file->stream != NULL ? STATUS_OK : failed(ret_file, err);
}

enum status export_file_write(struct export_file *file, const void *bytes, size_t length, struct error *err)
{
  return length == 0 || fwrite(bytes, 1, length, file->stream) == length ? STATUS_OK : failed(file, err);
}

enum status export_file_flush_buf(struct export_file *file, struct buf *buf, struct error *err)
{
  if (buf->failed)
    return error_set(err, STATUS_MEMORY, "cannot write", file->path, NULL, "out of memory");
  enum status status = export_file_write(file, buf->data, buf->length, err);
  buf_clear(buf);
  return status;
}

enum status export_file_close(struct export_file *file, struct error *err)
{
  FILE *stream = file->stream;
  file->stream = NULL;
  // A pipe or a device cannot be synced (EINVAL); a full disk shows in the flush or in the close.
  bool written = fflush(stream) == 0 && (fsync(fileno(stream)) == 0 || errno == EINVAL || errno == EROFS);
  enum status status = written ? STATUS_OK : failed(file, err);
  if (fclose(stream) != 0 && status == STATUS_OK)
    status = failed(file, err);
  return status;
}

void export_file_abandon(struct export_file *file)
{
  if (file->stream != NULL)
    fclose(file->stream);
  file->stream = NULL;
}
