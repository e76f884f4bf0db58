// SPDX-License-Identifier: Apache-2.0
// The arguments of a Kineto event: what its span needs (where it ran, which call started it), and tags. A tag keeps the
// file's own key but where xsp has a well-known one. Called once an event, between reading and the next one.
#include "importers/kineto/kineto.h"

#include <string.h>

#define SHORT_JSON 256

static const struct {
  const char *key;
  enum kineto_key meaning;
  const char *tag; // NULL: the key itself
} known[] = {
    {"correlation", KEY_CORRELATION, "recorded_correlation"},
    {"correlation id", KEY_CORRELATION, "recorded_correlation"}, // PaddlePaddle
    {"External id", KEY_TAG, "external_id"},
    {"external id", KEY_TAG, "external_id"},
    {"device", KEY_DEVICE, NULL},
    {"stream", KEY_STREAM, NULL},
    {"queued", KEY_QUEUED, NULL},
    {"registers per thread", KEY_TAG, "registers"},
    {"shared memory", KEY_TAG, "shared_bytes"},
    {"Sequence number", KEY_SEQUENCE, "sequence"},
    {"Record function id", KEY_RECORD, NULL},
    {"Output Dims", KEY_TAG, "layer_shape"},
    {"Call stack", KEY_CALL_STACK, NULL},
    {"cbid", KEY_DROP, NULL},                 // the number of the call whose name the span has
    {"Ev Idx", KEY_DROP, NULL},               // the event's place in the file
    {"Profiler Event Index", KEY_DROP, NULL}, // the same, 2022
    {"Device", KEY_DROP, NULL},               // 2021: the process id
    {"Trace name", KEY_DROP, NULL},
    {"Trace iteration", KEY_DROP, NULL},
};

static struct kineto_word find_word(struct kineto *kineto, struct slice key)
{
  struct kineto_word word = {.is_known = true, .meaning = KEY_TAG};
  for (size_t i = 0; i < sizeof known / sizeof known[0]; i++)
    if (slice_is(key, known[i].key)) {
      word.meaning = (uint8_t)known[i].meaning;
      if (known[i].tag != NULL)
        key = (struct slice){known[i].tag, strlen(known[i].tag)};
      break;
    }
  if (kineto->paddle.is_writer && (slice_is(key, "start_time") || slice_is(key, "end_time")))
    word.meaning = KEY_DROP; // the times of the span
  word.string = import_slice(kineto->import, key);
  return word;
}

// The reader numbers keys that it meets again and again: those are looked up once.
static struct kineto_word word_of(struct kineto *kineto, const struct trace_argument *argument)
{
  uint32_t number = argument->key_number;
  if (number == 0 || number >= KINETO_KEY_NUMBERS)
    return find_word(kineto, argument->key);
  struct kineto_word *word = &kineto->keys[number];
  if (!word->is_known)
    *word = find_word(kineto, argument->key);
  return *word;
}

// ---- texts -----------------------------------------------------------------------------------------------------------
// JSON without the space between its elements, so that equal values are equal texts. `to` has room for all of it; returns
// the length.
static size_t compact(struct slice json, char *to)
{
  const char *at = json.data, *end = at + json.length;
  char *begin = to;
  if (memchr(json.data, '\\', json.length) == NULL) { // no quote within a text
    for (unsigned in_string = 0; at < end; at++) {
      *to = *at;
      in_string ^= *at == '"';
      to += in_string | ((unsigned char)*at > ' ');
    }
    return (size_t)(to - begin);
  }
  for (bool in_string = false; at < end; at++) {
    if (!in_string && (unsigned char)*at <= ' ')
      continue;
    if (in_string && *at == '\\' && at + 1 < end)
      *to++ = *at++;
    else if (*at == '"')
      in_string = !in_string;
    *to++ = *at;
  }
  return (size_t)(to - begin);
}

// Where `json` is what the key had last: the text of that. Else remembers it, if it is short, and returns 0.
static uint32_t repeated_text(struct kineto *kineto, uint32_t key_number, struct slice json)
{
  if (key_number == 0 || key_number >= KINETO_KEY_NUMBERS || json.length > KINETO_REPEAT_BYTES)
    return 0;
  struct kineto_repeat *repeat = &kineto->repeats[key_number];
  if (repeat->length != json.length || memcmp(repeat->json, json.data, json.length) != 0) {
    memcpy(repeat->json, json.data, json.length);
    repeat->length = (uint8_t)json.length;
    repeat->text = 0;
  } else if (repeat->text == 0) {
    char few[KINETO_REPEAT_BYTES];
    repeat->text = import_string(kineto->import, few, compact(json, few));
  }
  return repeat->text;
}

static void tag_json(struct kineto *kineto, int64_t span_id, uint32_t key, const struct trace_argument *argument)
{
  char few[SHORT_JSON];
  struct slice json = argument->value.raw;
  struct buf *scratch = &kineto->scratch;
  char *to = few;
  uint32_t text = repeated_text(kineto, argument->key_number, json);
  if (text != 0) {
    import_tag_text(kineto->import, span_id, key, text);
    return;
  }
  if (json.length > sizeof few) {
    buf_clear(scratch);
    if (!buf_reserve(scratch, json.length))
      return;
    to = scratch->data;
  }
  import_tag_bytes(kineto->import, span_id, key, to, compact(json, to));
}

