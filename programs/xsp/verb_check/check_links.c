// SPDX-License-Identifier: Apache-2.0
// What `xsp check --links` prints: a table of counts by level and basis, examples of disagreement, traps. Called by
// verb_check.c.
#include "correlate/check_links.h"
#include "base/json_write.h"
#include "programs/xsp/output.h"
#include "programs/xsp/reader.h"
#include "programs/xsp/verb_check/check.h"
#include "report/display.h"
#include "table/builder.h"

#include <inttypes.h>

static bool is_empty(const size_t *count)
{
  size_t sum = 0;
  for (int outcome = 0; outcome < LINK_OUTCOMES; outcome++)
    sum += count[outcome];
  return sum == 0;
}

// ---- JSON ------------------------------------------------------------------------------------------------------------
static void put_counts(struct json_writer *json, const size_t *count)
{
  for (int outcome = 0; outcome < LINK_OUTCOMES; outcome++)
    json_member_int(json, link_outcome_keys[outcome], (int64_t)count[outcome]);
}

static void put_name(struct json_writer *json, struct store *store, const char *key, uint32_t name)
{
  size_t length;
  const char *text = store_text(store, name, &length);
  json_key(json, key);
  json_string_n(json, text, length);
}

static void put_examples(struct json_writer *json, const struct run_links *links, struct store *store)
{
  json_member_array(json, "examples");
  for (size_t i = 0; i < links->example_count; i++) {
    const struct link_example *example = &links->example[i];
    json_object(json);
    json_member_int(json, "span_id", example->span_id);
    put_name(json, store, "name", example->name);
    json_member_string(json, "level", level_name(example->level));
    json_member_string(json, "basis", basis_name(example->basis));
    json_member_int(json, "recorded_id", example->recorded_id);
    put_name(json, store, "recorded_name", example->recorded_name);
    json_member_int(json, "our_id", example->our_id);
    put_name(json, store, "our_name", example->our_name);
    json_object_end(json);
  }
  json_array_end(json);
}

static void put_operators(struct json_writer *json, const struct run_links *links)
{
  json_member_string(json, "trap", links->is_trap ? "external id is only the correlation id" : NULL);
  json_member_object(json, "kernel_ns");
  json_member_int(json, "recorded", links->recorded_ns);
  json_member_int(json, "ours", links->our_ns);
  json_member_int(json, "all", links->kernel_ns);
  json_object_end(json);
}

static void put_links(struct json_writer *json, const struct run_links *links, struct store *store)
{
  size_t sums[LINK_OUTCOMES];
  for (int outcome = 0; outcome < LINK_OUTCOMES; outcome++)
    sums[outcome] = link_check_sum(links, (enum link_outcome)outcome);
  json_object(json);
  json_member_int(json, "run_id", links->run_id);
  json_member_string(json, "links", link_kind_names[links->kind]);
  put_counts(json, sums);
  json_member_array(json, "by");
  for (unsigned level = 0; level < XSP_LEVEL_COUNT; level++)
    for (unsigned basis = 0; basis < BASIS_COUNT; basis++) {
      if (is_empty(links->count[level][basis]))
        continue;
      json_object(json);
      json_member_string(json, "level", level_name(level));
      json_member_string(json, "basis", basis_name(basis));
      put_counts(json, links->count[level][basis]);
      json_object_end(json);
    }
  json_array_end(json);
  if (links->kind == LINK_OPERATOR)
    put_operators(json, links);
  put_examples(json, links, store);
  json_object_end(json);
}

static void print_json(const struct check_links *links, struct store *store, struct buf *out)
{
  struct json_writer json;
  json_start(&json, out);
  json_object(&json);
  json_member_string(&json, "path", store_path(store));
  put_counts(&json, links->total);
  json_member_array(&json, "links");
  for (size_t i = 0; i < links->count; i++)
    put_links(&json, &links->links[i], store);
  json_array_end(&json);
  json_object_end(&json);
  buf_text(out, "\n");
}

// ---- for people ------------------------------------------------------------------------------------------------------
static void put_row(struct table_builder *table, const struct run_links *links, unsigned level, unsigned basis)
{
  table_row(table);
  table_put(table, "run_id", cell_int(links->run_id));
  table_put(table, "links", cell_text(link_kind_names[links->kind]));
  table_put(table, "level", cell_text(level_name(level)));
  table_put(table, "basis", cell_text(basis_name(basis)));
  for (int outcome = 0; outcome < LINK_OUTCOMES; outcome++)
    table_put(table, link_outcome_keys[outcome], cell_int((int64_t)links->count[level][basis][outcome]));
}

