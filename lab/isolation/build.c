// SPDX-License-Identifier: Apache-2.0
// Has a Dockerfile built into the cache, once for each content. Its context is an empty folder: so the content is all that the image
// depends on, besides what the file itself fetches. The builder runs as its user would start it. Called by container.c.
#include "isolation/build.h"

#include "assets/checksum.h"
#include "base/child.h"
#include "isolation/image_cache.h"

#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define TAIL_BYTES 4096 // of the end of what a builder prints

static const char what[] = "cannot build the container";

struct building {
  const char *file, *hex; // the checksum of its content
  message_fn message;
};

static enum status run(const char *builder, const char *file, const char *part, struct arena *arena, struct error *err)
{
  const char *nothing = arena_format(arena, "%s.context", part);
  const char *const arguments[] = {
      builder, "build", "--file", file, "--output", arena_format(arena, "type=local,dest=%s", part), nothing, NULL};
  static const char *const variables[] = {"DOCKER_BUILDKIT=1", NULL}; // Docker's older way has no --output
  struct child_text text = {.most = TAIL_BYTES, .is_tail = true};
  struct child child;
  if (mkdir(nothing, 0700) != 0 && errno != EEXIST)
    return error_set_errno(err, STATUS_SYSTEM, what, nothing, NULL);
  const struct child_command command = {.arguments = arguments,
                                        .variables = variables,
                                        .input = CHILD_NULL,
                                        .output_text = &text,
                                        .errors_text = &text,
                                        .death_signal = SIGTERM};
  int failure = child_start(&command, &child), how = -1;
  if (failure == 0) {
    (void)child_wait(&child, -1, NULL);
    how = child_end(&child, 0);
  }
  (void)rmdir(nothing);
  struct slice line = child_last_line((struct slice){text.bytes, text.length});
  enum status status = STATUS_OK;
  if (failure != 0 || how != 0)
    status = error_set(err, STATUS_SYSTEM, what, file, "mend the file, or another builder in PATH; Docker needs buildx",
                       "%s failed: %.*s", builder, (int)line.length, line.data != NULL ? line.data : "");
  free(text.bytes);
  return status;
}

// What was built is kept under the checksum: it must be of the content that the builder read.
static enum status require_unchanged(const struct building *building, struct error *err)
{
  char hex[CHECKSUM_TEXT_SIZE];
  XSP_TRY(checksum_of_file(building->file, hex, err));
  return strcmp(hex, building->hex) == 0
             ? STATUS_OK
             : error_set(err, STATUS_INPUT, what, building->file, "run xsp again", "it changed while it was built");
}

// All of them have the same options for it.
static enum status build(const void *context, const char *root, const char *part, struct arena *arena,
                         struct error *err)
{
  static const char *const builders[] = {"buildah", "podman", "docker"};
  const struct building *building = context;
  char path[PATH_MAX];
  for (size_t i = 0; i < sizeof builders / sizeof builders[0]; i++)
    if (child_find(builders[i], path)) {
      if (building->message != NULL)
        building->message("xsp: building %s by %s into %s", building->file, builders[i], root);
      XSP_TRY(run(builders[i], building->file, part, arena, err));
      return require_unchanged(building, err);
    }
  return error_set(err, STATUS_SYSTEM, what, building->file,
                   "apt-get install buildah; or build it elsewhere, and --container FOLDER (docs/isolation.md)",
                   "there is no builder here: neither buildah, podman nor docker is in PATH");
}

enum status isolation_build(const char *file, message_fn message, struct arena *arena, struct isolation *isolation,
                            struct error *err)
{
  char hex[CHECKSUM_TEXT_SIZE];
  const struct building building = {file, hex, message};
  const struct image_maker maker = {build, &building};
  XSP_TRY(checksum_of_file(file, hex, err));
  isolation->digest = arena_format(arena, "sha256:%s", hex);
  return isolation_image_keep(hex, &maker, message, arena, &isolation->root, err);
}
