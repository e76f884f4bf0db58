// SPDX-License-Identifier: Apache-2.0
// Tests only: prints a session folder as lines, for the tests that are scripts.
//   span TRACER LEVEL NAME | tag NAME KEY VALUE | message TEXT | count NAME VALUE
//   sample PID TID KIND NS SPAN PATH, where SPAN is an id or 0, and PATH has NAME:FILE:LINE or MODULE+ADDRESS of each frame,
//   outermost first, separated by tabs, as the line's parts are
#include "tests/support/ring_reader.h"

#include <stdio.h>
#include <string.h>

static const char *name_of(const struct session_read *read, uint32_t site_id)
{
  const struct catalog_site *site = read_site(read, site_id);
  const char *text = site == NULL ? NULL : read_text(read, site->name);
  return text == NULL ? "?" : text;
}

static void print_tag(const struct session_read *read, const struct read_record *span, const struct record *tag)
{
  const char *key = read_text(read, tag->site), *name = name_of(read, span->record.site);
  if (tag->type == RECORD_TAG_INT)
    printf("tag %s %s %lld\n", name, key, (long long)tag->start);
  else if (tag->type == RECORD_TAG_STRING)
    printf("tag %s %s %s\n", name, key, read_text(read, (uint32_t)tag->start));
}

static void print_span(const struct session_read *read, const struct read_record *span)
{
  const struct catalog_site *site = read_site(read, span->record.site);
  if (site == NULL)
    return;
  printf("span %s %u %s\n", read->control.tracer[site->tracer].name, site->level, name_of(read, span->record.site));
  for (size_t i = 0; i < read->count; i++)
    if (read->records[i].ring == span->ring && read->records[i].record.id == span->record.id)
      print_tag(read, span, &read->records[i].record);
}

static const void *entry_at(const struct session_read *read, uint32_t id)
{
  return read->catalog + (size_t)id * 8;
}

static void print_path(const struct session_read *read, uint32_t id)
{
  if (id == 0)
    return;
  const struct catalog_path *path = entry_at(read, id);
  const struct catalog_frame *frame = entry_at(read, path->frame);
  print_path(read, path->caller);
  if (frame->entry.type == CATALOG_PATH) {
    print_path(read, path->frame);
    return;
  }
  if (frame->name != 0)
    printf("\t%s:%s:%u", read_text(read, frame->name), frame->file != 0 ? read_text(read, frame->file) : "",
           frame->line);
  else
    printf("\t%s+%lx", frame->module != 0 ? read_text(read, frame->module) : "?", (unsigned long)frame->address);
}

static void print_sample(const struct session_read *read, const struct read_record *sample)
{
  const char *kinds[] = {"?", "cpu", "sleep", "lock", "io", "child"};
  const struct record *record = &sample->record;
  printf("sample\t%u\t%u\t%s\t%lu\t%u", read->process[sample->process % 64].pid, sample->tid,
         kinds[record->kind_clock <= SAMPLE_CHILD ? record->kind_clock : 0], (unsigned long)record->duration,
         record->id);
  print_path(read, record->site);
  printf("\n");
}

int main(int count, char **arguments)
{
  struct session_read read;
  if (count != 2 || !session_read(arguments[1], &read))
    return 1;
  for (size_t i = 0; i < read.count; i++)
    if (read.records[i].record.type == RECORD_SPAN)
      print_span(&read, &read.records[i]);
    else if (read.records[i].record.type == RECORD_SAMPLE)
      print_sample(&read, &read.records[i]);
  for (uint32_t i = 0; i < 64; i++)
    for (char *rest = read.process[i].message, *line; (line = strsep(&rest, "\n")) != NULL;)
      if (*line != '\0')
        printf("message %s\n", line);
  printf("count processes %u\ncount rings %u\n", read.processes, read.rings);
  printf("count dropped %lu\ncount lost %lu\ncount misused %lu\n", (unsigned long)read.dropped,
         (unsigned long)read.lost, (unsigned long)read.misused);
  session_read_done(&read);
  return 0;
}
