// SPDX-License-Identifier: Apache-2.0
// Reads small files; see small_file.h. System calls only.
#include "base/small_file.h"

#include "base/scoped.h"

#include <fcntl.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

size_t small_file_read(const char *path, char *text, size_t size)
{
  size_t length = 0;
  int file SCOPED(scoped_close) = open(path, O_RDONLY | O_CLOEXEC);
  ssize_t got = 0;
  while (file >= 0 && length < size - 1 && (got = read(file, text + length, size - 1 - length)) > 0)
    length += (size_t)got;
  text[length] = '\0';
  return length;
}

bool small_file_line(const char *path, char *line, size_t size)
{
  small_file_read(path, line, size);
  line[strcspn(line, "\n")] = '\0';
  return line[0] != '\0';
}

double small_file_number(const char *text, const char *key)
{
  size_t length = strlen(key);
  for (const char *line = text; line != NULL && *line != 0;) {
    if (strncmp(line, key, length) == 0 && (line[length] == ' ' || line[length] == '\t' || line[length] == ':')) {
      const char *number = line + length + 1 + strspn(line + length + 1, " \t");
      char *end;
      double value = strtod(number, &end);
      return end != number ? value : NAN;
    }
    line = strchr(line, '\n');
    if (line != NULL)
      line++;
  }
  return NAN;
}
