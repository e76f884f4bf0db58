// SPDX-License-Identifier: Apache-2.0
// Shortens kernel names: without return type, parameters and unnamed namespaces, and with a word in the place of
// template arguments. Called for text and Markdown tables. Names come from traces and may be anything.
#include "report/kernel_names.h"

#include "base/buf.h"
#include "base/interner.h"
#include "base/sorted.h"

#include <ctype.h>

#define DEPTH_MOST 256u // of brackets; names of more stay as they are
#define WORDS_MOST 64u  // of one name's template arguments
#define WORD_LEAST 6u   // bytes of a word that describes a kernel

struct words {
  struct slice items[WORDS_MOST]; // they point into the name
  size_t count;
};
struct name {
  struct buf brief;   // with "…" for template arguments
  size_t begin;       // place in `brief` after the return type
  size_t arguments;   // place in `brief` of the last "…"; 0: none
  struct words words; // of the last template arguments
  // While it is read:
  char open[DEPTH_MOST]; // brackets
  size_t depth, angles;  // angles: how many of the outermost brackets are angle brackets
  bool is_kept;          // the outermost bracket's content belongs to the short form
  bool has_parameters;
};

// Bytes of an identifier, number or operator's name at `at`; 0: none.
static size_t word_length(const char *at)
{
  size_t length = 0;
  while (isalnum((unsigned char)at[length]) || at[length] == '_' || at[length] == '$' || (at[length] & 0x80) != 0)
    length++;
  if (length == strlen("operator") && memcmp(at, "operator", length) == 0)
    length += strncmp(at + length, "()", 2) == 0 ? 2 : strspn(at + length, "<>=");
  return length;
}

// Bytes of an unnamed namespace at `at`, colons included; 0: none.
static size_t unnamed_length(const char *at)
{
  static const char *const forms[] = {"(anonymous namespace)::", "<unnamed>::", "{anonymous}::"};
  for (size_t i = 0; i < sizeof forms / sizeof forms[0]; i++)
    if (strncmp(at, forms[i], strlen(forms[i])) == 0)
      return strlen(forms[i]);
  return 0;
}

static void add_word(struct words *words, const char *word, size_t length)
{
  const char *end = word + length;
  bool is_namespace = strncmp(end, "::", 2) == 0 && end[2] != '[' && end[2] != '{'; // before a lambda: a function
  if (!is_namespace && words->count < WORDS_MOST)
    words->items[words->count++] = (struct slice){word, length};
}

static bool open_bracket(struct name *name, const char *at)
{
  if (name->depth == DEPTH_MOST)
    return false;
  name->open[name->depth++] = *at;
  name->angles += *at == '<' && name->angles + 1 == name->depth;
  if (name->depth > 1)
    return true;
  name->is_kept = name->brief.length == name->begin || *at == '[' || *at == '{' || (*at == '(' && at[-1] == ' ');
  name->has_parameters |= *at == '(' && !name->is_kept;
  if (*at == '<' && !name->is_kept) {
    name->arguments = name->brief.length + 1;
    name->words.count = 0;
    buf_text(&name->brief, "<…>");
  }
  return true;
}

// An angle bracket that another bracket closes around is a comparison, as is one that closes nothing.
static bool close_bracket(struct name *name, char opening)
{
  while (opening != '<' && name->depth > 0 && name->open[name->depth - 1] == '<')
    name->depth--;
  bool matches = name->depth > 0 && name->open[name->depth - 1] == opening;
  name->depth -= matches;
  name->angles = name->angles < name->depth ? name->angles : name->depth;
  return matches || opening == '<';
}

// False where brackets do not match: not a name of C++. Only functions have a return type: parameters follow their
// name, or "void" leads. It ends at the last space outside of brackets. Free name->brief in either case.
static bool read_name(struct name *name, const char *text)
{
  static const char openings[] = "(<[{", closings[] = ")>]}";
  *name = (struct name){0};
  buf_init(&name->brief, BUF_MAXIMUM_DEFAULT);
  for (const char *at = text, *end; *at != '\0'; at = end) {
    size_t unnamed = unnamed_length(at), word = word_length(at);
    const char *closing = strchr(closings, *at);
    end = at + (unnamed + word > 0 ? unnamed + word : 1);
    if (unnamed > 0)
      continue;
    if (word > 0 && name->depth > 0 && name->depth == name->angles)
      add_word(&name->words, at, word);
    if (strchr(openings, *at) != NULL && !open_bracket(name, at))
      return false;
    if (name->depth == 0 || name->is_kept)
      buf_put(&name->brief, at, (size_t)(end - at));
    if (closing != NULL && !close_bracket(name, openings[closing - closings]))
      return false;
    if (*at == ' ' && name->depth == 0 && !name->has_parameters) {
      name->begin = name->brief.length;
      name->arguments = 0;
    }
  }
  if (!name->has_parameters)
    name->begin = strncmp(text, "void ", 5) == 0 ? 5 : 0;
  return name->depth == 0;
}

