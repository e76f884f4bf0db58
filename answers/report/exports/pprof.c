// SPDX-License-Identifier: Apache-2.0
// pprof's profile (https://github.com/google/pprof/blob/main/proto/profile.proto), as `go tool pprof` and its web viewers
// read it: a sample a context (stacks.h) with its spans and self time, in gzip; where the file has
// samples, of instructions or of threads, one more for each of their contexts. A run is a label of its samples; level, category and
// kind of a context's first span are labels, too, and the tags that all its spans have alike, for the importer.
#include "base/interner.h"
#include "base/json_write.h"
#include "base/scoped.h"
#include "base/slice.h"
#include "base/wire_write.h"
#include "report/exports/exports.h"
#include "report/exports/stacks.h"

#include <math.h>
#include <string.h>
#include <zlib.h>

enum { // field numbers of profile.proto
  PROFILE_SAMPLE_TYPE = 1,
  PROFILE_SAMPLE,
  PROFILE_MAPPING,
  PROFILE_LOCATION,
  PROFILE_FUNCTION,
  PROFILE_STRING_TABLE,
  PROFILE_DEFAULT_SAMPLE_TYPE = 14,
};
enum { VALUE_TYPE = 1, VALUE_UNIT };
enum { SAMPLE_LOCATION_ID = 1, SAMPLE_VALUE, SAMPLE_LABEL };
enum { LABEL_KEY = 1, LABEL_STR, LABEL_NUM };
enum { MAPPING_ID = 1, MAPPING_FILENAME = 5, MAPPING_HAS_FUNCTIONS = 7 };
enum { LOCATION_ID = 1, LOCATION_MAPPING_ID, LOCATION_ADDRESS, LOCATION_LINE };
enum { LINE_FUNCTION_ID = 1, LINE_LINE };
enum { FUNCTION_ID = 1, FUNCTION_NAME, FUNCTION_FILENAME = 4 }; // without a system name pprof takes the name as it is

struct pprof {
  struct timeline_writer writer;
  struct stacks stacks;
  struct buf profile;      // before it is compressed
  struct interner strings; // of the profile; "" is 0
  struct map numbers;      // of strings: by text of the store, by address of a word of ours, by key and type of tags
  struct map locations;    // by a context's name: number, from 1
  VECTOR(uint32_t) names;  // of the locations
  struct map mappings;     // by the string of a module: number, from 1
  struct buf scratch;
  struct store_note *notes; // of all runs
  size_t note_count;
  bool is_of_sums; // the current run
};

static uint64_t string_of_two(struct pprof *pprof, const char *first, const char *second)
{
  buf_clear(&pprof->scratch);
  buf_text(&pprof->scratch, first);
  buf_utf8(&pprof->scratch, second, strlen(second));
  return interner_at(&pprof->strings, pprof->scratch.length == 0 ? "" : pprof->scratch.data, pprof->scratch.length);
}

static uint64_t string_of(struct pprof *pprof, const char *text)
{
  return string_of_two(pprof, "", text);
}

enum { STRING_OF_STORE, STRING_OF_WORD, STRING_OF_KEY }; // of the latter four

static uint64_t string_known_as(struct pprof *pprof, struct map_key key, const char *text)
{
  bool is_new;
  uint64_t *number = map_at(&pprof->numbers, key, &is_new);
  if (is_new)
    *number = string_of(pprof, text);
  return *number;
}

static uint64_t string_of_word(struct pprof *pprof, const char *word) // which stays where it is
{
  return string_known_as(pprof, (struct map_key){(uintptr_t)word, STRING_OF_WORD}, word);
}

static uint64_t string_of_store(struct pprof *pprof, uint32_t string)
{
  return string_known_as(pprof, (struct map_key){string, STRING_OF_STORE},
                         store_text(pprof->stacks.store, string, NULL));
}

