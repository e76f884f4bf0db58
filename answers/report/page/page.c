// SPDX-License-Identifier: Apache-2.0
// The page: a fixed template with the data inserted at its mark, so that the hashes of its Content-Security-Policy
// remain valid. Data of traces is packed (gzip, base64) and can never be taken for markup.
#include "report/page/page.h"
#include "report/page/parts.h"
#include "table/words.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

// tools/page builds the template from web/; it is committed, and the assembler includes it.
__asm__(".pushsection .rodata\n"
        ".global report_page_template\n"
        ".global report_page_template_end\n"
        "report_page_template:\n"
        ".incbin \"" XSP_PAGE_TEMPLATE "\"\n"
        "report_page_template_end:\n"
        ".byte 0\n"
        ".popsection\n");
extern const char report_page_template[], report_page_template_end[];
static const char data_mark[] = "<!--xsp-data-->";
static const char no_connection[] = "connect-src 'none'"; // of its policy: a served page asks its server

void page_put_part(const struct page *page, struct buf *out, const char *id, enum page_pack pack, struct slice bytes)
{
  if (page->options->is_of_server) {
    size_t place = parts_begin(out, id);
    page_put_packed(bytes.data, bytes.length, pack, false, out);
    parts_end(out, place);
    return;
  }
  buf_format(out, "<script type=\"application/octet-stream\" id=\"xsp-%s\">", id);
  page_put_packed(bytes.data, bytes.length, pack, true, out);
  buf_text(out, "</script>\n");
}

void page_put_text(const struct page *page, struct buf *out, const char *id, enum page_pack pack, struct buf *text)
{
  out->failed |= text->failed;
  page_put_part(page, out, id, pack, (struct slice){text->data, text->length});
  buf_done(text);
}

// ---- the document
// Numbers count from 1; 0 as a caller: none.
static void put_call_paths(const struct page_file *file, struct json_writer *json)
{
  size_t count = file->stacks.file.context_count;
  if (count == 0)
    return;
  const uint32_t *columns[] = {file->paths.caller, file->paths.name};
  static const char *const keys[] = {"caller", "name"};
  json_member_object(json, "call_paths");
  for (size_t column = 0; column < 2; column++) {
    json_member_array(json, keys[column]);
    for (size_t i = 0; i < count; i++)
      json_int(json, columns[column][i]);
    json_array_end(json);
  }
  json_member_array(json, "level");
  for (size_t i = 0; i < count; i++)
    json_int(json, file->paths.level[i]);
  json_array_end(json);
  json_object_end(json);
}

static void put_files(struct page *page, struct json_writer *json)
{
  json_member_array(json, "files");
  for (size_t i = 0; i < page->file_count; i++) {
    json_object(json);
    json_member_string(json, "name", page->files[i].name);
    put_call_paths(&page->files[i], json);
    json_object_end(json);
  }
  json_array_end(json);
}

static void put_choice(struct page *page, struct json_writer *json)
{
  const struct report_page_options *options = page->options;
  json_member_int(json, "max_spans", (int64_t)options->max_spans);
  json_member_ints(json, "run_ids", options->run_ids, options->run_count);
  json_key(json, "range_ns");
  if (options->range == NULL) {
    json_null(json);
    return;
  }
  int64_t to_ns = options->range->to_ns < page->last_ns ? options->range->to_ns : page->last_ns;
  json_ints(json, (const int64_t[]){options->range->from_ns, to_ns}, 2);
}

static void put_texts(struct json_writer *json, const char *key, const struct interner *texts)
{
  json_member_array(json, key);
  for (uint32_t i = 0; i < interner_count(texts); i++) {
    struct slice text = interner_text(texts, i);
    json_string_n(json, text.data, text.length);
  }
  json_array_end(json);
}

