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
    {0,
     BYTES("MOJ"),
     {"it is a profile of Austin in its own form (MOJO)", "mojo2austin FILE TEXT, then austin2pprof TEXT FILE.pb.gz"}},
    {0, BYTES("memray"), {"it is a recording of memray: allocations without times", "xsp run"}},
    {0,
     BYTES("name,src_file,src_line,"),
     {"it is a table of Tracy's zones, which names no threads", "xsp run, or a trace of another profiler"}},
    {0, BYTES("layerName;execStatus;"), {"it is a table of OpenVINO's benchmark_app", "xsp profile MODEL"}},
    {0,
     BYTES("\0\0\0\0\0\0\0\0\3\0\0\0\0\0\0\0"),
     {"it is a CPU profile of gperftools in its own form", "pprof -proto PROGRAM FILE > FILE.pb.gz"}},
    {0,
     BYTES("\x80\2}"),
     {"it is a pickle of Python, such as a snapshot of PyTorch's memory", "torch.profiler's trace"}},
    {0,
     BYTES("\x80\3}"),
     {"it is a pickle of Python, such as a snapshot of PyTorch's memory", "torch.profiler's trace"}},
    {0,
     BYTES("\x80\4\x95"),
     {"it is a pickle of Python, such as a snapshot of PyTorch's memory", "torch.profiler's trace"}},
    {0,
     BYTES("\x80\5\x95"),
     {"it is a pickle of Python, such as a snapshot of PyTorch's memory", "torch.profiler's trace"}},
    {0,
     BYTES("Time (%),Total Time (ns),"),
     {"it is a table of nsys stats: sums, no times", "nsys export --type sqlite of the .nsys-rep"}},
    {0,
     BYTES("Time(%),Total Time (ns),"),
     {"it is a table of nsys stats: sums, no times", "nsys export --type sqlite of the .nsys-rep"}},
    {0, BYTES("\"Kind\",\"Agent_Id\","), {"it is a table of rocprofv3", "rocprofv3 --output-format json"}},
    {0, BYTES("\"Domain\",\"Function\","), {"it is a table of rocprofv3", "rocprofv3 --output-format json"}},
};

// Words that only one tool's JSON has.
static const struct {
  const char *word;
  struct foreign_format format;
} documents[] = {
    {"speedscope.app/file-format-schema",
     {"it is a profile for speedscope", "the trace it was made of; py-spy record --format chrometrace"}},
    {"\"n_cpu_percent_python\"",
     {"it is a profile of Scalene: shares of lines, no times", "py-spy record --format chrometrace, or xsp run"}},
    {"\"preprocessedProfileVersion\"",
     {"it is a profile for Firefox's profiler, as samply writes it", "perf record, then perf script > FILE.perf"}},
    {"\"callFrame\"", {"it is a CPU profile of Chrome or Node.js", "a trace of Chrome's, with \"traceEvents\""}},
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
      {".tracy", {"it is a trace of Tracy", "xsp run, or a trace of another profiler"}},
      {".ncu-rep", {"it is an Nsight Compute report", "ncu --import FILE --csv --page raw > FILE.csv"}},
  };
  for (size_t i = 0; i < sizeof names / sizeof names[0]; i++)
    if (slice_ends_with(slice_of(path), names[i].ending))
      return &names[i].format;
  static const struct foreign_format events = {"it has TensorBoard's scalars and graphs, no trace",
                                               "plugins/profile/*/*.xplane.pb beside it"};
  return slice_contains(slice_of(path), ".tfevents.") ? &events : NULL;
}

// "main (a.py:3);step (a.py:9) 12": call paths with sums, in each of the first lines.
static bool is_folded(struct slice head)
{
  struct slice rest = head, line;
  unsigned lines = 0, chains = 0;
  for (unsigned i = 0; i < 8 && slice_cut(&rest, '\n', &line) && rest.length > 0; i++) { // the last one may be cut
    const char *space = line.length > 0 ? memrchr(line.data, ' ', line.length) : NULL;
    int64_t sum;
    if (space == NULL || !slice_int64(slice_after(line, (size_t)(space - line.data) + 1), &sum))
      return false;
    chains += memchr(line.data, ';', line.length) != NULL;
    lines++;
  }
  return lines > 0 && chains > 0;
}

