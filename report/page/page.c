// SPDX-License-Identifier: Apache-2.0
// The page: a fixed template with the data put into its marked place, so that the hashes of its Content-Security-Policy
// stay those of the template. What comes from traces is packed (gzip, base64): it can never be markup.
#include "report/page/page.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

// The template is made of web/ (`npm run build`) and committed; the assembler takes it in as it is.
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

void page_part_begin(struct buf *out, size_t run, const char *name)
{
  buf_format(out, "<script type=\"application/octet-stream\" id=\"xsp-%zu-%s\">", run, name);
}

void page_part_end(struct buf *out)
{
  buf_text(out, "</script>\n");
}

// ---- the document
static void put_files(struct page *page, struct json_writer *json)
{
  json_key(json, "files");
  json_array(json);
  for (size_t i = 0; i < page->file_count; i++) {
    json_object(json);
    json_key(json, "name");
    json_string(json, page->files[i].name);
    json_object_end(json);
  }
  json_array_end(json);
}

static void put_choice(struct page *page, struct json_writer *json)
{
  const struct report_page_options *options = page->options;
  json_key(json, "max_spans");
  json_int(json, (int64_t)options->max_spans);
  json_key(json, "run_ids");
  json_array(json);
  for (size_t i = 0; i < options->run_count; i++)
    json_int(json, options->run_ids[i]);
  json_array_end(json);
  json_key(json, "range_ns");
  if (options->range == NULL) {
    json_null(json);
    return;
  }
  json_array(json);
  json_int(json, options->range->from_ns);
  json_int(json, options->range->to_ns < page->last_ns ? options->range->to_ns : page->last_ns);
  json_array_end(json);
}

static void put_names(struct page *page, struct json_writer *json)
{
  json_key(json, "names");
  json_array(json);
  for (uint32_t i = 0; i < page->names.count; i++)
    json_string_n(json, page->names.texts[i], page->names.lengths[i]);
  json_array_end(json);
}

static enum status put_runs(struct page *page, struct json_writer *json, struct error *err)
{
  json_key(json, "runs");
  json_array(json);
  for (size_t i = 0; i < page->run_count; i++) {
    if (i > 0 && page->runs[i].file != page->runs[i - 1].file)
      page_names_start_file(&page->names);
    XSP_TRY(page_put_run(page, i, json, err));
  }
  json_array_end(json);
  return STATUS_OK;
}

// The writer of tables makes JSON of its own: put in the place of the null that `text` ends with.
static enum status put_analyses(struct page *page, struct buf *text, struct error *err)
{
  static const char tail[] = "null}";
  bool is_first = true;
  while (text->length > 0 && text->data[text->length - 1] == '\n')
    text->length--;
  text->length -= sizeof tail - 1;
  buf_text(text, "[");
  for (size_t file = 0; file < page->file_count; file++)
    XSP_TRY(page_put_tables(page, file, &is_first, text, err));
  buf_text(text, "]}");
  return STATUS_OK;
}

// Packed, it is a seventh of its size, and no text of it can be taken for markup.
static enum status put_packed_document(struct page *page, const struct buf *json, struct error *err)
{
  if (json->failed)
    return page_no_memory(err);
  buf_text(&page->out, "<script type=\"application/octet-stream\" id=\"xsp-document\">");
  XSP_TRY(page_put_packed(json->data, json->length, PAGE_PACK_SMALL, &page->out, err));
  page_part_end(&page->out);
  return page_flush(page, err);
}

static enum status put_document(struct page *page, struct error *err)
{
  struct buf text;
  buf_init(&text, BUF_MAXIMUM_DEFAULT);
  struct json_writer json;
  json_start(&json, &text);
  json_object(&json);
  json_key(&json, "page_version");
  json_int(&json, PAGE_VERSION);
  put_files(page, &json);
  enum status status = page_put_facts(page, &json, err);
  if (status == STATUS_OK)
    status = put_runs(page, &json, err);
  if (status == STATUS_OK) {
    put_choice(page, &json);
    put_names(page, &json);
    json_key(&json, "analyses");
    json_null(&json);
    json_object_end(&json);
    status = text.failed ? page_no_memory(err) : put_analyses(page, &text, err);
  }
  if (status == STATUS_OK)
    status = put_packed_document(page, &text, err);
  buf_done(&text);
  return status;
}

// ---- the file
static enum status write_page(struct page *page, const char *path, struct error *err)
{
  const char *mark = memmem(report_page_template, (size_t)(report_page_template_end - report_page_template), data_mark,
                            sizeof data_mark - 1);
  if (mark == NULL)
    return error_set(err, STATUS_SYSTEM, "cannot make the page", path, "build xsp again",
                     "its template has no place for data");
  XSP_TRY(page_choose(page, err));
  XSP_TRY(export_file_open(path, &page->file, err));
  buf_put(&page->out, report_page_template, (size_t)(mark - report_page_template));
  XSP_TRY(page_flush(page, err));
  XSP_TRY(put_document(page, err));
  XSP_TRY(export_file_flush_buf(&page->file, &page->tags, err));
  const char *rest = mark + sizeof data_mark - 1;
  buf_put(&page->out, rest, (size_t)(report_page_template_end - rest));
  XSP_TRY(page_flush(page, err));
  return export_file_close(&page->file, err);
}

static enum status open_files(struct page *page, const struct report_page_file *files, size_t count, struct error *err)
{
  size_t run_count = 0;
  page->files = arena_alloc_array(&page->arena, count + 1, sizeof *page->files);
  if (page->files == NULL)
    return page_no_memory(err);
  for (; page->file_count < count; page->file_count++) {
    struct page_file *file = &page->files[page->file_count];
    file->name = files[page->file_count].name;
    enum status status = timeline_open(files[page->file_count].store, &file->timeline, err);
    if (status != STATUS_OK) {
      timeline_done(&file->timeline);
      return status;
    }
    run_count += file->timeline.run_count;
  }
  page->runs = arena_alloc_array(&page->arena, run_count + 1, sizeof *page->runs);
  if (page->runs == NULL)
    return page_no_memory(err);
  for (size_t file = 0; file < count; file++)
    for (size_t i = 0; i < page->files[file].timeline.run_count; i++)
      page->runs[page->run_count++] = (struct page_run){.file = file, .index = i};
  return STATUS_OK;
}

enum status report_page(const struct report_page_file *files, size_t count, const struct report_page_options *options,
                        const char *path, struct error *err)
{
  struct page page = {.options = options};
  buf_init(&page.out, BUF_MAXIMUM_DEFAULT);
  buf_init(&page.tags, BUF_MAXIMUM_DEFAULT);
  enum status status = open_files(&page, files, count, err);
  if (status == STATUS_OK)
    status = write_page(&page, path, err);
  export_file_abandon(&page.file);
  buf_done(&page.out);
  buf_done(&page.tags);
  page_names_done(&page.names);
  for (size_t i = 0; i < page.file_count; i++)
    timeline_done(&page.files[i].timeline);
  arena_done(&page.arena);
  return status;
}
