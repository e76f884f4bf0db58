// SPDX-License-Identifier: Apache-2.0
// Loads compilations with their reasons. What PyTorch and JAX record of them are texts, which are read here alone.
#include "analyze/runs/compilations.h"

#include "analyze/run_columns.h"
#include "base/saturate.h"
#include "base/sorted.h"
#include "base/vector.h"

#include <string.h>

enum {
  TAG_ID, // "3/1": the second compilation of the fourth function
  TAG_TRIGGER,
  TAG_FUNCTION,
  TAG_FILE,
  TAG_LINE,
  TAG_REASON,
  TAG_BREAK,
  TAG_BREAK_SOURCE,
  TAGS
};
struct loaded {
  struct compilation of;
  int64_t span_id;
  const char *id, *trigger;
};
typedef VECTOR(struct loaded) loaded_vector;

// "0/1: tensor 'x' size mismatch at index 0. expected 4, actual 5   # source": without the id and the source.
static const char *reason_of(const char *text, struct arena *arena)
{
  const char *start = text;
  size_t id = strspn(text, "0123456789/");
  if (id > 0 && strncmp(text + id, ": ", 2) == 0)
    start = text + id + 2;
  size_t length = strcspn(start, "\n#");
  const char *gap = strstr(start, "  ");
  if (gap != NULL && (size_t)(gap - start) < length)
    length = (size_t)(gap - start);
  while (length > 0 && start[length - 1] == ' ')
    length--;
  return arena_copy(arena, start, length);
}

static bool is_about_shapes(const char *reason)
{
  return strstr(reason, "mismatch") != NULL || strstr(reason, ".size()") != NULL ||
         strcmp(reason, "other shapes or types") == 0;
}

static enum compilation_kind kind_of(const struct loaded *loaded)
{
  const struct compilation *of = &loaded->of;
  const char *number = loaded->id != NULL ? strchr(loaded->id, '/') : NULL;
  if (loaded->trigger != NULL && strcmp(loaded->trigger, "LAZY_BACKWARD") == 0)
    return COMPILATION_BACKWARD;
  if (of->reason != NULL && is_about_shapes(of->reason))
    return COMPILATION_SHAPE;
  if (of->reason != NULL && strstr(of->reason, "another function object") != NULL)
    return COMPILATION_FUNCTION;
  if (of->reason != NULL && strcmp(of->reason, "another session of the model") == 0)
    return COMPILATION_SESSION;
  if (of->reason != NULL || (number != NULL && number[1] != '0'))
    return COMPILATION_GUARD;
  return of->function != NULL && strstr(of->function, "torch_dynamo_resume_in_") != NULL ? COMPILATION_BREAK
                                                                                         : COMPILATION_FIRST;
}

// PyTorch's "3/0" is the first compilation of its fourth function; JAX's name their function, and the reason where it is not.
static bool is_first(const struct loaded *loaded, enum compilation_kind kind)
{
  const char *number = loaded->id != NULL ? strchr(loaded->id, '/') : NULL;
  return number != NULL ? strcmp(number, "/0") == 0 : kind == COMPILATION_FIRST && loaded->of.function != NULL;
}

static void take_tag(struct question *question, const struct store_tag *tag, const uint32_t keys[TAGS],
                     struct loaded *loaded)
{
  struct compilation *of = &loaded->of;
  const char **texts[TAGS] = {[TAG_ID] = &loaded->id,
                              [TAG_TRIGGER] = &loaded->trigger,
                              [TAG_FUNCTION] = &of->function,
                              [TAG_FILE] = &of->file,
                              [TAG_REASON] = &of->reason,
                              [TAG_BREAK] = &of->graph_break,
                              [TAG_BREAK_SOURCE] = &of->break_source};
  unsigned which = 0;
  while (which < TAGS && keys[which] != tag->key)
    which++;
  if (which == TAG_LINE && tag->type == STORE_INT)
    of->line = tag->value.integer;
  if (which == TAGS || texts[which] == NULL || tag->type != STORE_TEXT)
    return;
  size_t length;
  const char *text = store_text(question->view->store, tag->value.string, &length);
  *texts[which] =
      which == TAG_REASON ? reason_of(text, question->scratch) : arena_copy(question->scratch, text, length);
}

static enum status take_tags(struct question *question, const struct view_run *run, loaded_vector *found,
                             struct error *err)
{
  static const char *const names[TAGS] = {"compile_id", "trigger", "function",    "file",
                                          "line",       "reason",  "graph_break", "break_source"};
  struct store *store = question->view->store;
  uint32_t keys[TAGS] = {0};
  struct store_tag *tags;
  size_t count;
  struct map place_of SCOPED(map_done) = {0};
  for (unsigned i = 0; i < TAGS; i++)
    (void)store_find_string(store, names[i], strlen(names[i]), &keys[i]);
  XSP_TRY(store_load_tags_of(store, run->run->run_id, keys, TAGS, question->scratch, &tags, &count, err));
  for (size_t i = 0; i < found->count; i++)
    *map_at(&place_of, map_number((uint64_t)found->items[i].span_id), NULL) = i;
  for (size_t i = 0; i < count; i++) {
    const uint64_t *place = map_find(&place_of, map_number((uint64_t)tags[i].span_id));
    if (place != NULL)
      take_tag(question, &tags[i], keys, &found->items[*place]);
  }
  return STATUS_OK;
}

SORTED_BY(by_start, struct loaded, RISING(of.start_ns) ?: RISING(span_id))

