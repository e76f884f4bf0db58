// SPDX-License-Identifier: Apache-2.0
// By their first bytes: files that people hand to import by mistake, or from tools that have an export of their own.
#include "importers/importer.h"

#include <string.h>

struct signature {
  size_t at;
  const char *bytes;
  size_t length;
  struct foreign_format format;
};
#define BYTES(text) text, sizeof text - 1

static const struct signature signatures[] = {
    {68, BYTES("XSP1"), {"it is an .xsp file already", "xsp info, or xsp analyze"}},
    {0, BYTES("SQLite format 3\0"), {"it is an SQLite database, but not an export of Nsight Systems", NULL}},
    {0,
     BYTES("QDSTRM"),
     {"it is an unfinished capture of Nsight Systems", "nsys export --type sqlite of its .nsys-rep"}},
    {0, BYTES("NVIDIA Nsight"), {"it is an Nsight Systems report", "nsys export --type sqlite"}},
    {0, BYTES("NVNSYS"), {"it is an Nsight Systems report", "nsys export --type sqlite"}},
    {0,
     BYTES("\x7f"
           "ELF"),
     {"it is a program or library", "xsp run, or the trace that its profiler wrote"}},
    {0, BYTES("PK\x03\x04"), {"it is a zip archive", "the files in it"}},
    {0, BYTES("\x1f\x8b"), {"it is compressed twice", "gunzip first"}},
    {0, BYTES("\x28\xb5\x2f\xfd"), {"it is compressed twice", "unzstd first"}},
    {0, BYTES("BZh"), {"it is compressed by bzip2", "bunzip2 first"}},
    {0,
     BYTES("\xfd"
           "7zXZ\0"),
     {"it is compressed by xz", "unxz first"}},
    {257, BYTES("ustar"), {"it is a tar archive", "the files in it"}},
    {0, BYTES("PERFILE2"), {"it is a recording of perf", "perf script > FILE.perf"}},
    {0, BYTES("\xc1\x1f\xfc\xc1"), {"it is a CTF stream", NULL}},
    {0, BYTES("\x89PNG"), {"it is a picture", NULL}},
    {0, BYTES("\x93NUMPY"), {"it is a NumPy array", NULL}},
};

// Reports whose makers do not say how their bytes begin.
static const struct foreign_format *recognise_name(const char *path)
{
  static const struct {
    const char *ending;
    struct foreign_format format;
  } names[] = {
      {".nsys-rep", {"it is an Nsight Systems report", "nsys export --type sqlite"}},
      {".qdrep", {"it is an Nsight Systems report", "nsys export --type sqlite"}},
      {".qdstrm", {"it is an unfinished capture of Nsight Systems", "nsys export --type sqlite of its .nsys-rep"}},
      {".ncu-rep", {"it is an Nsight Compute report", "ncu --import FILE --csv --page raw > FILE.csv"}},
  };
  for (size_t i = 0; i < sizeof names / sizeof names[0]; i++)
    if (slice_ends_with(slice_of(path), names[i].ending))
      return &names[i].format;
  return NULL;
}

const struct foreign_format *foreign_recognise(const char *path, struct slice head, bool is_all)
{
  static const struct foreign_format json = {"it is JSON, but not a trace that xsp reads", NULL};
  static const struct foreign_format blank = {"it holds nothing but white space", "the trace that the profiler wrote"};
  for (size_t i = 0; i < sizeof signatures / sizeof signatures[0]; i++) {
    const struct signature *signature = &signatures[i];
    if (head.length >= signature->at + signature->length &&
        memcmp(head.data + signature->at, signature->bytes, signature->length) == 0)
      return &signature->format;
  }
  head = slice_trim(head);
  if (head.length == 0)
    return is_all ? &blank : NULL;
  return head.data[0] == '{' || head.data[0] == '[' ? &json : recognise_name(path);
}
