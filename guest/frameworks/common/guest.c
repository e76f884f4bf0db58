// SPDX-License-Identifier: Apache-2.0
// See guest.h. Called by tracer.c of each framework.
#include "frameworks/common/guest.h"

#include <stdio.h>
#include <stdlib.h>

static const struct xsp_host *the_host;

static int start(const struct xsp_host *host)
{
  the_host = host;
  return 0;
}

void guest_report(const char *message)
{
  if (the_host != NULL)
    the_host->say(the_host, message);
}

const char *guest_option(const char *name)
{
  return the_host != NULL ? the_host->option(the_host, name) : NULL;
}

// Which library would a program started from here find? In a traced process the program's own counts.
static int probe(const struct xsp_host *host, char *why, size_t why_size)
{
  if (host == NULL || host->size < offsetof(struct xsp_host, advise) + sizeof host->advise ||
      secure_getenv("XSP_SESSION") != NULL)
    return 0;
  const struct guest_library *library = &guest_library;
  if (library->variable != NULL)
    setenv(library->variable, library->value, 0); // this process was made to look, and ends
  const char *version = NULL, *advice = library->names.advice;
  struct library found;
  struct error err = {0};
  if (library_open(&library->names, NULL, &found, &err) != STATUS_OK) {
    snprintf(why, why_size, "%s: %s", err.what, err.why);
    host->advise(host, err.advice[0] != 0 ? err.advice : advice);
    return -1;
  }
  bool is_usable = library->examine(found.handle, &version, &advice, why, why_size);
  host->found(host, found.path, version);
  if (is_usable)
    return 0;
  host->advise(host, advice);
  return -1;
}

const struct xsp_tracer *guest_tracer(void)
{
  static struct xsp_tracer tracer = {
      .size = sizeof tracer,
      .level_mask = XSP_LEVEL_MASK(XSP_LEVEL_MODEL) | XSP_LEVEL_MASK(XSP_LEVEL_LAYER),
      .probe = probe,
      .start = start,
  };
  tracer.name = guest_library.names.name;
  tracer.summary = guest_library.summary;
  tracer.options = guest_library.options;
  tracer.stop = guest_library.stop;
  if (guest_library.level_mask != 0)
    tracer.level_mask = guest_library.level_mask;
  return &tracer;
}
