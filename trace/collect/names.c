// SPDX-License-Identifier: Apache-2.0
// The cache between a session's catalog and a store's strings. Called by drain.c for every span. The catalog is written
// by other processes: what it refers to in circles or beyond limits is cut off.
#include "collect/names.h"

#include "base/memory.h"
#include "symbols/symbols.h"

#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <xsp/call_path.h>

void names_done(struct names *names)
{
  for (size_t i = 0; i < names->sites.count; i++)
    free(names->sites.items[i].tags);
  vector_done(&names->sites);
  map_done(&names->strings);
  map_done(&names->contexts);
  map_done(&names->site_index);
}

bool names_refresh(struct names *names)
{
  struct stat status;
  if (fstat(names->catalog_file, &status) != 0 || status.st_size <= 0)
    return false;
  uint64_t size = (uint64_t)status.st_size, before = names->catalog.size;
  names->catalog.size = size < names->catalog_window ? size : names->catalog_window;
  return names->catalog.size > before;
}

// What a record names may be newer than the drain's first look at the catalog.
bool names_track(struct names *names, uint32_t catalog_id, struct catalog_track *ret_track)
{
  return catalog_read_track(&names->catalog, catalog_id, ret_track) ||
         (names_refresh(names) && catalog_read_track(&names->catalog, catalog_id, ret_track));
}

static bool read_string(struct names *names, uint32_t id, const char **ret_text, uint32_t *ret_length)
{
  return catalog_read_string(&names->catalog, id, ret_text, ret_length) ||
         (names_refresh(names) && catalog_read_string(&names->catalog, id, ret_text, ret_length));
}

void names_use(struct names *names, struct store *store)
{
  if (names->store == store)
    return;
  names_done(names);
  names->store = store;
}

// The store's id of a catalog string; 0: none, broken, or empty.
static uint32_t names_string(struct names *names, uint32_t catalog_id)
{
  uint32_t length;
  const char *text;
  const uint64_t *known = map_find(&names->strings, map_number(catalog_id));
  if (catalog_id == 0 || known != NULL)
    return known != NULL ? (uint32_t)*known : 0;
  if (!read_string(names, catalog_id, &text, &length) || length == 0)
    return 0;
  // A copy: the bytes lie in memory that others may write while the store hashes and compares them.
  char *copy = memory_text_of(text, length);
  uint32_t id = store_string(names->store, copy, length);
  free(copy);
  if (id)
    *map_at(&names->strings, map_number(catalog_id), NULL) = id;
  return id;
}

bool names_text(struct names *names, uint32_t catalog_id, char *text, size_t size)
{
  const char *from;
  uint32_t length;
  if (catalog_id == 0 || !read_string(names, catalog_id, &from, &length) || length == 0)
    return false;
  size_t kept = length < size ? length : size - 1;
  memcpy(text, from, kept);
  text[kept] = '\0';
  return true;
}

static char *copy_text(struct names *names, uint32_t id) // NULL: none; freed by the caller
{
  const char *text;
  uint32_t length;
  return id != 0 && read_string(names, id, &text, &length) ? memory_text_of(text, length) : NULL;
}

// Drivers name kernels as linkers do.
static char *copy_kernel_name(struct names *names, uint32_t id) // as copy_text
{
  char *name = copy_text(names, id);
  char *plain = name != NULL && strncmp(name, "_Z", 2) == 0 ? symbols_plain_name(name) : NULL;
  if (plain == NULL)
    return name;
  free(name);
  return plain;
}

static uint32_t add_frame(struct names *names, uint32_t id)
{
  struct catalog_frame from;
  if (!catalog_read_frame(&names->catalog, id, &from))
    return 0;
  char *name SCOPED(scoped_free) =
      from.kind == XSP_FRAME_DEVICE ? copy_kernel_name(names, from.name) : copy_text(names, from.name);
  char *file SCOPED(scoped_free) = copy_text(names, from.file);
  char *module SCOPED(scoped_free) = copy_text(names, from.module);
  const struct store_frame frame = {.kind = from.kind,
                                    .name = name,
                                    .file = file,
                                    .line = from.line,
                                    .module = module,
                                    .address = (int64_t)from.address};
  uint32_t added = store_frame_id(names->store, &frame);
  return added;
}

static bool read_path(struct names *names, uint32_t id, struct catalog_path *ret_path)
{
  return catalog_read_path(&names->catalog, id, ret_path) ||
         (names_refresh(names) && catalog_read_path(&names->catalog, id, ret_path));
}

// In place of a frame: those of a path, which has a frame in each place. 0: none, or not sound.
static uint32_t add_inner(struct names *names, uint32_t context_id, uint32_t catalog_id)
{
  uint32_t frames[CATALOG_JOINED_FRAMES_MOST], count = 0; // innermost first
  struct catalog_path path = {.caller = catalog_id};
  do {
    if (count == CATALOG_JOINED_FRAMES_MOST || !read_path(names, path.caller, &path))
      return 0;
    frames[count++] = path.frame;
  } while (path.caller != 0);
  while (count > 0) {
    const uint32_t frame = add_frame(names, frames[--count]);
    context_id = frame != 0 ? store_context_id(names->store, context_id, frame) : 0;
    if (context_id == 0)
      return 0;
  }
  return context_id;
}

// The context of a path's frame, or of those in place of it.
static uint32_t add_context(struct names *names, uint32_t context_id, uint32_t catalog_id)
{
  const uint32_t frame = add_frame(names, catalog_id);
  return frame != 0 ? store_context_id(names->store, context_id, frame) : add_inner(names, context_id, catalog_id);
}

