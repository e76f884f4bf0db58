// SPDX-License-Identifier: Apache-2.0
// What differs between the systems and software stacks of two sides: every recorded fact. Called by compare.c.
#include "analyze/compare/compare.h"
#include "analyze/models/survey_systems.h"
#include "base/interner.h"
#include "base/sorted.h"

#include <string.h>

#define SHOWN_MOST 8u // values of one fact
#define PACKAGES_SHOWN 200u

struct facts { // of one side: each value of a key once
  VECTOR(struct store_system_value) list;
  struct interner known;
  struct buf text;
};

static void put(struct facts *facts, const struct store_system_value *value)
{
  uint32_t count = interner_count(&facts->known);
  buf_clear(&facts->text);
  if (value->is_number)
    buf_format(&facts->text, "%s=%.17g", value->key, value->number);
  else
    buf_format(&facts->text, "%s:%s", value->key, value->text != NULL ? value->text : "");
  if (interner_at(&facts->known, facts->text.data, facts->text.length) == count)
    *vector_add(&facts->list) = *value;
}

static void put_text(struct facts *facts, const char *key, const char *text)
{
  if (text != NULL && text[0] != 0)
    put(facts, &(struct store_system_value){.key = key, .text = text});
}

// The stack first, then the model, then the machine.
static enum status load(const struct experiment_runs *of, struct arena *arena, struct facts *facts, struct error *err)
{
  const struct store_experiment *experiment = of->experiment;
  struct store_system_value *system, *workload;
  size_t system_count, workload_count;
  XSP_TRY(store_system(of->store, experiment->system_id, arena, &system, &system_count, err));
  XSP_TRY(store_workload(of->store, experiment->experiment_id, arena, &workload, &workload_count, err));
  put_text(facts, "framework", experiment->framework);
  put_text(facts, "framework_version", experiment->framework_version);
  put_text(facts, "command", experiment->command);
  put_text(facts, "workload", experiment->workload);
  put_text(facts, "xsp_version", experiment->xsp_version);
  for (size_t i = 0; i < workload_count; i++)
    put(facts, &workload[i]);
  for (size_t i = 0; i < system_count; i++)
    put(facts, &system[i]);
  return STATUS_OK;
}

static enum status load_side(const struct experiments *of, struct arena *arena, struct facts *facts, struct error *err)
{
  buf_init(&facts->text, BUF_MAXIMUM_DEFAULT);
  for (size_t i = 0; i < of->count; i++)
    XSP_TRY(load(&of->items[i], arena, facts, err));
  return STATUS_OK;
}

// The next value of `key` from `at` on; NULL: there is none.
static const struct store_system_value *next_of(const struct facts *facts, const char *key, size_t *at)
{
  while (*at < facts->list.count)
    if (strcmp(facts->list.items[(*at)++].key, key) == 0)
      return &facts->list.items[*at - 1];
  return NULL;
}

static bool has(const struct facts *facts, const struct store_system_value *value)
{
  const struct store_system_value *one;
  for (size_t at = 0; (one = next_of(facts, value->key, &at)) != NULL;)
    if (survey_system_values_are_equal(one, value))
      return true;
  return false;
}

static bool has_all(const struct facts *facts, const struct facts *of, const char *key)
{
  const struct store_system_value *one;
  for (size_t at = 0; (one = next_of(of, key, &at)) != NULL;)
    if (!has(facts, one))
      return false;
  return true;
}

static bool is_package_list(const struct store_system_value *value)
{
  return text_ends_with(value->key, "_packages") && !value->is_number && value->text != NULL &&
         strstr(value->text, ", sha256:") == NULL; // of earlier files: a count and a checksum
}

// Of a list of packages, which may be hundreds: how many.
static struct store_system_value short_value(const struct store_system_value *value)
{
  struct store_system_value count = {.key = value->key, .is_number = true, .number = 1};
  if (!is_package_list(value))
    return *value;
  for (const char *item = value->text; (item = strstr(item, ", ")) != NULL; item += 2)
    count.number++;
  return count;
}

// Several values as a text.
static struct table_cell cell_of(const struct facts *facts, const char *key, struct arena *arena)
{
  size_t at = 0, count = 1;
  const struct store_system_value *one = next_of(facts, key, &at), *next = next_of(facts, key, &at);
  if (one == NULL)
    return (struct table_cell){0};
  struct store_system_value value = short_value(one);
  if (next == NULL)
    return value.is_number ? cell_number(value.number) : cell_text(value.text);
  const char *text = "";
  for (at = 0; (one = next_of(facts, key, &at)) != NULL; count++) {
    value = short_value(one);
    if (count <= SHOWN_MOST)
      text = value.is_number
                 ? arena_format(arena, "%s%s%.15g", text, count > 1 ? ", " : "", value.number)
                 : arena_format(arena, "%s%s%s", text, count > 1 ? ", " : "", value.text != NULL ? value.text : "");
  }
  return cell_text(count - 1 > SHOWN_MOST ? arena_format(arena, "%s and %zu more", text, count - 1 - SHOWN_MOST)
                                          : text);
}

// ---- lists of packages -----------------------------------------------------------------------------------------------
struct package {
  struct slice name, version;
};
struct packages {
  VECTOR(struct package) list; // by name; a name of several architectures by version
};

SORTED_BY(compare_packages, struct package, slice_compare(a->name, b->name) ?: slice_compare(a->version, b->version))