static uint64_t location_of(struct pprof *pprof, uint32_t name)
{
  bool is_new;
  uint64_t *number = map_at(&pprof->locations, map_number(name), &is_new);
  if (is_new) {
    *vector_add(&pprof->names) = name;
    *number = pprof->names.count;
  }
  return *number;
}

// ---- samples ---------------------------------------------------------------------------------------------------------
static void put_type(struct pprof *pprof, const char *type, const char *unit)
{
  size_t place = protobuf_begin(&pprof->profile, PROFILE_SAMPLE_TYPE);
  protobuf_varint(&pprof->profile, VALUE_TYPE, string_of(pprof, type));
  protobuf_varint(&pprof->profile, VALUE_UNIT, string_of(pprof, unit));
  protobuf_end(&pprof->profile, place);
}

static bool has_samples(const struct pprof *pprof, enum stacks_sampled which) // a further value of each sample
{
  return pprof->stacks.sampled[which].rows.count > 0;
}

static void begin(struct timeline_writer *writer)
{
  struct pprof *pprof = (struct pprof *)writer;
  (void)string_of(pprof, "");
  put_type(pprof, "spans", "count");
  put_type(pprof, "time", "nanoseconds");
  for (enum stacks_sampled which = 0; which < STACKS_SAMPLED; which++)
    if (has_samples(pprof, which))
      put_type(pprof, stacks_sampled_kinds[which].type, stacks_sampled_kinds[which].unit);
  protobuf_varint(&pprof->profile, PROFILE_DEFAULT_SAMPLE_TYPE, string_of(pprof, "time"));
}

static uint64_t run_label(struct pprof *pprof)
{
  struct buf text SCOPED(buf_done) = {0};
  stacks_put_run(pprof->writer.run.run, &text);
  return string_of(pprof, text.data);
}

static void put_label(struct pprof *pprof, const char *key, uint64_t text)
{
  size_t place = protobuf_begin(&pprof->profile, SAMPLE_LABEL);
  protobuf_varint(&pprof->profile, LABEL_KEY, string_of_word(pprof, key));
  protobuf_varint(&pprof->profile, LABEL_STR, text);
  protobuf_end(&pprof->profile, place);
}

static void put_span_labels(struct pprof *pprof, uint32_t row)
{
  const struct store_spans *spans = &pprof->writer.run.spans;
  put_label(pprof, "level", string_of_word(pprof, level_name(spans->level[row])));
  put_label(pprof, "kind", string_of_word(pprof, kind_name(spans->kind[row])));
  if (spans->category[row] != 0)
    put_label(pprof, "category", string_of_store(pprof, spans->category[row]));
}

// ---- tags, as trace/importers/pprof/labels.c reads them back ------------------------------------------------------------
static bool are_equal(const struct store_tag *a, const struct store_tag *b)
{
  bool is_text = a->type == STORE_TEXT;
  return a->key == b->key && a->type == b->type &&
         (is_text ? a->value.string == b->value.string : a->value.integer == b->value.integer);
}

// By place in run->tags, of tags of a context's first span: how many of its spans have the same one.
static const uint32_t *count_tags(const struct timeline_run *run, const struct contexts *contexts,
                                  const uint32_t *context_of, struct arena *arena)
{
  uint32_t *counts = arena_alloc_array(arena, run->tag_count, sizeof *counts);
  for (size_t row = 0; row < run->spans.count; row++) {
    if (context_of[row] == CONTEXT_NONE)
      continue;
    uint32_t first = contexts->all.items[context_of[row]].first;
    const struct timeline_range known = timeline_tags(run, run->spans.span_id[first]),
                                own = timeline_tags(run, run->spans.span_id[row]);
    for (size_t i = known.first; i < known.end; i++)
      for (size_t at = own.first; at < own.end; at++)
        if (are_equal(&run->tags[i], &run->tags[at])) {
          counts[i]++;
          break;
        }
  }
  return counts;
}

