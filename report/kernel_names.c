// SPDX-License-Identifier: Apache-2.0
// Shortens kernel names for text and Markdown tables. Names come from traces and may be anything: brackets that do not
// match are taken as they are, and nothing is longer than what it came from but for a mark that tells equal ones apart.
#include "report/kernel_names.h"

#include <ctype.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define NAME_MOST 16384u // bytes; longer ones stay as they are
#define WORD_LEAST 6u    // letters of a word that tells something
#define WORDS_MOST 64u   // of one name's template arguments
#define TELLING_MOST 3u  // words shown where one is not enough
#define GROUP_MOST 2000u // names of one short form that are told apart by words
#define SHOWN_MOST 48u   // bytes of words shown

struct text {
  const char *start;
  size_t length;
};

static bool is_word_byte(char byte)
{
  return isalnum((unsigned char)byte) || byte == '_' || byte == '$' || (unsigned char)byte >= 0x80;
}

static bool starts_with(const char *text, const char *end, const char *prefix)
{
  size_t length = strlen(prefix);
  return (size_t)(end - text) >= length && memcmp(text, prefix, length) == 0;
}

static bool follows(const char *begin, const char *at, const char *word)
{
  size_t length = strlen(word);
  return (size_t)(at - begin) >= length && memcmp(at - length, word, length) == 0;
}

// A name with the place of each opening bracket's partner.
struct name {
  const char *start, *end;
  uint16_t partner[NAME_MOST]; // 0: this opens nothing
};

// Angle brackets within others may be comparisons: they pair only with what opened in the same bracket. Returns false for
// names that are too long to be looked at.
static bool read_name(struct name *name, const char *text)
{
  static const char openings[] = "(<[{", closings[] = ")>]}";
  uint16_t open[NAME_MOST];
  size_t depth = 0;
  size_t length = strlen(text);
  *name = (struct name){.start = text, .end = text + length};
  if (length >= NAME_MOST)
    return false;
  for (size_t i = 0; i < length; i++) {
    const char *closing = strchr(closings, text[i]);
    bool is_operator = (text[i] == '<' || text[i] == '>') &&
                       (follows(text, text + i, "operator") || follows(text, text + i, "operator<") ||
                        follows(text, text + i, "operator>") || follows(text, text + i, "-"));
    if (is_operator)
      continue;
    if (strchr(openings, text[i]) != NULL) {
      open[depth++] = (uint16_t)i;
      continue;
    }
    size_t at = depth;
    while (closing != NULL && at > 0 && text[open[at - 1]] != openings[closing - closings] && text[i] != '>' &&
           text[open[at - 1]] == '<')
      at--;
    if (closing == NULL || at == 0 || text[open[at - 1]] != openings[closing - closings])
      continue;
    name->partner[open[at - 1]] = (uint16_t)i;
    depth = at - 1;
  }
  return true;
}

// Of what is at `at`, if it opens a bracket: where that closes; else NULL.
static const char *partner(const struct name *name, const char *at)
{
  uint16_t partner = name->partner[at - name->start];
  return partner == 0 ? NULL : name->start + partner;
}

// An unnamed namespace at `at`, with the colons behind it: its length; 0: none.
static size_t unnamed_length(const char *at, const char *end)
{
  static const char *const forms[] = {"(anonymous namespace)::", "<unnamed>::", "{anonymous}::"};
  for (size_t i = 0; i < sizeof forms / sizeof forms[0]; i++)
    if (starts_with(at, end, forms[i]))
      return strlen(forms[i]);
  return 0;
}

// ---- the name proper: what stands between return type and parameters -------------------------------------------------
// What is called: without the return type, which ends at the last space outside of brackets. Only where parameters
// follow, or "void" leads, is it a function's name.
static struct text name_proper(const struct name *name)
{
  const char *begin = name->start;
  bool has_parameters = false;
  for (const char *at = name->start; at < name->end; at++) {
    if (unnamed_length(at, name->end) > 0) {
      at += unnamed_length(at, name->end) - 1;
      continue;
    }
    const char *close = partner(name, at);
    if (*at == '(' && close != NULL && at > begin && (is_word_byte(at[-1]) || at[-1] == '>' || at[-1] == ')'))
      has_parameters = true;
    else if (*at == ' ' && !has_parameters && !follows(name->start, at, "operator") &&
             !follows(name->start, at, "const"))
      begin = at + 1;
    at = close != NULL ? close : at;
  }
  if (!has_parameters)
    begin = starts_with(name->start, name->end, "void ") ? name->start + 5 : name->start;
  return (struct text){begin, (size_t)(name->end - begin)};
}

// ---- words of template arguments -------------------------------------------------------------------------------------
struct words {
  struct text items[WORDS_MOST];
  size_t count;
};