// The gradients of a function are compiled with its id, and without its name.
static void name_gradients(loaded_vector *found)
{
  for (size_t i = 0; i < found->count; i++) {
    struct loaded *of = &found->items[i];
    for (size_t k = i; k-- > 0 && of->of.function == NULL && of->id != NULL;) {
      const struct loaded *before = &found->items[k];
      if (before->id == NULL || strcmp(before->id, of->id) != 0)
        continue;
      of->of.function = before->of.function;
      of->of.file = before->of.file;
      of->of.line = before->of.line;
      break;
    }
  }
}

enum status compilations_load(struct question *question, const struct view_run *run, struct compilations *ret,
                              struct error *err)
{
  enum {
    COLUMNS = STORE_BIT(STORE_NAME) | STORE_BIT(STORE_CATEGORY) | STORE_BIT(STORE_START_NS) |
              STORE_BIT(STORE_DURATION_NS) | STORE_BIT(STORE_CONTEXT_ID) | STORE_BIT(STORE_FLAGS)
  };
  struct run_columns columns;
  loaded_vector found = {0};
  uint32_t compile, tf_function = UINT32_MAX;
  *ret = (struct compilations){0};
  if (!store_find_string(question->view->store, "compile", 7, &compile))
    return STATUS_OK;
  (void)store_find_string(question->view->store, "tf.function", 11, &tf_function);
  XSP_TRY(run_columns_load(question, run, COLUMNS, question->scratch, &columns, err));
  for (size_t row = 0; row < columns.spans.count; row++)
    if (columns.spans.category[row] == compile && (columns.spans.flags[row] & STORE_SPAN_OPEN) == 0)
      *vector_add(&found) =
          (struct loaded){.span_id = columns.spans.span_id[row],
                          .of = {.start_ns = columns.spans.start_ns[row],
                                 .duration_ns = columns.spans.duration_ns[row],
                                 .is_tf_function = columns.spans.name[row] == tf_function,
                                 .context_id = columns.spans.context_id != NULL ? columns.spans.context_id[row] : 0,
                                 .observation = columns.derived.observation[row],
                                 .row = row}};
  enum status status = found.count > 0 ? take_tags(question, run, &found, err) : STATUS_OK;
  if (status == STATUS_OK && found.count > 0) {
    vector_sort(&found, by_start);
    name_gradients(&found);
    ret->items = arena_alloc_array(question->scratch, found.count, sizeof *ret->items);
    ret->count = found.count;
    for (size_t i = 0; i < found.count; i++) {
      ret->items[i] = found.items[i].of;
      ret->items[i].kind = kind_of(&found.items[i]);
      ret->items[i].is_first = is_first(&found.items[i], ret->items[i].kind);
    }
  }
  vector_done(&found);
  return status;
}

// ---- samples ---------------------------------------------------------------------------------------------------------

size_t compilations_at(const struct compilations *compilations, int64_t time_ns)
{
  size_t end = PARTITION_POINT(i, 0, compilations->count, compilations->items[i].start_ns <= time_ns);
  const struct compilation *found = end > 0 ? &compilations->items[end - 1] : NULL;
  return found != NULL && time_ns <= saturate_add(found->start_ns, found->duration_ns) ? end - 1 : SIZE_MAX;
}

enum status compilations_samples(struct question *question, const struct view_run *run,
                                 const struct compilations *compilations, compilations_sampled_fn *visit, void *context,
                                 struct error *err)
{
  struct store *store = question->view->store;
  struct arena arena SCOPED(arena_done) = {0};
  struct store_samples samples;
  struct store_track *tracks;
  size_t track_count = 0;
  struct map is_main SCOPED(map_done) = {0};
  XSP_TRY(store_load_samples(store, run->run->run_id, &arena, &samples, err));
  XSP_TRY(store_tracks(store, run->run->run_id, &arena, &tracks, &track_count, err));
  for (size_t i = 0; i < track_count; i++)
    if (tracks[i].thread_id == tracks[i].process_id)
      *map_at(&is_main, map_number((uint64_t)tracks[i].track_id), NULL) = 1;
  for (size_t i = 0; i < samples.count; i++) {
    size_t at = samples.context_id[i] != 0 ? compilations_at(compilations, samples.time_ns[i]) : SIZE_MAX;
    if (at != SIZE_MAX && compilations->items[at].context_id == 0 &&
        map_find(&is_main, map_number(samples.track_id[i])) != NULL)
      visit(context, at, samples.context_id[i], (double)samples.duration_ns[i]);
  }
  return STATUS_OK;
}

// ---- kinds -----------------------------------------------------------------------------------------------------------

static bool is_equal(const char *a, const char *b)
{
  return a == b || (a != NULL && b != NULL && strcmp(a, b) == 0);
}

// What the reason is about: without the values compared.
static size_t subject_length(const char *reason)
{
  const char *value = strstr(reason, " == "), *end = strstr(reason, ". expected");
  const char *first = value == NULL || (end != NULL && end < value) ? end : value;
  return first != NULL ? (size_t)(first - reason) : strlen(reason);
}

bool compilation_is_alike(const struct compilation *a, const struct compilation *b)
{
  if (a->kind != b->kind || (a->reason == NULL) != (b->reason == NULL))
    return false;
  size_t length = a->reason != NULL ? subject_length(a->reason) : 0;
  return a->reason == NULL || (subject_length(b->reason) == length && strncmp(a->reason, b->reason, length) == 0);
}

bool compilation_is_of_one(const struct compilation *a, const struct compilation *b)
{
  return a->line == b->line && is_equal(a->function, b->function) && is_equal(a->file, b->file);
}

const char *compilation_kind_name(enum compilation_kind kind)
{
  static const char *const names[COMPILATION_KINDS] = {"first",        "gradients", "after a graph break", "new shape",
                                                       "new function", "guard",     "new session"};
  return names[kind];
}