// Austin's text, behind its comments: "P7;T0x7f10:MainThread;a.py:f:12 100".
static bool is_of_austin(struct slice head)
{
  struct slice rest = head, line, process;
  int64_t number;
  for (unsigned i = 0; i < 32 && slice_cut(&rest, '\n', &line); i++)
    if (slice_trim(line).length > 0 && !slice_starts_with(line, "#"))
      return slice_starts_with(line, "P") && slice_cut(&line, ';', &process) &&
             slice_int64(slice_after(process, 1), &number) && slice_starts_with(line, "T");
  return false;
}

// Frames of perf script: after a tab an address in hexadecimal, a name and, in parentheses, a library.
static bool has_frames_of_perf(struct slice head)
{
  struct slice rest = head, line;
  for (unsigned i = 0; i < 64 && slice_cut(&rest, '\n', &line); i++) {
    struct slice text = slice_trim(line);
    size_t digits = 0;
    while (digits < text.length && strchr("0123456789abcdef", text.data[digits]) != NULL && text.data[digits] != 0)
      digits++;
    if (slice_starts_with(line, "\t") && digits >= 4 && slice_starts_with(slice_after(text, digits), " ") &&
        slice_ends_with(text, ")"))
      return true;
  }
  return false;
}

static const struct foreign_format *recognise_text(struct slice head)
{
  static const struct foreign_format folded = {"it has call paths with sums (folded stacks), no times",
                                               "py-spy record --format chrometrace, or perf script > FILE.perf"},
                                     perf = {"it is of perf script, without the fields that are read",
                                             "perf script -F comm,pid,tid,cpu,time,period,event,ip,sym,dso"},
                                     austin = {"it is a profile of Austin as text", "austin2pprof FILE FILE.pb.gz"};
  if (is_of_austin(head))
    return &austin;
  if (is_folded(head))
    return &folded;
  return has_frames_of_perf(head) ? &perf : NULL;
}

static const struct foreign_format *recognise_document(struct slice head)
{
  static const struct foreign_format json = {"it is JSON, but not a trace that xsp reads", NULL};
  for (size_t i = 0; i < sizeof documents / sizeof documents[0]; i++)
    if (slice_contains(head, documents[i].word))
      return &documents[i].format;
  return &json;
}

// What Python's marshal writes of a dictionary whose keys are tuples.
static bool is_of_cprofile(struct slice head)
{
  return head.length > 1 && (head.data[0] & 0x7f) == '{' &&
         ((head.data[1] & 0x7f) == '(' || (head.data[1] & 0x7f) == ')');
}

const struct foreign_format *foreign_recognise(const char *path, struct slice head, bool is_all)
{
  static const struct foreign_format blank = {"it holds nothing but white space", "the trace that the profiler wrote"};
  for (size_t i = 0; i < sizeof signatures / sizeof signatures[0]; i++) {
    const struct signature *signature = &signatures[i];
    if (head.length >= signature->at + signature->length &&
        memcmp(head.data + signature->at, signature->bytes, signature->length) == 0)
      return &signature->format;
  }
  static const struct foreign_format cprofile = {"it is a profile of Python's cProfile: sums, no times",
                                                 "py-spy record --format chrometrace, or xsp run"};
  if (is_of_cprofile(head))
    return &cprofile;
  head = slice_trim(head);
  if (head.length == 0)
    return is_all ? &blank : NULL;
  if (head.data[0] == '{' || head.data[0] == '[')
    return recognise_document(head);
  const struct foreign_format *text = recognise_text(head);
  return text != NULL ? text : recognise_name(path);
}
