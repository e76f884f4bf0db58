// SPDX-License-Identifier: Apache-2.0
// The .npy header is a Python dictionary literal; only what numpy.save writes is accepted. Used by the runner.
#include "base/npy.h"

#include "base/input_file.h"
#include "base/memory.h"
#include "base/scoped.h"
#include "base/transfer.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define MAGIC "\x93NUMPY"
#define MAGIC_SIZE 6
#define FILE_MAXIMUM ((int64_t)1 << 36)

struct text { // the header; not NUL-terminated
  const char *at, *end;
};

static enum status broken(const char *where, const char *why, struct error *err)
{
  return error_set(err, STATUS_INPUT, "cannot read array", where, "write it with numpy.save", "%s", why);
}

static void skip_space(struct text *text)
{
  while (text->at < text->end && (*text->at == ' ' || *text->at == '\n'))
    text->at++;
}

static bool take(struct text *text, const char *word)
{
  size_t length = strlen(word);
  skip_space(text);
  if ((size_t)(text->end - text->at) < length || memcmp(text->at, word, length) != 0)
    return false;
  text->at += length;
  return true;
}

static const char *read_type(struct text *text, struct npy *npy)
{
  skip_space(text);
  if (text->end - text->at < 5 || *text->at != '\'' || text->at[4] != '\'')
    return "no plain element type";
  char order = text->at[1], kind = text->at[2], digit = text->at[3];
  text->at += 5;
  if (order == '>')
    return "big-endian elements";
  if ((order != '<' && order != '|' && order != '=') || strchr("biuf", kind) == NULL || strchr("1248", digit) == NULL ||
      kind == 0 || digit == 0 || (kind == 'b' && digit != '1') || (kind == 'f' && digit == '1'))
    return "no plain element type";
  npy->kind = kind;
  npy->item_bytes = (unsigned)(digit - '0');
  return NULL;
}

static const char *read_shape(struct text *text, struct npy *npy)
{
  if (!take(text, "("))
    return "no shape";
  while (!take(text, ")")) {
    skip_space(text);
    if (npy->rank == NPY_MAXIMUM_RANK)
      return "too many dimensions";
    int64_t size = 0;
    const char *first = text->at;
    for (; text->at < text->end && *text->at >= '0' && *text->at <= '9'; text->at++) {
      if (size > FILE_MAXIMUM)
        return "a dimension is absurd";
      size = size * 10 + (*text->at - '0');
    }
    if (text->at == first)
      return "no shape";
    npy->shape[npy->rank++] = size;
    if (!take(text, ",")) {
      if (!take(text, ")"))
        return "no shape";
      break;
    }
  }
  return NULL;
}

static const char *read_header(struct text text, struct npy *npy)
{
  bool has_type = false, has_order = false, has_shape = false;
  const char *problem = NULL;
  if (!take(&text, "{"))
    return "no header";
  while (problem == NULL && !take(&text, "}")) {
    if (!has_type && take(&text, "'descr':")) {
      problem = read_type(&text, npy);
      has_type = true;
    } else if (!has_order && take(&text, "'fortran_order':")) {
      if (!take(&text, "False"))
        problem = "Fortran order; numpy.ascontiguousarray changes it";
      has_order = true;
    } else if (!has_shape && take(&text, "'shape':")) {
      problem = read_shape(&text, npy);
      has_shape = true;
    } else {
      return "no header";
    }
    if (problem == NULL && !take(&text, ",") && (text.at == text.end || *text.at != '}'))
      return "no header";
  }
  return problem != NULL ? problem : has_type && has_order && has_shape ? NULL : "no header";
}

enum status npy_parse(const uint8_t *bytes, size_t size, const char *where, struct npy *ret_npy, struct error *err)
{
  *ret_npy = (struct npy){0};
  if (size < MAGIC_SIZE + 4 || memcmp(bytes, MAGIC, MAGIC_SIZE) != 0)
    return broken(where, "no .npy file", err);
  unsigned version = bytes[MAGIC_SIZE];
  if (version < 1 || version > 3)
    return broken(where, "an unknown version of .npy", err);
  size_t length_bytes = version == 1 ? 2 : 4, start = MAGIC_SIZE + 2 + length_bytes;
  size_t length = 0;
  if (size < start)
    return broken(where, "the file ends in its header", err);
  for (size_t i = 0; i < length_bytes; i++)
    length |= (size_t)bytes[MAGIC_SIZE + 2 + i] << (8 * i);
  if (length > size - start)
    return broken(where, "the file ends in its header", err);
  const char *header = (const char *)bytes + start;
  const char *problem = read_header((struct text){header, header + length}, ret_npy);
  if (problem != NULL)
    return broken(where, problem, err);
  size_t data_bytes = ret_npy->item_bytes, count = 1;
  for (unsigned i = 0; i < ret_npy->rank; i++)
    if (__builtin_mul_overflow(data_bytes, (size_t)ret_npy->shape[i], &data_bytes) ||
        __builtin_mul_overflow(count, (size_t)ret_npy->shape[i], &count))
      return broken(where, "its shape is absurd", err);
  if (data_bytes != size - start - length)
    return error_set(err, STATUS_INPUT, "cannot read array", where, "write it with numpy.save",
                     "its shape needs %zu bytes, the file has %zu", data_bytes, size - start - length);
  ret_npy->count = count;
  ret_npy->data = bytes + start + length;
  ret_npy->data_bytes = data_bytes;
  return STATUS_OK;
}

static enum status read_all(const char *path, uint8_t **ret_bytes, size_t *ret_size, struct error *err)
{
  const char *what = "cannot read array";
  int fd SCOPED(scoped_close) = -1;
  struct stat info;
  XSP_TRY(input_file_open(path, INPUT_FILE_REGULAR, what, &fd, &info, err));
  if (info.st_size > FILE_MAXIMUM)
    return broken(path, "no .npy file", err);
  *ret_bytes = memory_resize(NULL, (size_t)info.st_size, 1);
  *ret_size = transfer_read(fd, *ret_bytes, (size_t)info.st_size);
  return STATUS_OK;
}

enum status npy_load(const char *path, struct npy *ret_npy, struct error *err)
{
  *ret_npy = (struct npy){0};
  uint8_t *bytes = NULL;
  size_t size = 0;
  XSP_TRY(read_all(path, &bytes, &size, err));
  enum status status = npy_parse(bytes, size, path, ret_npy, err);
  if (status != STATUS_OK)
    free(bytes);
  else
    ret_npy->owned = bytes;
  return status;
}

void npy_done(struct npy *npy)
{
  free(npy->owned);
  *npy = (struct npy){0};
}
