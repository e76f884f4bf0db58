// SPDX-License-Identifier: Apache-2.0
// Text of `perf script`: samples of threads with their call paths. See docs/importers.md.
//
//      python3  1234/1235  [001]   512.345678:     250000 cpu-clock:P:
//              7f3a81c04f45 sgemm_kernel+0x25 (/usr/lib/libblas.so.3)       innermost frame first
//              7f3a81c00112 main+0x12 (/usr/bin/net)
#include "base/map.h"
#include "base/sorted.h"
#include "base/vector.h"
#include "format/level.h"
#include "importers/text_file.h"

#include <inttypes.h>

#define SECONDS 6 // as a power of ten of µs

// ---- lines -----------------------------------------------------------------------------------------------------------
struct header { // of a sample
  struct slice command, process, thread, time, event;
  uint64_t period;
};

static struct slice next_word(struct slice *rest)
{
  struct slice word;
  *rest = slice_trim(*rest);
  word = *rest;
  for (size_t i = 0; i < rest->length; i++)
    if (rest->data[i] == ' ' || rest->data[i] == '\t') {
      word.length = i;
      break;
    }
  *rest = slice_after(*rest, word.length);
  return word;
}

static bool is_time(struct slice word)
{
  size_t digits = 0, points = 0;
  for (size_t i = 0; i + 1 < word.length; i++) {
    digits += word.data[i] >= '0' && word.data[i] <= '9';
    points += word.data[i] == '.';
  }
  return points == 1 && digits + 2 == word.length && word.data[word.length - 1] == ':';
}

static struct slice last_word(struct slice *text)
{
  *text = slice_trim(*text);
  size_t start = text->length;
  while (start > 0 && text->data[start - 1] != ' ')
    start--;
  struct slice word = slice_after(*text, start);
  text->length = start;
  *text = slice_trim(*text);
  return word;
}

// Names of commands may have spaces: what comes before the time is read from its end.
static bool read_header(struct slice line, struct header *ret_header)
{
  struct slice rest = line, word, before;
  int64_t number;
  do {
    word = next_word(&rest);
  } while (word.length > 0 && !is_time(word));
  if (word.length == 0)
    return false;
  before = (struct slice){line.data, (size_t)(word.data - line.data)};
  ret_header->time = (struct slice){word.data, word.length - 1};
  word = last_word(&before);
  if (slice_starts_with(word, "[")) // the CPU
    word = last_word(&before);
  struct slice ids = word;
  if (!slice_cut(&ids, '/', &ret_header->process))
    return false;
  ret_header->thread = ids.data != NULL ? ids : ret_header->process;
  ret_header->command = before;
  word = next_word(&rest);
  ret_header->event = next_word(&rest);
  if (!slice_int64(ret_header->process, &number) || !slice_int64(ret_header->thread, &number) ||
      !slice_int64(word, &number) || number < 0 || !slice_ends_with(ret_header->event, ":"))
    return false;
  ret_header->period = (uint64_t)number;
  return true;
}

static int recognize(struct slice head, bool is_all)
{
  struct slice rest = head, line;
  struct header header;
  bool is_header = false;
  for (int i = 0; i < 64 && slice_cut(&rest, '\n', &line);) {
    struct slice text = slice_trim(line);
    i += !slice_starts_with(text, "#"); // --header has several for each processor
    if (is_header && slice_starts_with(line, "\t") && slice_ends_with(text, ")"))
      return 3;
    if (text.length > 0 && !slice_starts_with(text, "#"))
      is_header = read_header(line, &header);
    if (is_header && slice_ends_with(text, ")")) // without call paths its frame is on the same line
      return 2;
  }
  return 0;
}

// ---- samples ---------------------------------------------------------------------------------------------------------
struct frame { // ids of import_string
  uint32_t name, module;
  enum xsp_frame_kind kind;
};
struct thread {
  uint32_t track_id, process;
  int64_t last_ns;
  bool has_last;
};
struct process {
  uint32_t track_id, name;
  int64_t first_ns, last_ns;
};
struct reading {
  struct import *import;
  struct map thread_of, process_of; // (process, thread) → place + 1; process → place + 1
  VECTOR(struct thread) threads;
  VECTOR(struct process) processes;
  VECTOR(struct import_sample) samples;
  VECTOR(uint32_t) process_of_sample;
  VECTOR(int64_t) gaps;        // between samples of one thread
  VECTOR(struct frame) frames; // of the sample that is read, the innermost first
  struct import_sample sample;
  uint32_t process; // of the sample
  bool is_open;
  uint32_t event; // whose samples are taken: the first
  bool is_clock;  // its periods are nanoseconds
};

