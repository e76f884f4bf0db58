// SPDX-License-Identifier: Apache-2.0
// What labels of xsp's own samples have of the spans that they stand for: level, kind, category, and the tags that all these spans
// have alike. answers/report/exports/pprof.c writes them. Called by pprof.c for each sample of spans.
#include "importers/pprof/spans.h"

#include "format/level.h"
#include "importers/text_file.h"

// A label that is a tag; false: it is another one. "real." is before the key of a number that is no whole one, "tag." before a key
// that another label has. `tag.count` stays, since `count` is the number of spans.
static bool read_tag(struct import *import, const struct pprof_label *label, struct store_tag *ret_tag)
{
  static const char *const others[] = {"run", "level", "kind", "category", "count"};
  struct slice key = label->key, rest;
  *ret_tag = (struct store_tag){.type = STORE_INT, .value.integer = label->number};
  for (size_t i = 0; i < sizeof others / sizeof others[0]; i++)
    if (slice_is(key, others[i]))
      return false;
  double real;
  if (!label->is_number && slice_starts_with(key, "real.") && import_number(label->text, &real, &rest) &&
      rest.length == 0) {
    *ret_tag = (struct store_tag){.type = STORE_DOUBLE, .value.real = real};
    key = slice_after(key, strlen("real."));
  } else {
    key = slice_starts_with(key, "tag.") && !slice_is(key, "tag.count") ? slice_after(key, strlen("tag.")) : key;
    if (!label->is_number)
      *ret_tag = (struct store_tag){.type = STORE_TEXT, .value.string = import_repaired(import, label->text)};
  }
  ret_tag->key = import_repaired(import, key);
  return ret_tag->key != 0;
}

static bool has_tag(const struct pprof_spans *spans, const struct store_tag *tag)
{
  for (size_t i = 0; i < spans->read.count; i++) {
    const struct store_tag *other = &spans->read.items[i];
    if (other->key == tag->key && other->type == tag->type &&
        (tag->type == STORE_TEXT ? other->value.string == tag->value.string
                                 : other->value.integer == tag->value.integer))
      return true;
  }
  return false;
}

static void keep_common(struct pprof_spans *spans, struct pprof_node *node)
{
  size_t kept = node->first_tag;
  for (size_t i = node->first_tag; i < node->first_tag + node->tag_count; i++)
    if (has_tag(spans, &spans->tags.items[i]))
      spans->tags.items[kept++] = spans->tags.items[i];
  node->tag_count = kept - node->first_tag;
}

static void keep_all(struct pprof_spans *spans, struct pprof_node *node)
{
  node->first_tag = spans->tags.count;
  node->tag_count = spans->read.count;
  for (size_t i = 0; i < spans->read.count; i++)
    *vector_add(&spans->tags) = spans->read.items[i];
}

int64_t pprof_take_labels(struct import *import, struct pprof_spans *spans, struct pprof_node *node,
                          const struct pprof_sample *sample)
{
  struct slice level = pprof_text_of(sample, "level"), kind = pprof_text_of(sample, "kind");
  int64_t stands_for = 1;
  struct store_tag tag;
  unsigned number;
  if (level_from_name(level.data, level.length, &number))
    node->level = number;
  node->is_execution = kind_from_name(kind.data, kind.length, &number) && number == XSP_KIND_EXECUTION;
  node->category = import_slice(import, pprof_text_of(sample, "category"));
  spans->read.count = 0;
  for (size_t i = 0; i < sample->labels.count; i++) {
    const struct pprof_label *label = &sample->labels.items[i];
    if (read_tag(import, label, &tag))
      *vector_add(&spans->read) = tag;
    else if (slice_is(label->key, "count") && label->is_number && label->number > 0)
      stands_for = label->number; // it was an import of sums
  }
  if (node->count > 0)
    keep_common(spans, node);
  else
    keep_all(spans, node);
  return stands_for;
}