// The call path of "inner;outer".
static uint32_t make_path(struct kineto *kineto, struct slice stack)
{
  uint32_t path = 0;
  for (size_t end = stack.length; end > 0;) {
    const char *semicolon = memrchr(stack.data, ';', end);
    size_t from = semicolon == NULL ? 0 : (size_t)(semicolon - stack.data) + 1;
    uint32_t name = import_string(kineto->import, stack.data + from, end - from);
    if (name != 0)
      path = import_path(kineto->import, path, XSP_FRAME_PYTHON, name, 0);
    end = from == 0 ? 0 : from - 1;
  }
  return path;
}

// Many operators have the stack of one before.
static uint32_t path_of_stack(struct kineto *kineto, struct slice stack)
{
  uint32_t count = interner_count(&kineto->stacks), number = interner_at(&kineto->stacks, stack.data, stack.length);
  if (number == count)
    *vector_add(&kineto->stack_paths) = make_path(kineto, stack);
  return kineto->stack_paths.items[number];
}

// ---- values ----------------------------------------------------------------------------------------------------------
static void tag_text(struct kineto *kineto, int64_t span_id, uint32_t key, uint32_t text)
{
  if (text != 0) // an empty text is no tag
    import_tag_text(kineto->import, span_id, key, text);
}

static void tag_value(struct kineto *kineto, int64_t span_id, uint32_t key, const struct trace_argument *argument)
{
  const struct trace_value *value = &argument->value;
  if (import_event_tag_scalar(kineto->import, span_id, key, value))
    return;
  if (value->type == TRACE_STRING)
    tag_text(kineto, span_id, key, import_slice(kineto->import, value->raw));
  else
    tag_json(kineto, span_id, key, argument);
}

// ---- repeated keys -------------------------------------------------------------------------------------------
// Of arguments with one key the last counts, as for all readers of JSON.
#define FEW_ARGUMENTS 64 // compared with each other

static bool is_same_key(const struct trace_argument *argument, struct slice key)
{
  return argument->key.length == key.length && memcmp(argument->key.data, key.data, key.length) == 0;
}

static bool is_repeated(const struct trace_event *event, size_t at)
{
  for (size_t i = at + 1; i < event->argument_count; i++)
    if (is_same_key(&event->arguments[i], event->arguments[at].key))
      return true;
  return false;
}

// Whether any key may be repeated: keys without a number always may.
static bool may_repeat(const struct trace_event *event)
{
  uint64_t seen = 0;
  for (size_t i = 0; i < event->argument_count; i++) {
    uint32_t number = event->arguments[i].key_number;
    uint64_t bit = UINT64_C(1) << (number & 63);
    if (number == 0 || (seen & bit) != 0)
      return true;
    seen |= bit;
  }
  return false;
}

// Of many arguments: notes those whose key comes again.
static void find_repeats(struct kineto *kineto, const struct trace_event *event)
{
  struct interner keys SCOPED(interner_done) = {0};
  kineto->repeated.count = 0;
  vector_reserve(&kineto->repeated, event->argument_count);
  for (size_t i = event->argument_count; i-- > 0;) {
    struct slice key = event->arguments[i].key;
    uint32_t count = interner_count(&keys);
    kineto->repeated.items[i] = interner_at(&keys, key.data, key.length) < count;
  }
}

static bool is_at_least(const struct trace_value *value, int64_t least)
{
  int64_t number;
  return !trace_int64(value, &number) || number >= least;
}

static void tag_argument(struct kineto *kineto, struct kineto_word word, const struct trace_argument *argument,
                         int64_t span_id, enum kineto_kind kind, struct kineto_facts *facts)
{
  const struct trace_value *value = &argument->value;
  int64_t number;
  switch ((enum kineto_key)word.meaning) {
  case KEY_TAG:
    break;
  case KEY_DROP:
    return;
  case KEY_CORRELATION:
    facts->correlation_id = trace_int64(value, &number) && number > 0 ? number : 0;
    break;
  case KEY_DEVICE:
  case KEY_STREAM: // on the host there is no track for them
    if (kind != KINETO_DEVICE)
      break;
    *(word.meaning == KEY_DEVICE ? &facts->device : &facts->stream) = value;
    return;
  case KEY_CALL_STACK:
    if (value->type != TRACE_STRING)
      break;
    facts->stack = path_of_stack(kineto, value->raw);
    return;
  case KEY_QUEUED:
    if (!is_at_least(value, 1))
      return;
    break;
  case KEY_RECORD:
    if (kineto->import->description != NULL && trace_int64(value, &number) && number > 0)
      (void)import_described_give(&kineto->nodes, kineto->import, (uint64_t)number, span_id);
    break;
  case KEY_SEQUENCE:
    if (!is_at_least(value, 0))
      return;
    break;
  }
  tag_value(kineto, span_id, word.string, argument);
}

void kineto_tags(struct kineto *kineto, const struct trace_event *event, int64_t span_id, enum kineto_kind kind,
                 struct kineto_facts *ret_facts)
{
  *ret_facts = (struct kineto_facts){0};
  bool has_repeats = may_repeat(event);
  bool has_many = event->argument_count > FEW_ARGUMENTS;
  if (has_many)
    find_repeats(kineto, event);
  for (size_t i = 0; i < event->argument_count; i++) {
    const struct trace_argument *argument = &event->arguments[i];
    struct kineto_word word = word_of(kineto, argument);
    bool comes_again = has_many ? kineto->repeated.items[i] : has_repeats && is_repeated(event, i);
    if (word.string != 0 && !comes_again)
      tag_argument(kineto, word, argument, span_id, kind, ret_facts);
  }
}