static void print_table(const struct check_links *links, enum report_format format, unsigned width, struct buf *out)
{
  struct arena arena SCOPED(arena_done) = {0};
  struct table_builder builder;
  struct table table = {.id = "links"};
  table_start(&builder, &arena);
  put_row(&builder, &(const struct run_links){0}, 0, 0);
  table_declared(&builder, 0);
  for (size_t i = 0; i < links->count; i++)
    for (unsigned level = 0; level < XSP_LEVEL_COUNT; level++)
      for (unsigned basis = 0; basis < BASIS_COUNT; basis++)
        if (!is_empty(links->links[i].count[level][basis]))
          put_row(&builder, &links->links[i], level, basis);
  table_answer(&builder, &table);
  report_tables(&table, 1, format, false, width, out);
}

static void put_escaped(struct buf *out, struct store *store, uint32_t name)
{
  size_t length;
  const char *text = store_text(store, name, &length);
  display_escape(out, text, length < 120 ? length : 120);
}

static void print_example(const struct link_example *example, struct store *store, struct buf *out)
{
  buf_format(out, "  span %" PRId64 " ", example->span_id);
  put_escaped(out, store, example->name);
  buf_format(out, " (%s): recorded %" PRId64 " ", level_name(example->level), example->recorded_id);
  put_escaped(out, store, example->recorded_name);
  buf_format(out, ", ours %" PRId64 " ", example->our_id);
  put_escaped(out, store, example->our_name);
  buf_format(out, " (%s)\n", basis_name(example->basis));
}

static void print_remarks(const struct run_links *links, struct store *store, struct buf *out)
{
  if (links->is_trap)
    buf_format(
        out,
        "\nrun %" PRId64
        ": the external id is only the correlation id (of %zu of %zu executions), so it names no operator: by accident "
        "it\nattributes %.3f of %.3f ms of kernels, launches attribute %.3f ms. These links are not judged.\n",
        links->run_id, links->same_number, links->with_both, (double)links->recorded_ns / 1e6,
        (double)links->kernel_ns / 1e6, (double)links->our_ns / 1e6);
  if (links->is_trap || links->example_count == 0)
    return;
  buf_format(out, "\nrun %" PRId64 ", %s that disagree, for example\n", links->run_id, link_kind_names[links->kind]);
  for (size_t i = 0; i < links->example_count; i++)
    print_example(&links->example[i], store, out);
}

#define NO_LINKS "nothing to compare: the file has no recorded links, neither parents nor external ids of kernels"

// What has no recorded side counts as "only ours".
static bool has_recorded(const struct check_links *links)
{
  for (size_t i = 0; i < links->count; i++)
    for (int outcome = 0; outcome < LINK_OUTCOMES; outcome++)
      if (outcome != LINK_ONLY_OURS && link_check_sum(&links->links[i], (enum link_outcome)outcome) > 0)
        return true;
  return false;
}

static void print(const struct check_links *links, struct store *store, enum report_format format, unsigned width,
                  struct buf *out)
{
  bool is_for_people = format == REPORT_TEXT || format == REPORT_MARKDOWN;
  if (!has_recorded(links) && is_for_people) {
    buf_text(out, NO_LINKS "\n");
    return;
  }
  if (!has_recorded(links))
    output_message("xsp: %s: " NO_LINKS, store_path(store));
  if (format == REPORT_JSON) {
    print_json(links, store, out);
    return;
  }
  print_table(links, format, width, out);
  for (size_t i = 0; i < links->count && is_for_people; i++)
    print_remarks(&links->links[i], store, out);
}

enum status check_links_run(const char *path, enum report_format format, struct error *err)
{
  struct store *store;
  struct arena arena SCOPED(arena_done) = {0};
  struct check_links links;
  XSP_TRY(verb_reader_open(path, &store, err));
  enum status status = link_check_compare(store, &arena, &links, err);
  if (status == STATUS_OK) {
    struct buf out = {0};
    print(&links, store, format, output_width(), &out);
    status = output_buf(&out, err);
  }
  if (status == STATUS_OK && links.total[LINK_DISAGREES] > 0)
    status = STATUS_NO;
  store_close(store);
  return status;
}