static enum status find_thread(struct reading *reading, const struct header *header, struct thread **ret_thread,
                               struct error *err)
{
  struct store_track track = IMPORT_NO_PLACE;
  uint32_t command = import_slice(reading->import, header->command);
  (void)slice_int64(header->process, &track.process_id);
  (void)slice_int64(header->thread, &track.thread_id);
  struct map_key key = {(uint64_t)track.process_id, (uint64_t)track.thread_id + 1};
  uint64_t *place = map_at(&reading->thread_of, key, NULL);
  if (*place == 0) {
    struct thread thread = {0};
    track.name = import_text(reading->import, command, NULL);
    XSP_TRY(import_track(reading->import, &track, &thread.track_id, err));
    uint64_t *process = map_at(&reading->process_of, map_number((uint64_t)track.process_id), NULL);
    if (*process == 0) {
      *vector_add(&reading->processes) = (struct process){thread.track_id, command, INT64_MAX, INT64_MIN};
      *process = reading->processes.count;
    }
    thread.process = (uint32_t)*process - 1;
    *vector_add(&reading->threads) = thread;
    *place = reading->threads.count;
  }
  *ret_thread = &reading->threads.items[*place - 1];
  return STATUS_OK;
}

static void end_sample(struct reading *reading)
{
  size_t count = reading->frames.count;
  if (!reading->is_open)
    return;
  uint32_t path = 0;
  for (size_t i = count < XSP_CALL_PATH_FRAMES ? count : XSP_CALL_PATH_FRAMES; i > 0; i--) {
    const struct frame *frame = &reading->frames.items[i - 1];
    uint32_t next = import_path(reading->import, path, frame->kind, frame->name, frame->module);
    path = next != 0 ? next : path;
  }
  reading->sample.path = path;
  *vector_add(&reading->samples) = reading->sample;
  *vector_add(&reading->process_of_sample) = reading->process;
  reading->is_open = false;
}

// "cpu-clock:pppH:" → "cpu-clock".
static bool is_clock(struct slice event)
{
  struct slice name;
  return slice_cut(&event, ':', &name) && (slice_is(name, "cpu-clock") || slice_is(name, "task-clock"));
}

// "cpu_core/cycles/P:" and "cpu_atom/cycles/P:" are one event, of the two kinds of processors that a machine may have: a thread is on
// one at a time.
static struct slice of_any_processor(struct slice event)
{
  struct slice rest = event, unit;
  return slice_cut(&rest, '/', &unit) && rest.length > 0 ? rest : event;
}

static enum status begin_sample(struct reading *reading, const struct header *header, struct error *err)
{
  struct import *import = reading->import;
  struct store_span times;
  struct thread *thread;
  bool has_times;
  uint32_t event = import_slice(import, of_any_processor(header->event));
  if (reading->event == 0) {
    reading->event = event;
    reading->is_clock = is_clock(header->event);
  }
  if (event != reading->event) {
    import_skip(import, "of another event than the first");
    return STATUS_OK;
  }
  XSP_TRY(import_decimal_times(import, (struct import_decimal){header->time, SECONDS},
                               (struct import_decimal){slice_of("0"), 0}, &times, &has_times, err));
  if (!has_times)
    return STATUS_OK;
  XSP_TRY(find_thread(reading, header, &thread, err));
  if (thread->has_last && times.start_ns > thread->last_ns)
    *vector_add(&reading->gaps) = times.start_ns - thread->last_ns;
  thread->last_ns = times.start_ns;
  thread->has_last = true;
  struct process *process = &reading->processes.items[thread->process];
  process->first_ns = times.start_ns < process->first_ns ? times.start_ns : process->first_ns;
  process->last_ns = times.start_ns > process->last_ns ? times.start_ns : process->last_ns;
  reading->sample = (struct import_sample){.time_ns = times.start_ns,
                                           .duration_ns = header->period < INT64_MAX ? (int64_t)header->period : 0,
                                           .track_id = thread->track_id,
                                           .kind = SAMPLE_CPU};
  reading->process = thread->process;
  reading->is_open = true;
  return STATUS_OK;
}

// The place after the parenthesis that the last one closes: "(/memfd:jit (deleted))". Where none does, after the last that opens;
// 0: there is none.
static size_t find_module(struct slice text)
{
  size_t depth = 0, last = 0;
  for (size_t at = slice_ends_with(text, ")") ? text.length : 0; at > 0; at--) {
    depth += text.data[at - 1] == ')';
    if (text.data[at - 1] != '(')
      continue;
    if (--depth == 0)
      return at;
    last = last == 0 ? at : last;
  }
  return last;
}