// Up to a caller that is known, then down again. Without one of its frames a path would be another one: then it is none.
uint32_t names_context(struct names *names, uint32_t catalog_id)
{
  struct step {
    uint32_t id, frame;
  };
  VECTOR(struct step) steps SCOPED(vector_end) = {0}; // innermost first
  uint32_t context_id = 0;
  bool is_sound = true;
  for (uint32_t id = catalog_id; id != 0 && is_sound;) {
    struct catalog_path path = {0};
    const uint64_t *known = map_find(&names->contexts, map_number(id));
    if (known != NULL) {
      context_id = (uint32_t)*known;
      is_sound = context_id != 0;
      break;
    }
    is_sound = steps.count < XSP_CALL_PATH_FRAMES && read_path(names, id, &path);
    *vector_add(&steps) = (struct step){id, path.frame};
    id = path.caller;
  }
  for (size_t i = steps.count; i-- > 0;) {
    context_id = is_sound ? add_context(names, context_id, steps.items[i].frame) : 0;
    is_sound = context_id != 0;
    *map_at(&names->contexts, map_number(steps.items[i].id), NULL) = context_id;
  }
  return context_id;
}

static uint32_t tracer_name(struct names *names, uint32_t slot)
{
  if (slot >= SESSION_TRACERS)
    return 0;
  const struct session_tracer *tracer = &names->control->tracer[slot];
  if (__atomic_load_n(&tracer->claimed, __ATOMIC_ACQUIRE) != 2)
    return 0;
  char name[sizeof tracer->name];
  memcpy(name, tracer->name, sizeof name);
  return store_string(names->store, name, strnlen(name, sizeof name));
}

bool names_tag(struct names *names, uint32_t key, uint32_t type, uint64_t value, struct store_tag *ret_tag)
{
  *ret_tag = (struct store_tag){.key = names_string(names, key), .type = STORE_INT, .value.integer = (int64_t)value};
  if (type == VALUE_DOUBLE) {
    ret_tag->type = STORE_DOUBLE;
    memcpy(&ret_tag->value.real, &value, sizeof value);
  } else if (type == VALUE_STRING) {
    ret_tag->type = STORE_TEXT;
    ret_tag->value.string = value > UINT32_MAX ? 0 : names_string(names, (uint32_t)value);
  } else if (type != VALUE_INT) {
    return false;
  }
  return ret_tag->key != 0;
}

static bool is_step_mark(struct names *names, const struct catalog_site_tag *tag)
{
  char key[sizeof "step" + 1];
  return tag->value_type == VALUE_INT && tag->value == 1 && names_text(names, tag->key, key, sizeof key) &&
         strcmp(key, "step") == 0;
}

// Reads the list of a site's tags; the list is built by prepending, so it is reversed.
static void load_tags(struct names *names, struct names_site *site, uint32_t first)
{
  struct store_tag tags[CATALOG_SITE_TAGS_MAXIMUM];
  uint32_t count = 0;
  bool is_step = false;
  struct catalog_site_tag tag;
  for (uint32_t id = first, steps = 0; steps < CATALOG_SITE_TAGS_MAXIMUM; steps++, id = tag.next) {
    if (id == 0 || !(catalog_read_site_tag(&names->catalog, id, &tag) ||
                     (names_refresh(names) && catalog_read_site_tag(&names->catalog, id, &tag))))
      break;
    if (is_step_mark(names, &tag))
      is_step = true;
    else
      count += names_tag(names, tag.key, tag.value_type, tag.value, &tags[count]);
  }
  struct store_tag *kept = memory_new(count, sizeof *kept);
  for (uint32_t i = 0; i < count; i++)
    kept[i] = tags[count - 1 - i];
  free(site->tags);
  site->tags = kept;
  site->tag_count = count;
  site->is_step = is_step;
  site->first_tag = first;
}

static uint32_t kernel_name(struct names *names, uint32_t catalog_id)
{
  char *name SCOPED(scoped_free) = copy_kernel_name(names, catalog_id);
  uint32_t id = name != NULL && *name != '\0' ? store_string(names->store, name, strlen(name)) : 0;
  return id;
}

static struct names_site *add_site(struct names *names, uint32_t catalog_id)
{
  struct catalog_site from;
  if (!catalog_read_site(&names->catalog, catalog_id, &from) &&
      !(names_refresh(names) && catalog_read_site(&names->catalog, catalog_id, &from)))
    return NULL;
  *map_at(&names->site_index, map_number(catalog_id), NULL) = names->sites.count;
  struct names_site *site = vector_add(&names->sites);
  *site = (struct names_site){.name = from.level == XSP_LEVEL_KERNEL ? kernel_name(names, from.name)
                                                                     : names_string(names, from.name),
                              .category = names_string(names, from.category),
                              .tracer = tracer_name(names, from.tracer),
                              .catalog_id = catalog_id,
                              .level = (uint8_t)from.level};
  return site;
}

const struct names_site *names_site(struct names *names, uint32_t catalog_id)
{
  const uint64_t *place = map_find(&names->site_index, map_number(catalog_id));
  struct names_site *site = place != NULL ? &names->sites.items[*place] : add_site(names, catalog_id);
  if (!site)
    return NULL;
  // Partner: capture's release store when it puts a tag at the list's head.
  const struct catalog_site *bytes = (const void *)(names->catalog.bytes + (uint64_t)catalog_id * 8);
  uint32_t first = __atomic_load_n(&bytes->first_tag, __ATOMIC_ACQUIRE);
  if (first != site->first_tag)
    load_tags(names, site, first);
  uint32_t path = __atomic_load_n(&bytes->path, __ATOMIC_ACQUIRE); // partner: xsp_site_call_path
  if (path != site->path) {
    site->path = path;
    site->context_id = names_context(names, path);
  }
  return site;
}
