// SPDX-License-Identifier: Apache-2.0
// Opens the files of a call, and keeps what those say that describe others; see description.h. Called by import_files.c and by
// importers of formats that have descriptions.
#include "importers/description.h"

enum status import_open_input(const char *path, const struct import_options *options, struct input *ret_input,
                              struct error *err)
{
  uint64_t limit_bytes = options->limit_bytes == 0 ? IMPORT_LIMIT_DEFAULT : options->limit_bytes;
  XSP_TRY(input_open(path, limit_bytes, ret_input, err));
  ret_input->cancel = options->cancel;
  ret_input->progress = options->progress;
  ret_input->progress_context = options->progress_context;
  return STATUS_OK;
}

enum status import_description_open(const struct import *import, struct input *ret_input, struct import *ret_import,
                                    struct error *err)
{
  *ret_input = (struct input){0};
  *ret_import = *import;
  ret_import->input = ret_input;
  return import_open_input(import->description->path, import->options, ret_input, err);
}

void import_described_begin(struct import_described *described)
{
  *vector_add(&described->keys) = 0;
  *vector_add(&described->first_tags) = described->tags.count;
}

void import_described_tag(struct import_described *described, const struct store_tag *tag)
{
  *vector_add(&described->tags) = *tag;
}

void import_described_end(struct import_described *described, const struct import *import)
{
  *vector_add(&described->first_tags) = described->tags.count;
  import->description->events = described->keys.count;
  vector_reserve(&described->same, described->keys.count);
  described->same.count = described->keys.count;
  for (size_t i = described->keys.count; i > 0; i--) {
    uint64_t *next = map_at(&described->by_key, map_number(described->keys.items[i - 1]), NULL);
    described->same.items[i - 1] = (size_t)*next;
    *next = i;
  }
}

bool import_described_give(struct import_described *described, struct import *import, uint64_t key, int64_t span_id)
{
  uint64_t *next = map_find(&described->by_key, map_number(key));
  if (key == 0 || next == NULL || *next == 0)
    return false;
  size_t item = (size_t)*next - 1;
  *next = described->same.items[item];
  for (size_t i = described->first_tags.items[item]; i < described->first_tags.items[item + 1]; i++) {
    struct store_tag tag = described->tags.items[i];
    tag.span_id = span_id;
    import_tag(import, &tag);
  }
  import->description->kept++;
  return true;
}

void import_described_done(struct import_described *described)
{
  map_done(&described->by_key);
  vector_done(&described->keys);
  vector_done(&described->first_tags);
  vector_done(&described->same);
  vector_done(&described->tags);
}