// "7f3a81c04f45 sgemm_kernel+0x25 (/usr/lib/libblas.so.3)". CPython's own trampolines are "py::function:/path/file.py".
static void read_frame(struct reading *reading, struct slice text)
{
  struct import *import = reading->import;
  struct frame frame = {.kind = XSP_FRAME_NATIVE};
  (void)next_word(&text);
  text = slice_trim(text);
  size_t open = find_module(text);
  if (open < 2)
    return;
  struct slice module = {text.data + open, text.length - open - 1},
               name = slice_trim((struct slice){text.data, open - 1});
  const char *offset = name.length > 0 ? memrchr(name.data, '+', name.length) : NULL;
  if (offset != NULL && slice_starts_with(slice_after(name, (size_t)(offset - name.data)), "+0x"))
    name.length = (size_t)(offset - name.data);
  if (slice_starts_with(name, "py::")) {
    struct slice rest = slice_after(name, strlen("py::"));
    (void)slice_cut(&rest, ':', &name);
    module = rest.data != NULL ? rest : slice_of("");
    frame.kind = XSP_FRAME_PYTHON;
  }
  if (!slice_is(name, "[unknown]"))
    frame.name = import_slice(import, name);
  if (!slice_is(module, "[unknown]") && !slice_is(module, "inlined"))
    frame.module = import_slice(import, module);
  if (frame.name != 0 || frame.module != 0)
    *vector_add(&reading->frames) = frame;
}

static enum status read_line(void *context, struct buf *line, struct error *err)
{
  struct reading *reading = context;
  struct slice text = {line->data, line->length};
  struct header header;
  if (slice_starts_with(text, "\t")) {
    if (reading->is_open)
      read_frame(reading, text);
    return STATUS_OK;
  }
  bool is_header = read_header(text, &header);
  if (!is_header && reading->is_open && slice_starts_with(text, "  ")) // -F +srcline: the place of the frame before
    return STATUS_OK;
  end_sample(reading);
  reading->frames.count = 0;
  if (!is_header) {
    import_skip(reading->import, "not a sample");
    return STATUS_OK;
  }
  XSP_TRY(begin_sample(reading, &header, err));
  struct slice frame = slice_after(text, (size_t)(header.event.data + header.event.length - text.data));
  if (reading->is_open && slice_trim(frame).length > 0)
    read_frame(reading, frame);
  return STATUS_OK;
}

// ---- the file's end --------------------------------------------------------------------------------------------------
// Samples of other events than a clock come at a rate: each stands for the usual time between two of one thread.
static int64_t usual_gap(struct reading *reading)
{
  if (reading->gaps.count == 0)
    return 0;
  vector_sort(&reading->gaps, sorted_compare_i64);
  return reading->gaps.items[(reading->gaps.count - 1) / 2];
}

// The process as a span around all that its samples stand for.
static enum status put_process(struct reading *reading, size_t i, struct error *err)
{
  struct import *import = reading->import;
  const struct process *process = &reading->processes.items[i];
  struct store_span span = {.span_id = (int64_t)i + 1,
                            .track_id = process->track_id,
                            .level = XSP_LEVEL_APPLICATION,
                            .kind = XSP_KIND_SYNC,
                            .category = import_word(import, "process"),
                            .name = process->name,
                            .start_ns = process->first_ns};
  if (__builtin_sub_overflow(process->last_ns, process->first_ns, &span.duration_ns))
    return import_broken(import, err, 0, "a duration is beyond 64 bits of nanoseconds");
  return import_span(import, &span, err);
}

static enum status put_all(struct reading *reading, struct error *err)
{
  struct import *import = reading->import;
  int64_t gap_ns = reading->is_clock ? 0 : usual_gap(reading);
  for (size_t i = 0; i < reading->samples.count; i++) {
    struct import_sample *sample = &reading->samples.items[i];
    struct process *process = &reading->processes.items[reading->process_of_sample.items[i]];
    int64_t first_ns;
    if (!reading->is_clock)
      sample->duration_ns = gap_ns;
    if (!__builtin_sub_overflow(sample->time_ns, sample->duration_ns, &first_ns) && first_ns < process->first_ns)
      process->first_ns = first_ns;
    import_sample(import, sample);
  }
  for (size_t i = 0; i < reading->processes.count; i++)
    XSP_TRY(put_process(reading, i, err));
  if (!reading->is_clock && reading->samples.count > 0)
    import_note(import,
                "event %s counts no time: each sample stands for %" PRId64 " ns, the median between two of a thread",
                import_text(import, reading->event, NULL), gap_ns);
  return STATUS_OK;
}

static enum status read_file(struct import *import, struct error *err)
{
  struct reading reading = {.import = import};
  // perf's clock is the kernel's own: it does not count from 1970
  import_run(import, &(struct store_run){0});
  enum status status = import_each_line(import, read_line, &reading, err);
  end_sample(&reading);
  if (status == STATUS_OK)
    status = put_all(&reading, err);
  map_done(&reading.thread_of);
  map_done(&reading.process_of);
  vector_done(&reading.threads);
  vector_done(&reading.processes);
  vector_done(&reading.samples);
  vector_done(&reading.process_of_sample);
  vector_done(&reading.gaps);
  vector_done(&reading.frames);
  return status;
}

const struct importer importer_perf = {
    .name = "perf",
    .summary = "text of perf script: samples of threads with call paths",
    .recognize = recognize,
    .read = read_file,
};
