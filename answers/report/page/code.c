// SPDX-License-Identifier: Apache-2.0
// Source files that rows of a file's tables name, as they are now, with what is known about whether they are those that ran. Called
// by tables.c, which shows it the tables, and by page.c. The names come from a trace: only regular files with the ending of a
// source language are read, and only where the trace was recorded on this machine.
#include "base/clock.h"
#include "base/input_file.h"
#include "report/page/page.h"

#include <inttypes.h>
#include <string.h>
#include <sys/stat.h>
#include <zlib.h>

#define ROWS_READ 60                        // of each table, which begin with the most time
#define FILE_BYTES_MOST ((size_t)512 << 10) // longer files are left out
#define BYTES_MOST ((size_t)2 << 20)        // of all files of a page

static const char *const endings[] = {".py", ".pyx", ".c",  ".cc", ".cpp", ".cxx", ".h",    ".hh", ".hpp",
                                      ".cu", ".cuh", ".rs", ".go", ".jl",  ".f90", ".java", ".js", ".ts"};

static bool is_source(const char *path)
{
  const char *dot = strrchr(path, '.');
  for (size_t i = 0; path[0] == '/' && dot != NULL && i < sizeof endings / sizeof endings[0]; i++)
    if (strcmp(dot, endings[i]) == 0)
      return true;
  return false;
}

void page_code_keep(const struct table *table, struct interner *files)
{
  size_t file = SIZE_MAX;
  bool has_lines = false;
  for (size_t column = 0; column < table->column_count; column++) {
    file = strcmp(table->columns[column].key, "file") == 0 ? column : file;
    has_lines |= strcmp(table->columns[column].key, "line") == 0;
  }
  for (size_t row = 0; file != SIZE_MAX && has_lines && row < table->row_count && row < ROWS_READ; row++) {
    const struct table_cell *cell = &table->rows[row * table->column_count + file];
    if (cell->type == CELL_TEXT && is_source(cell->value.text))
      (void)interner_at(files, cell->value.text, strlen(cell->value.text));
  }
}

// ---- one file of the page
struct origin {
  bool is_here;        // recorded on this machine
  int64_t recorded_ns; // since 1970
};

static enum status origin_of(const struct timeline *timeline, struct origin *ret, struct error *err)
{
  struct arena arena SCOPED(arena_done) = {0};
  enum status status = STATUS_OK;
  *ret = (struct origin){0};
  for (size_t i = 0; i < timeline->experiment_count && status == STATUS_OK; i++) {
    const struct store_experiment *experiment = &timeline->experiments[i];
    bool is_here;
    status = analyze_is_here(timeline->store, experiment->system_id, &arena, &is_here, err);
    ret->is_here |= is_here;
    ret->recorded_ns = experiment->created_ns > ret->recorded_ns ? experiment->created_ns : ret->recorded_ns;
  }
  return status;
}

// Why the file's text is not on the page; NULL: it is.
static const char *read_file(const char *path, const struct origin *origin, size_t room, struct buf *text,
                             int64_t *ret_changed_ns)
{
  struct stat facts;
  buf_init(text, FILE_BYTES_MOST);
  if (!origin->is_here)
    return "the trace is from another machine";
  if (stat(path, &facts) != 0)
    return "the file is no longer there";
  if (!S_ISREG(facts.st_mode) || input_file_read(path, "cannot read the source", text, NULL) != STATUS_OK)
    return facts.st_size > (off_t)FILE_BYTES_MOST ? "the file is too large" : "the file cannot be read";
  if (text->length > room)
    return "the page has no room for more source";
  *ret_changed_ns = clock_ns_of(facts.st_mtim);
  return NULL;
}

static void put_file(struct json_writer *json, size_t file, const char *path, const struct origin *origin, size_t *room)
{
  struct buf text;
  int64_t changed_ns = 0;
  const char *why_not = read_file(path, origin, *room, &text, &changed_ns);
  json_object(json);
  json_member_int(json, "file", (int64_t)file);
  json_member_string(json, "name", path);
  json_member_string(json, "left_out", why_not);
  if (why_not == NULL) {
    char checksum[16];
    snprintf(checksum, sizeof checksum, "%08lx", crc32(0, (const Bytef *)text.data, (uInt)text.length));
    *room -= text.length;
    json_member_string(json, "crc32", checksum);
    json_member_bool(json, "is_changed", changed_ns > origin->recorded_ns);
    json_key(json, "text");
    json_string_n(json, text.length > 0 ? text.data : "", text.length);
  }
  json_object_end(json);
  buf_done(&text);
}

bool page_reads_source(const struct page *page)
{
  return page->options->has_source && !page->options->is_of_server;
}

bool page_has_code(const struct page *page)
{
  size_t count = 0;
  for (size_t i = 0; i < page->file_count; i++)
    count += interner_count(&page->files[i].code);
  return page_reads_source(page) && count > 0;
}

enum status page_put_code(struct page *page, struct error *err)
{
  struct buf text;
  struct json_writer json;
  size_t room = BYTES_MOST;
  enum status status = STATUS_OK;
  if (!page_has_code(page))
    return STATUS_OK;
  buf_init(&text, BUF_MAXIMUM_DEFAULT);
  json_start(&json, &text);
  json_array(&json);
  for (size_t i = 0; i < page->file_count && status == STATUS_OK; i++) {
    struct origin origin;
    status = origin_of(&page->files[i].timeline, &origin, err);
    for (uint32_t j = 0; status == STATUS_OK && j < interner_count(&page->files[i].code); j++)
      put_file(&json, i, interner_text(&page->files[i].code, j).data, &origin, &room);
  }
  json_array_end(&json);
  if (status == STATUS_OK)
    page_put_text(page, &page->file.out, "code", PAGE_PACK_SMALL, &text);
  buf_done(&text);
  return status;
}
