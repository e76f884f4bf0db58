// SPDX-License-Identifier: Apache-2.0
// Finds profiles in a session's folder and adds their spans to the run. Called by execute.c when the program has ended.
#include "launch/profiles.h"

#include "base/input_file.h"
#include "base/scoped.h"
#include "base/slice.h"
#include "importers/import.h"

#include <dirent.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define PROFILES_MOST 512u
// Of spans: behind the numbers of rings (trace/collect/ring_decode.c), below what a double holds. Of tracks: behind those of
// any session, as many apart as a file may have.
#define FIRST_RING (INT64_C(1) << 20)
#define RING_BITS 32
#define TRACKS_APART (INT64_C(1) << 22)

static int is_profile(const struct dirent *entry)
{
  return text_begins_with(entry->d_name, "tracer-") && text_ends_with(entry->d_name, ".xplane.pb");
}

// Any program of the caller may have put it there: no link is followed, and nothing but a regular file is waited for.
static enum status add(const char *path, unsigned number, struct store *store, const struct store_run *run,
                       struct arena *arena, struct error *err)
{
  char opened[32];
  struct stat facts;
  int handle SCOPED(scoped_close) = regular_file_open(AT_FDCWD, path, O_RDONLY | O_NOFOLLOW, &facts);
  if (handle < 0)
    return error_set_errno(err, STATUS_INPUT, "cannot import", path, NULL);
  snprintf(opened, sizeof opened, "/proc/self/fd/%d", handle);
  const struct import_options options = {.format = "xplane", .threads = 1, .limit_bytes = INT64_MAX};
  const struct import_place place = {.run_id = run->run_id,
                                     .span_base = (FIRST_RING + number) << RING_BITS,
                                     .track_base = TRACKS_APART * (number + 1),
                                     .level_mask = run->levels.mask,
                                     .tracer = "jax"};
  struct import_file file;
  return import_into(opened, &options, store, &place, arena, &file, err);
}

enum status launch_profiles_add(const char *folder, struct store *store, const struct store_run *run,
                                struct arena *arena, const char **ret_why, struct error *err)
{
  struct dirent **entries SCOPED(scoped_free) = NULL;
  int count = scandir(folder, &entries, is_profile, versionsort);
  enum status status = STATUS_OK;
  *ret_why = count > (int)PROFILES_MOST ? "there are too many profiles" : NULL;
  for (int i = 0; i < count; i++) {
    char path[PATH_MAX];
    struct error own = {0};
    bool fits = snprintf(path, sizeof path, "%s/%s", folder, entries[i]->d_name) < (int)sizeof path;
    if (fits && status == STATUS_OK && i < (int)PROFILES_MOST)
      status = add(path, (unsigned)i, store, run, arena, &own);
    if (status == STATUS_INPUT) { // found before its first span is stored
      *ret_why = arena_format(arena, "a profile is left out: %s", own.why);
      status = STATUS_OK;
    } else if (status != STATUS_OK && err != NULL && own.what[0] != '\0') {
      *err = own;
    }
    free(entries[i]);
  }
  return status;
}