// Where the frames are that names stand for, by number of the name; once each.
static void put_sources(struct page *page, struct json_writer *json)
{
  struct interner files SCOPED(interner_done) = {0};
  struct map known SCOPED(map_done) = {0};
  VECTOR(int64_t) columns[3] = {{0}};
  for (size_t at = 0; at < page->file_count; at++) {
    const struct page_file *file = &page->files[at];
    for (size_t i = 0; i < file->stacks.file.context_count; i++) {
      const struct store_frame *frame = stacks_frame(&file->stacks, file->stacks.paths.name[i]);
      bool is_new = false;
      if (frame == NULL || frame->file == NULL || frame->line <= 0)
        continue;
      (void)map_at(&known, map_number(file->paths.name[i]), &is_new);
      if (!is_new)
        continue;
      *vector_add(&columns[0]) = file->paths.name[i];
      *vector_add(&columns[1]) = interner_at(&files, frame->file, strlen(frame->file));
      *vector_add(&columns[2]) = frame->line;
    }
  }
  json_member_object(json, "sources");
  put_texts(json, "files", &files);
  static const char *const keys[] = {"name", "file", "line"};
  for (size_t i = 0; i < 3; i++) {
    json_member_ints(json, keys[i], columns[i].items, columns[i].count);
    vector_done(&columns[i]);
  }
  json_object_end(json);
}

// Runs, and analyses of each file; those of several batch sizes are one.
void page_step(struct page *page)
{
  size_t analysis_count = 0;
  while (analyses[analysis_count] != NULL)
    analysis_count++;
  headway_tell(&page->options->watcher, ++page->step_count, page->run_count + page->file_count * analysis_count);
}

static enum status put_runs(struct page *page, struct json_writer *json, struct error *err)
{
  json_member_array(json, "runs");
  for (size_t i = 0; i < page->run_count; i++) {
    if (i > 0 && page->runs[i].file != page->runs[i - 1].file)
      page_names_start_file(&page->names);
    XSP_TRY(page_put_run(page, i, json, err));
    page_step(page);
  }
  json_array_end(json);
  return STATUS_OK;
}

static enum status put_analyses(struct page *page, struct json_writer *json, struct error *err)
{
  json_member_array(json, "analyses");
  for (size_t file = 0; file < page->file_count; file++)
    XSP_TRY(page_put_tables(page, file, json, err));
  json_array_end(json);
  return STATUS_OK;
}

static void put_units(struct json_writer *json)
{
  json_member_object(json, "units");
  json_member_object(json, "keys");
  for (const struct table_word *word = table_words; word->key != NULL; word++)
    if (word->unit != NULL)
      json_member_string(json, word->key, word->unit);
  json_object_end(json);
  json_member_array(json, "endings");
  for (const struct table_ending *ending = table_endings; ending->text != NULL; ending++) {
    json_array(json);
    json_string(json, ending->text);
    json_string(json, ending->unit);
    json_array_end(json);
  }
  json_array_end(json);
  json_object_end(json);
}

static enum status put_document(struct page *page, struct error *err)
{
  struct buf text SCOPED(buf_done) = {0};
  struct json_writer json;
  json_start(&json, &text);
  json_object(&json);
  json_member_int(&json, "page_version", PAGE_VERSION);
  put_units(&json);
  put_files(page, &json);
  enum status status = page_put_facts(page, &json, err);
  if (status == STATUS_OK)
    status = put_runs(page, &json, err);
  if (status == STATUS_OK) {
    put_choice(page, &json);
    put_texts(&json, "names", &page->names.texts);
    put_sources(page, &json);
    status = put_analyses(page, &json, err);
    page_put_comparison(page, &json);
    page_put_short_names(page, &json);
    json_member_bool(&json, "has_code", page_has_code(page));
    json_object_end(&json);
  }
  if (status == STATUS_OK) // packed, it is a seventh of its size, and its texts cannot be taken for markup
    page_put_text(page, &page->file.out, "document", PAGE_PACK_SMALL, &text);
  return status;
}

// ---- the file
// The template's place of this text. NULL: it has none.
static const char *find_mark(const char *mark)
{
  return memmem(report_page_template, (size_t)(report_page_template_end - report_page_template), mark, strlen(mark));
}

static enum status write_parts(struct page *page, const char *path, struct error *err)
{
  XSP_TRY(page_choose(page, err));
  XSP_TRY(export_file_open(path, &page->file, err));
  page->file.is_scratch = true;
  buf_text(&page->file.out, PARTS_MAGIC);
  XSP_TRY(put_document(page, err));
  export_file_put(&page->file, &page->tags);
  return STATUS_OK;
}