// Words within angle brackets that are no namespaces; what stands in other brackets (parameters, casts, lambdas) is left
// out.
static void collect_words(const struct name *name, struct words *words)
{
  const char *end = name->end;
  unsigned depth = 0;
  words->count = 0;
  for (const char *at = name_proper(name).start; at < end && words->count < WORDS_MOST;) {
    if (unnamed_length(at, end) > 0) {
      at += unnamed_length(at, end);
      continue;
    }
    const char *close = *at == '<' ? NULL : partner(name, at);
    if (close != NULL) {
      at = close + 1;
      continue;
    }
    depth += *at == '<';
    depth -= *at == '>' && depth > 0;
    if (!is_word_byte(*at)) {
      at++;
      continue;
    }
    const char *start = at;
    while (at < end && is_word_byte(*at))
      at++;
    bool is_namespace = starts_with(at, end, "::") && at + 2 < end &&
                        (is_word_byte(at[2]) || at[2] == '(' || unnamed_length(at + 2, end) > 0);
    if (depth > 0 && !is_namespace)
      words->items[words->count++] = (struct text){start, (size_t)(at - start)};
  }
}

// Wrappers that say nothing of what they wrap, and types.
static bool is_telling(struct text word)
{
  static const char *const dull[] = {"gpu_kernel_impl",
                                     "gpu_kernel_impl_nocast",
                                     "BinaryFunctor",
                                     "AUnaryFunctor",
                                     "BUnaryFunctor",
                                     "ReduceOp",
                                     "func_wrapper_t",
                                     "OpaqueType",
                                     "TensorIterator",
                                     "TensorListMetadata",
                                     "operator",
                                     "unsigned",
                                     "double",
                                     "std",
                                     "complex",
                                     "BFloat16",
                                     "float2",
                                     "array",
                                     "Array"};
  if (word.length < WORD_LEAST || isdigit((unsigned char)word.start[0]))
    return false;
  for (size_t i = 0; i < sizeof dull / sizeof dull[0]; i++)
    if (strlen(dull[i]) == word.length && memcmp(dull[i], word.start, word.length) == 0)
      return false;
  return true;
}

static size_t find_telling(const struct words *words)
{
  size_t at = 0;
  while (at < words->count && !is_telling(words->items[at]))
    at++;
  return at;
}

// ---- one name --------------------------------------------------------------------------------------------------------
// The template arguments of what is called last, shown by `shown`; those of namespaces and classes around it by "…" alone.
static void put_short(struct buf *out, const struct name *name, const char *shown, size_t shown_length)
{
  const char *start = name_proper(name).start;
  const char *last = NULL; // template arguments that are shown
  for (const char *at = start; at < name->end; at++) {
    const char *close = partner(name, at);
    if (*at == '<' && close != NULL && unnamed_length(at, name->end) == 0)
      last = at;
    at = close != NULL ? close : at;
  }
  for (const char *at = start; at < name->end; at++) {
    size_t unnamed = unnamed_length(at, name->end);
    const char *close = *at == '<' || *at == '(' ? partner(name, at) : NULL;
    bool is_operator = follows(start, at, "operator") || follows(start, at, "operator ");
    if (unnamed > 0) {
      at += unnamed - 1;
    } else if (close == NULL || is_operator || at == start) {
      buf_put(out, at, 1);
    } else if (*at == '<') {
      buf_text(out, "<");
      buf_put(out, at == last ? shown : "…", at == last ? shown_length : strlen("…"));
      buf_text(out, ">");
      at = close;
    } else {
      if (at[-1] == ' ') // "copy (host to device)": no parameters
        buf_put(out, at, (size_t)(close - at) + 1);
      at = close;
    }
  }
}

// "…a, b…", or the words alone where they are all that the brackets hold.
static void put_words(struct buf *out, const struct words *words, const size_t *chosen, size_t count)
{
  bool is_all = count == 1 && words->count == 1;
  buf_text(out, is_all ? "" : "…");
  for (size_t i = 0; i < count; i++) {
    const struct text *word = &words->items[chosen[i]];
    buf_text(out, i > 0 ? " " : "");
    buf_put(out, word->start, word->length);
  }
  buf_text(out, is_all || count == 0 ? "" : "…");
}

static void put_chosen(struct buf *out, const struct name *name, const struct words *words, const size_t *chosen,
                       size_t count)
{
  struct buf shown;
  buf_init(&shown, BUF_MAXIMUM_DEFAULT);
  put_words(&shown, words, chosen, count);
  put_short(out, name, shown.data != NULL ? shown.data : "", shown.length);
  out->failed |= shown.failed;
  buf_done(&shown);
}

void kernel_name_short(struct buf *out, const char *text)
{
  struct name name;
  struct words words;
  if (!read_name(&name, text)) {
    buf_text(out, text);
    return;
  }
  collect_words(&name, &words);
  size_t chosen = find_telling(&words);
  put_chosen(out, &name, &words, &chosen, chosen < words.count);
}

// ---- many names ------------------------------------------------------------------------------------------------------
struct shortened {
  const char *name, *brief;
};

static int compare_names(const void *left, const void *right)
{
  return strcmp(((const struct shortened *)left)->name, ((const struct shortened *)right)->name);
}

static int compare_briefs(const void *left, const void *right)
{
  int order = strcmp(((const struct shortened *)left)->brief, ((const struct shortened *)right)->brief);
  return order != 0 ? order : compare_names(left, right);
}