static bool is_of_sums(const struct pprof *pprof)
{
  for (size_t i = 0; i < pprof->note_count; i++) {
    const struct store_note *note = &pprof->notes[i];
    if ((note->run_id == 0 || note->run_id == pprof->writer.run.run->run_id) && strcmp(note->key, "import") == 0 &&
        note->value != NULL && strstr(note->value, STORE_NOTE_SUMS) != NULL)
      return true;
  }
  return false;
}

// A real number is a text with "real." before its key; a key that could be taken for that, or for another label, has "tag." before it.
// So has `count`, except of sums: the importer takes that as the number of executions.
static uint64_t string_of_key(struct pprof *pprof, const struct store_tag *tag)
{
  static const char *const taken[] = {"run", "level", "kind", "category"};
  static const char *const prefixes[2][2] = {{"", "tag."}, {"real.", "real.tag."}};
  bool is_new, is_real = tag->type == STORE_DOUBLE;
  const uint64_t kind = (uint64_t)STRING_OF_KEY + is_real + 2u * pprof->is_of_sums;
  uint64_t *number = map_at(&pprof->numbers, (struct map_key){tag->key, kind}, &is_new);
  if (!is_new)
    return *number;
  const char *key = store_text(pprof->stacks.store, tag->key, NULL);
  bool is_count = strcmp(key, "count") == 0 && !pprof->is_of_sums;
  bool is_taken = is_count || text_begins_with(key, "real.") || text_begins_with(key, "tag.");
  for (size_t i = 0; i < sizeof taken / sizeof taken[0]; i++)
    is_taken |= strcmp(key, taken[i]) == 0;
  return *number = string_of_two(pprof, prefixes[is_real][is_real ? is_count : is_taken], key);
}

static void put_tag(struct pprof *pprof, const struct store_tag *tag)
{
  uint64_t value = (uint64_t)tag->value.integer;
  if (tag->type == STORE_DOUBLE && !isfinite(tag->value.real))
    return;
  const uint64_t key = string_of_key(pprof, tag);
  if (tag->type == STORE_DOUBLE) {
    char number[JSON_SHORTEST_BYTES];
    json_shortest(tag->value.real, number);
    value = string_of(pprof, number);
  } else if (tag->type == STORE_TEXT) {
    value = string_of_store(pprof, tag->value.string);
  }
  size_t place = protobuf_begin(&pprof->profile, SAMPLE_LABEL);
  protobuf_varint(&pprof->profile, LABEL_KEY, key);
  protobuf_varint(&pprof->profile, tag->type == STORE_INT ? LABEL_NUM : LABEL_STR, value);
  protobuf_end(&pprof->profile, place);
}

// ---- contexts --------------------------------------------------------------------------------------------------------
// `counts`: of count_tags. Tags that all spans of the context have.
static void put_tags(struct pprof *pprof, const struct context *context, const uint32_t *counts)
{
  const struct timeline_run *run = &pprof->writer.run;
  const struct timeline_range tags = timeline_tags(run, run->spans.span_id[context->first]);
  for (size_t i = tags.first; i < tags.end; i++)
    if (counts[i] == context->count)
      put_tag(pprof, &run->tags[i]);
}