static enum status write_page(struct page *page, const char *path, struct error *err)
{
  const char *mark = find_mark(data_mark);
  if (mark == NULL)
    return error_set(err, STATUS_SYSTEM, "cannot make the page", path, "build xsp again",
                     "its template has no place for data");
  XSP_TRY(page_choose(page, err));
  XSP_TRY(export_file_open(path, &page->file, err));
  buf_put(&page->file.out, report_page_template, (size_t)(mark - report_page_template));
  XSP_TRY(put_document(page, err));
  XSP_TRY(page_put_code(page, err));
  export_file_put(&page->file, &page->tags);
  const char *rest = mark + sizeof data_mark - 1;
  buf_put(&page->file.out, rest, (size_t)(report_page_template_end - rest));
  return STATUS_OK;
}

static enum status open_stacks(struct page *page, struct page_file *file, struct store *store, struct error *err)
{
  struct buf text SCOPED(buf_done) = {0};
  XSP_TRY(stacks_open(store, &file->stacks, err));
  XSP_TRY(stacks_load_samples(&file->stacks, err));
  size_t count = file->stacks.file.context_count;
  uint32_t *names = arena_alloc_array(&page->arena, count, sizeof *names);
  for (size_t i = 0; i < count; i++) {
    buf_clear(&text);
    stacks_put_name(&file->stacks, file->stacks.paths.name[i], &text);
    names[i] = interner_at(&page->names.texts, text.length == 0 ? "" : text.data, text.length);
  }
  file->paths = (struct context_paths){file->stacks.paths.caller, names, file->stacks.paths.level};
  return STATUS_OK;
}

static enum status open_files(struct page *page, const struct report_page_file *files, size_t count, struct error *err)
{
  size_t run_count = 0;
  page->files = arena_alloc_array(&page->arena, count, sizeof *page->files);
  for (size_t i = 0; i < count; i++) {
    struct page_file *file = &page->files[page->file_count++];
    file->name = files[i].name;
    file->cache = (struct analyze_cache){.bytes_most = PAGE_CACHE_BYTES_MOST, .findings_follow = count == 1};
    XSP_TRY(timeline_open(files[i].store, &file->timeline, err));
    XSP_TRY(open_stacks(page, file, files[i].store, err));
    run_count += file->timeline.run_count;
  }
  page->runs = arena_alloc_array(&page->arena, run_count, sizeof *page->runs);
  for (size_t file = 0; file < count; file++)
    for (size_t i = 0; i < page->files[file].timeline.run_count; i++)
      page->runs[page->run_count++] = (struct page_run){.file = file, .index = i};
  return STATUS_OK;
}

enum status report_page(const struct report_page_file *files, size_t count, const struct report_page_options *options,
                        const char *path, struct error *err)
{
  struct page page = {.options = options};
  buf_init(&page.tags, BUF_MAXIMUM_DEFAULT);
  enum status status = open_files(&page, files, count, err);
  if (status == STATUS_OK)
    status = options->is_of_server ? write_parts(&page, path, err) : write_page(&page, path, err);
  status = export_file_close(&page.file, status);
  buf_done(&page.tags);
  page_names_done(&page.names);
  for (size_t i = 0; i < page.file_count; i++) {
    timeline_done(&page.files[i].timeline);
    stacks_done(&page.files[i].stacks);
    interner_done(&page.files[i].kernels);
    interner_done(&page.files[i].code);
    analyze_cache_done(&page.files[i].cache);
  }
  arena_done(&page.arena);
  return status;
}

void report_page_served(const char *about, struct buf *out)
{
  const char *policy = find_mark(no_connection), *mark = find_mark(data_mark);
  buf_put(out, report_page_template, (size_t)(policy - report_page_template));
  policy += strlen(no_connection);
  buf_text(out, "connect-src 'self'");
  buf_put(out, policy, (size_t)(mark - policy));
  buf_format(out, "<script type=\"text/plain\" id=\"xsp-served\">%s</script>\n", about);
  mark += strlen(data_mark);
  buf_put(out, mark, (size_t)(report_page_template_end - mark));
}