// Of one item: NAME=VERSION as dpkg's, NAME-VERSION as Python's, NAME-VERSION-BUILD as conda's.
static struct package split(const char *key, const char *item, size_t length)
{
  bool is_conda = strcmp(key, "conda_packages") == 0;
  const char *at = memchr(item, '=', length);
  if (at == NULL && is_conda)
    at = memrchr(item, '-', length);
  if (at != NULL && is_conda && memrchr(item, '-', (size_t)(at - item)) != NULL)
    at = memrchr(item, '-', (size_t)(at - item));
  if (at == NULL)
    at = memchr(item, '-', length);
  size_t name = at != NULL ? (size_t)(at - item) : length;
  return (struct package){{item, name}, {item + name + (at != NULL), length - name - (at != NULL)}};
}

static void read_packages(const struct facts *facts, const char *key, struct packages *ret)
{
  size_t at = 0;
  const struct store_system_value *value = next_of(facts, key, &at);
  *ret = (struct packages){0};
  for (const char *item = value != NULL ? value->text : NULL; item != NULL;) {
    const char *end = strstr(item, ", ");
    *vector_add(&ret->list) = split(key, item, end != NULL ? (size_t)(end - item) : strlen(item));
    item = end != NULL ? end + 2 : NULL;
  }
  vector_sort(&ret->list, compare_packages);
}

static void put_row(struct table_builder *table, const char *key, struct table_cell a, struct table_cell b)
{
  table_row(table);
  table_put(table, "key", cell_text(key));
  table_put(table, "a", a);
  table_put(table, "b", b);
}

static struct table_cell version_of(const struct package *package, struct arena *arena)
{
  return cell_text(package != NULL ? arena_copy(arena, package->version.data, package->version.length) : NULL);
}

// How many packages each side has, then those that differ.
static void put_packages(const struct facts facts[2], const char *key, struct arena *arena, struct table_builder *table)
{
  struct packages of[2];
  size_t at[2] = {0, 0}, shown = 0;
  for (int side = 0; side < 2; side++)
    read_packages(&facts[side], key, &of[side]);
  put_row(table, key, cell_int((int64_t)of[0].list.count), cell_int((int64_t)of[1].list.count));
  while (at[0] < of[0].list.count || at[1] < of[1].list.count) {
    const struct package *a = at[0] < of[0].list.count ? &of[0].list.items[at[0]] : NULL;
    const struct package *b = at[1] < of[1].list.count ? &of[1].list.items[at[1]] : NULL;
    int order = a == NULL ? 1 : b == NULL ? -1 : slice_compare(a->name, b->name);
    a = order <= 0 ? a : NULL;
    b = order >= 0 ? b : NULL;
    at[0] += a != NULL;
    at[1] += b != NULL;
    if (a != NULL && b != NULL && slice_compare(a->version, b->version) == 0)
      continue;
    const struct slice name = a != NULL ? a->name : b->name;
    if (shown++ < PACKAGES_SHOWN)
      put_row(table, arena_format(arena, "%.*s: %.*s", (int)strcspn(key, "_"), key, (int)name.length, name.data),
              version_of(a, arena), version_of(b, arena));
  }
  if (shown > PACKAGES_SHOWN)
    table_note(table, "%zu further packages differ: xsp sql FILE \"select value from system where key = '%s'\"",
               shown - PACKAGES_SHOWN, key);
  for (int side = 0; side < 2; side++)
    vector_done(&of[side].list);
}

// One list on each side: of pooled runs on several systems the lists are counted only.
static bool are_packages(const struct facts facts[2], const char *key)
{
  bool is_list = true;
  for (int side = 0; side < 2 && is_list; side++) {
    size_t at = 0;
    const struct store_system_value *one = next_of(&facts[side], key, &at);
    is_list = one != NULL && is_package_list(one) && next_of(&facts[side], key, &at) == NULL;
  }
  return is_list;
}

// Keys of a, then those that b has alone.
static void put_rows(const struct facts facts[2], struct arena *arena, struct table_builder *table)
{
  int64_t same = 0;
  put_row(table, "", (struct table_cell){0}, (struct table_cell){0});
  table_declared(table, 0);
  for (int side = 0; side < 2; side++)
    for (size_t i = 0; i < facts[side].list.count; i++) {
      const char *key = facts[side].list.items[i].key;
      size_t first = 0, other = 0;
      if (next_of(&facts[side], key, &first) != &facts[side].list.items[i] ||
          (side == 1 && next_of(&facts[0], key, &other) != NULL))
        continue;
      if (has_all(&facts[0], &facts[1], key) && has_all(&facts[1], &facts[0], key))
        same++;
      else if (are_packages(facts, key))
        put_packages(facts, key, arena, table);
      else
        put_row(table, key, cell_of(&facts[0], key, arena), cell_of(&facts[1], key, arena));
    }
  table_summary(table, "systems_same", cell_int(same));
}

enum status analyze_systems_answer(const struct experiments of[2], struct arena *arena, struct compare_answer *ret,
                                   struct error *err)
{
  struct facts facts[2] = {0};
  struct table_builder table;
  enum status status = load_side(&of[0], arena, &facts[0], err);
  if (status == STATUS_OK)
    status = load_side(&of[1], arena, &facts[1], err);
  if (status == STATUS_OK) {
    table_start(&table, arena);
    put_rows(facts, arena, &table);
    ret->systems = (struct table){.id = "systems", .title = "what differs between the systems and stacks"};
    table_answer(&table, &ret->systems);
  }
  for (int side = 0; side < 2; side++) {
    vector_done(&facts[side].list);
    interner_done(&facts[side].known);
    buf_done(&facts[side].text);
  }
  return status;
}