// Of what the context has, either spans and time, or one kind of samples; STACKS_SAMPLED: the former. `counts`: NULL where spans are
// folded or of samples.
static void put_sample(struct pprof *pprof, const struct contexts *contexts, uint32_t id, enum stacks_sampled sampled,
                       uint64_t label, const uint32_t *counts)
{
  bool is_sampled = sampled != STACKS_SAMPLED;
  struct buf *out = &pprof->profile;
  const struct context *context = &contexts->all.items[id];
  uint32_t chain[STACKS_DEPTH_MOST], depth = stacks_chain(contexts, id, chain);
  size_t place = protobuf_begin(out, PROFILE_SAMPLE);
  for (uint32_t i = 0; i < depth; i++)
    protobuf_varint(out, SAMPLE_LOCATION_ID, location_of(pprof, contexts->all.items[chain[i]].name));
  protobuf_varint(out, SAMPLE_VALUE, is_sampled ? 0 : (uint64_t)context->count);
  protobuf_varint(out, SAMPLE_VALUE, is_sampled ? 0 : (uint64_t)context->self_ns);
  for (enum stacks_sampled which = 0; which < STACKS_SAMPLED; which++)
    if (has_samples(pprof, which))
      protobuf_varint(out, SAMPLE_VALUE, which == sampled ? (uint64_t)context->self_ns : 0);
  put_label(pprof, "run", label);
  if (counts != NULL) {
    put_span_labels(pprof, context->first);
    put_tags(pprof, context, counts);
  }
  protobuf_end(out, place);
}

static void put_contexts(struct pprof *pprof, const struct contexts *contexts, enum stacks_sampled sampled,
                         const uint32_t *counts)
{
  uint64_t label = run_label(pprof);
  for (uint32_t i = 0; i < contexts->all.count; i++)
    if (contexts->all.items[i].count > 0)
      put_sample(pprof, contexts, i, sampled, label, counts);
}

static void put_run(struct timeline_writer *writer)
{
  struct pprof *pprof = (struct pprof *)writer;
  struct contexts contexts SCOPED(contexts_done) = {.most = STACKS_CONTEXTS_MOST};
  struct arena arena SCOPED(arena_done) = {0};
  pprof->is_of_sums = is_of_sums(pprof);
  if (pprof->stacks.is_folded) {
    stacks_add(&pprof->stacks, &writer->run, &contexts, NULL);
    put_contexts(pprof, &contexts, STACKS_SAMPLED, NULL);
  } else {
    uint32_t *context_of = arena_alloc_array(&arena, writer->run.spans.count, sizeof *context_of);
    stacks_add(&pprof->stacks, &writer->run, &contexts, context_of);
    put_contexts(pprof, &contexts, STACKS_SAMPLED, count_tags(&writer->run, &contexts, context_of, &arena));
  }
  for (enum stacks_sampled which = 0; which < STACKS_SAMPLED; which++) {
    struct contexts sampled SCOPED(contexts_done) = {.most = STACKS_CONTEXTS_MOST};
    stacks_add_weights(&pprof->stacks, &pprof->stacks.sampled[which], writer->run.run->run_id, &sampled);
    put_contexts(pprof, &sampled, which, NULL);
  }
}

// ---- what samples refer to -------------------------------------------------------------------------------------------
static uint64_t mapping_of(struct pprof *pprof, const char *module)
{
  if (module == NULL)
    return 0;
  uint64_t string = string_of(pprof, module);
  bool is_new;
  uint64_t *number = map_at(&pprof->mappings, map_number(string), &is_new);
  if (is_new) {
    *number = pprof->mappings.count;
    size_t place = protobuf_begin(&pprof->profile, PROFILE_MAPPING);
    protobuf_varint(&pprof->profile, MAPPING_ID, *number);
    protobuf_varint(&pprof->profile, MAPPING_FILENAME, string);
    protobuf_varint(&pprof->profile, MAPPING_HAS_FUNCTIONS, 1); // else pprof looks for symbols
    protobuf_end(&pprof->profile, place);
  }
  return *number;
}