// Not a number, a type, or a wrapper around what describes the kernel.
static bool is_descriptive(struct slice word)
{
  static const char *const others[] = {"gpu_kernel_impl", "gpu_kernel_impl_nocast",
                                       "BinaryFunctor",   "AUnaryFunctor",
                                       "BUnaryFunctor",   "ReduceOp",
                                       "func_wrapper_t",  "TensorListMetadata",
                                       "OpaqueType",      "unsigned",
                                       "double",          "complex",
                                       "BFloat16",        "float2"};
  bool is_other = word.length < WORD_LEAST || isdigit((unsigned char)word.data[0]);
  for (size_t i = 0; i < sizeof others / sizeof others[0] && !is_other; i++)
    is_other = slice_is(word, others[i]);
  return !is_other;
}

// Adds the first word that differs from `other`'s in the same place. `other` may be NULL.
static void add_difference(const struct words *words, const char *other, struct words *shown)
{
  struct name name;
  size_t at = 0;
  if (other == NULL)
    return;
  (void)read_name(&name, other);
  buf_done(&name.brief);
  while (at < words->count && at < name.words.count && slice_equal(words->items[at], name.words.items[at]))
    at++;
  bool is_new = at < words->count;
  for (size_t i = 0; i < shown->count && is_new; i++)
    is_new = !slice_equal(shown->items[i], words->items[at]);
  if (is_new)
    shown->items[shown->count++] = words->items[at];
}

static void put_words(const struct words *shown, const struct words *all, struct buf *out)
{
  const char *mark = shown->count == 1 && all->count == 1 ? "" : "…"; // for words that are not shown
  for (size_t i = 0; i < shown->count; i++)
    buf_format(out, "%s%.*s", i == 0 ? mark : " ", (int)shown->items[i].length, shown->items[i].data);
  buf_text(out, mark);
}

// `previous` and `next`: names that the short form is to differ from; NULL: none.
static const char *shorten(const char *text, const char *previous, const char *next, struct arena *arena)
{
  struct name name;
  struct words shown = {.count = 0};
  struct buf out SCOPED(buf_done);
  bool is_name = read_name(&name, text);
  const struct words *words = &name.words;
  for (size_t i = 0; i < words->count && shown.count == 0; i++)
    if (is_descriptive(words->items[i]))
      shown.items[shown.count++] = words->items[i];
  add_difference(words, previous, &shown);
  add_difference(words, next, &shown);
  buf_init(&out, BUF_MAXIMUM_DEFAULT);
  size_t at = name.begin;
  if (name.arguments > 0 && shown.count > 0) {
    buf_put(&out, name.brief.data + at, name.arguments - at);
    put_words(&shown, words, &out);
    at = name.arguments + strlen("…");
  }
  buf_text(&out, name.brief.data != NULL ? name.brief.data + at : "");
  const char *brief = is_name && out.length > 0 ? arena_copy(arena, out.data, out.length) : text;
  buf_done(&name.brief);
  return brief;
}

struct entry {
  const char *name, *brief;
  uint32_t id; // of the name
};

SORTED_BY(compare_entries, struct entry, strcmp(a->brief, b->brief) ?: strcmp(a->name, b->name))

// Entries of one short form, in the order of their names, get words that distinguish them, then numbers.
static void distinguish(struct entry *entries, size_t count, struct arena *arena, bool by_number)
{
  qsort(entries, count, sizeof *entries, compare_entries);
  for (size_t first = 0, end; first < count; first = end) {
    for (end = first + 1; end < count && strcmp(entries[end].brief, entries[first].brief) == 0;)
      end++;
    for (size_t i = first; i < end && end - first > 1; i++)
      if (by_number)
        entries[i].brief = arena_format(arena, "%s #%zu", entries[i].brief, i - first + 1);
      else
        entries[i].brief = shorten(entries[i].name, i > first ? entries[i - 1].name : NULL,
                                   i + 1 < end ? entries[i + 1].name : NULL, arena);
  }
}

void page_kernel_names_short(const char *const *names, size_t count, struct arena *arena, const char **ret_short)
{
  struct interner distinct SCOPED(interner_done) = {0};
  struct entry *entries = arena_alloc_array(arena, count + 1, sizeof *entries);
  const char **briefs = arena_alloc_array(arena, count + 1, sizeof *briefs); // by id
  for (size_t i = 0; i < count; i++) {
    uint32_t id = names[i] == NULL ? 0 : interner_at(&distinct, names[i], strlen(names[i]));
    if (names[i] != NULL && entries[id].name == NULL)
      entries[id] = (struct entry){names[i], shorten(names[i], NULL, NULL, arena), id};
  }
  size_t entry_count = interner_count(&distinct);
  distinguish(entries, entry_count, arena, false);
  distinguish(entries, entry_count, arena, true);
  for (size_t i = 0; i < entry_count; i++)
    briefs[entries[i].id] = entries[i].brief;
  for (size_t i = 0; i < count; i++)
    ret_short[i] = names[i] == NULL ? NULL : briefs[interner_at(&distinct, names[i], strlen(names[i]))];
}