static bool has_word(const struct words *words, struct text word)
{
  for (size_t i = 0; i < words->count; i++)
    if (words->items[i].length == word.length && memcmp(words->items[i].start, word.start, word.length) == 0)
      return true;
  return false;
}

// The telling word of `which`, then words that not all of the group have: other telling ones first.
static size_t choose_words(const struct words *group, size_t count, size_t which, size_t *chosen)
{
  size_t found = 0;
  size_t bytes = 0;
  chosen[found] = find_telling(&group[which]);
  if (chosen[found] < group[which].count)
    bytes = group[which].items[chosen[found++]].length;
  for (int telling = 1; telling >= 0; telling--)
    for (size_t i = 0; i < group[which].count && found < TELLING_MOST && bytes < SHOWN_MOST; i++) {
      struct text word = group[which].items[i];
      bool is_common = true;
      for (size_t k = 0; k < count && is_common; k++)
        is_common = has_word(&group[k], word);
      bool is_chosen = false;
      for (size_t k = 0; k < found; k++)
        is_chosen |= group[which].items[chosen[k]].length == word.length &&
                     memcmp(group[which].items[chosen[k]].start, word.start, word.length) == 0;
      if (is_common || is_chosen || is_telling(word) != telling)
        continue;
      chosen[found++] = i;
      bytes += word.length;
    }
  return found;
}

static bool set_brief(struct shortened *item, struct buf *text, struct arena *arena)
{
  item->brief = text->failed ? NULL : arena_copy(arena, text->data != NULL ? text->data : "", text->length);
  return item->brief != NULL;
}

// Names of one short form get the words that they differ in.
static bool tell_apart(struct shortened *items, size_t count, struct arena *arena)
{
  if (count < 2 || count > GROUP_MOST)
    return true;
  struct words *group = calloc(count, sizeof *group);
  struct buf text;
  struct name name;
  bool is_good = group != NULL;
  buf_init(&text, BUF_MAXIMUM_DEFAULT);
  for (size_t i = 0; is_good && i < count; i++)
    if (read_name(&name, items[i].name))
      collect_words(&name, &group[i]);
  for (size_t i = 0; is_good && i < count; i++) {
    size_t chosen[TELLING_MOST];
    size_t found = choose_words(group, count, i, chosen);
    if (found == 0 || !read_name(&name, items[i].name))
      continue;
    buf_clear(&text);
    put_chosen(&text, &name, &group[i], chosen, found);
    is_good = set_brief(&items[i], &text, arena);
  }
  buf_done(&text);
  free(group);
  return is_good;
}

// What is still equal is numbered, in the order of the full names.
static bool number(struct shortened *items, size_t count, struct arena *arena)
{
  for (size_t i = 0; count > 1 && i < count; i++) {
    items[i].brief = arena_format(arena, "%s #%zu", items[i].brief, i + 1);
    if (items[i].brief == NULL)
      return false;
  }
  return true;
}

static bool for_each_group(struct shortened *items, size_t count, struct arena *arena,
                           bool (*handle)(struct shortened *items, size_t count, struct arena *arena))
{
  qsort(items, count, sizeof *items, compare_briefs);
  for (size_t first = 0, end; first < count; first = end) {
    for (end = first + 1; end < count && strcmp(items[end].brief, items[first].brief) == 0;)
      end++;
    if (!handle(&items[first], end - first, arena))
      return false;
  }
  return true;
}

// Lists different names; returns how many.
static size_t list_names(const char *const *names, size_t count, struct shortened *items)
{
  size_t listed = 0;
  for (size_t i = 0; i < count; i++)
    if (names[i] != NULL && (i == 0 || names[i] != names[i - 1]))
      items[listed++].name = names[i];
  qsort(items, listed, sizeof *items, compare_names);
  size_t kept = 0;
  for (size_t i = 0; i < listed; i++)
    if (i == 0 || strcmp(items[i].name, items[kept - 1].name) != 0)
      items[kept++] = items[i];
  return kept;
}

bool kernel_names_short(const char *const *names, size_t count, struct arena *arena, const char **ret_short)
{
  struct shortened *items = arena_alloc_array(arena, count + 1, sizeof *items);
  struct buf text;
  if (items == NULL)
    return false;
  size_t different = list_names(names, count, items);
  bool is_good = true;
  buf_init(&text, BUF_MAXIMUM_DEFAULT);
  for (size_t i = 0; is_good && i < different; i++) {
    buf_clear(&text);
    kernel_name_short(&text, items[i].name);
    is_good = set_brief(&items[i], &text, arena);
  }
  buf_done(&text);
  if (!is_good || !for_each_group(items, different, arena, tell_apart) ||
      !for_each_group(items, different, arena, number))
    return false;
  qsort(items, different, sizeof *items, compare_names);
  for (size_t i = 0; i < count; i++) {
    struct shortened wanted = {.name = names[i]};
    const struct shortened *found =
        names[i] == NULL ? NULL : bsearch(&wanted, items, different, sizeof *items, compare_names);
    ret_short[i] = found == NULL ? NULL : found->brief;
  }
  return true;
}