// A location and its function have one number.
static void put_location(struct pprof *pprof, uint64_t number, uint32_t name)
{
  static const struct store_frame none = {.name = NULL};
  struct buf *out = &pprof->profile;
  const struct store_frame *frame = stacks_frame(&pprof->stacks, name);
  frame = frame == NULL ? &none : frame;
  const char *text = frame == &none ? store_text(pprof->stacks.store, name, NULL) : frame->name;
  uint64_t function = string_of(pprof, text == NULL ? "?" : text), mapping = mapping_of(pprof, frame->module);
  size_t place = protobuf_begin(out, PROFILE_FUNCTION);
  protobuf_varint(out, FUNCTION_ID, number);
  protobuf_varint(out, FUNCTION_NAME, function);
  protobuf_varint(out, FUNCTION_FILENAME, frame->file == NULL ? 0 : string_of(pprof, frame->file));
  protobuf_end(out, place);
  place = protobuf_begin(out, PROFILE_LOCATION);
  protobuf_varint(out, LOCATION_ID, number);
  protobuf_varint(out, LOCATION_MAPPING_ID, mapping);
  protobuf_varint(out, LOCATION_ADDRESS, (uint64_t)frame->address);
  size_t inner = protobuf_begin(out, LOCATION_LINE);
  protobuf_varint(out, LINE_FUNCTION_ID, number);
  protobuf_varint(out, LINE_LINE, (uint64_t)frame->line);
  protobuf_end(out, inner);
  protobuf_end(out, place);
}

static void compress_to(struct export_file *file, struct buf *profile)
{
  z_stream stream = {.next_in = (Bytef *)profile->data, .avail_in = (uInt)profile->length}; // a buf is below 4 GiB
  // As Go's own profiler: of 50,000 contexts, the default level takes half of the export's time, for a tenth fewer bytes.
  int code = deflateInit2(&stream, Z_BEST_SPEED, Z_DEFLATED, 15 + 16, 8, Z_DEFAULT_STRATEGY); // 16: gzip
  while (code == Z_OK) {
    unsigned char bytes[1 << 14];
    stream.next_out = bytes;
    stream.avail_out = sizeof bytes;
    code = deflate(&stream, Z_FINISH);
    buf_put(&file->out, bytes, sizeof bytes - stream.avail_out);
    export_file_flush(file);
  }
  deflateEnd(&stream);
  if (code != Z_STREAM_END)
    memory_exhausted();
}

static void end(struct timeline_writer *writer)
{
  struct pprof *pprof = (struct pprof *)writer;
  for (size_t i = 0; i < pprof->names.count; i++)
    put_location(pprof, i + 1, pprof->names.items[i]);
  for (uint32_t i = 0; i < interner_count(&pprof->strings); i++) {
    struct slice text = interner_text(&pprof->strings, i);
    protobuf_bytes(&pprof->profile, PROFILE_STRING_TABLE, text.data, text.length);
  }
  if (pprof->profile.failed)
    export_file_put(&writer->file, &pprof->profile); // reports that it is too large
  else
    compress_to(&writer->file, &pprof->profile);
}

static void pprof_done(struct pprof *pprof)
{
  stacks_done(&pprof->stacks);
  buf_done(&pprof->profile);
  buf_done(&pprof->scratch);
  interner_done(&pprof->strings);
  map_done(&pprof->numbers);
  map_done(&pprof->locations);
  map_done(&pprof->mappings);
  vector_done(&pprof->names);
}

static enum status write_pprof(struct store *store, const char *path, const struct report_export_options *options,
                               struct error *err)
{
  static const struct timeline_parts parts = {.begin = begin,
                                              .put_run = put_run,
                                              .end = end,
                                              .columns = STACKS_COLUMNS | STORE_BIT(STORE_CATEGORY),
                                              .has_tags = true};
  struct pprof pprof SCOPED(pprof_done) = {0};
  XSP_TRY(stacks_open(store, &pprof.stacks, err));
  XSP_TRY(stacks_load_samples(&pprof.stacks, err));
  XSP_TRY(store_notes(store, -1, &pprof.stacks.arena, &pprof.notes, &pprof.note_count, err));
  return timeline_write(&pprof.writer, &parts, store, path, options, err);
}

const struct report_export report_export_pprof = {
    .name = "pprof",
    .summary = "the same and the number of spans, for pprof",
    .extension = "pb.gz",
    .write = write_pprof,
};
