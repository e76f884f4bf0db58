// SPDX-License-Identifier: Apache-2.0
// The tracer's descriptor, and the spans of calls: a collective, send or receive that blocks is a span on its thread, of category
// "collective"; others end with the wait for them (tracer_requests.c). Called by frameworks.so.
#include "frameworks/mpi/tracer.h"

#include "frameworks/common/guest.h"
#include "frameworks/common/sites.h"
#include "tracers/frames/find_object.h"
#include "tracers/frames/frames.h"

#include <dlfcn.h>
#include <stdio.h>
#include <string.h>
#include <xsp/call_path.h>

#define SLOTS 2048u

const struct mpi_functions *mpi;
static enum call_paths_mode paths_mode;
static struct site_slot slots[SLOTS];
static struct site_table sites = {.slots = slots, .slot_count = SLOTS};

static struct xsp_site *site_of(const struct mpi_call *call, const struct mpi_group *group)
{
  _Static_assert(MPI_GROUPS < 256, "numbers of eight bits");
  uint64_t key = (uint64_t)(uintptr_t)call << 9 | group->number << 1 | 1;
  struct xsp_site *site = framework_sites_find(&sites, key);
  if (site == NULL && framework_sites_have_room(&sites) &&
      (site = xsp_site_create_variant(TRACER, XSP_LEVEL_LIBRARY, call->small != NULL ? call->small : call->name,
                                      "collective", group->number)) != NULL) {
    xsp_site_tag_string(site, "collective", call->kind);
    xsp_site_tag_string(site, "group", group->name);
    site = framework_sites_add(&sites, key, site);
  }
  return site;
}

struct xsp_site *mpi_wait_site(const struct mpi_call *call)
{
  uint64_t key = (uint64_t)(uintptr_t)call << 9 | 1;
  struct xsp_site *site = framework_sites_find(&sites, key);
  if (site == NULL && framework_sites_have_room(&sites) &&
      (site = xsp_site_create(TRACER, XSP_LEVEL_LIBRARY, call->name, NULL)) != NULL)
    site = framework_sites_add(&sites, key, site);
  return site;
}

static uint32_t path_of(const struct mpi_call *call, const void *inner)
{
  if (paths_mode == CALL_PATHS_NONE)
    return 0;
  const struct xsp_frame frame = {.size = sizeof frame, .kind = XSP_FRAME_FRAMEWORK, .name = call->name};
  uint32_t caller = paths_mode == CALL_PATHS_FULL ? frames_path(CALL_PATHS_FULL, NULL, inner) : python_frames_path();
  return caller != 0 ? xsp_call_path(caller, &frame) : 0;
}

void mpi_tag(const struct xsp_span *span, int64_t sequence, int64_t bytes)
{
  if (sequence >= 0)
    xsp_span_tag_int(span, "sequence", sequence);
  if (bytes >= 0)
    xsp_span_tag_int(span, "bytes", bytes);
}

static void communication_begins(struct mpi_open *open, const void *inner)
{
  const struct mpi_call *call = open->call;
  struct mpi_group *group = mpi_group_of(open->arguments[call->communicator - 1], call->is_between_two);
  if (group == NULL || group->size < 2)
    return;
  open->site = site_of(call, group);
  open->sequence = call->is_between_two ? -1 : __atomic_add_fetch(&group->sequence, 1, __ATOMIC_RELAXED);
  if (call->request != 0)
    open->start = xsp_clock_ticks();
  else
    open->span = xsp_span_start(open->site);
  if (open->span.start == 0 && call->request == 0) // the level is off
    return;
  open->bytes = mpi_bytes(call, open->arguments, group);
  open->path = path_of(call, inner);
  if (call->request != 0)
    return;
  mpi_tag(&open->span, open->sequence, open->bytes);
  if (open->path != 0)
    xsp_span_call_path(&open->span, open->path);
}

static void hook_begins(const struct mpi_call *call, const mpi_word *arguments, const void *inner,
                        struct mpi_open *ret_open)
{
  ret_open->call = call;
  ret_open->arguments = arguments;
  ret_open->span = (struct xsp_span){0};
  ret_open->site = NULL;
  ret_open->waited_count = 0;
  if (call->kind != NULL)
    communication_begins(ret_open, inner);
  else if (call->requests != 0)
    mpi_requests_wait(ret_open);
  else if (call->freed_request != 0)
    mpi_requests_freed((const void *)arguments[call->freed_request - 1]);
  else
    mpi_group_freed((const void *)arguments[call->freed - 1]);
}

static void hook_ended(struct mpi_open *open, bool has_succeeded)
{
  xsp_span_finish(&open->span);
  if (open->call->requests != 0)
    mpi_requests_waited(open);
  else if (open->call->request != 0 && has_succeeded)
    mpi_requests_add(open);
}

// ---- start -----------------------------------------------------------------------------------------------------------
// The library of MPI 5's standard interface (libmpi_abi.so) has MPICH's version, but handles of its own kind.
static bool is_of_standard_interface(const struct mpi_functions *functions)
{
  Dl_info info;
  void *function;
  memcpy(&function, &functions->Get_library_version, sizeof function);
  if (dladdr(function, &info) == 0 || info.dli_fname == NULL)
    return false;
  const char *slash = strrchr(info.dli_fname, '/'), *name = slash != NULL ? slash + 1 : info.dli_fname;
  return strncmp(name, "libmpi_abi", strlen("libmpi_abi")) == 0;
}

static bool is_known(const struct mpi_functions *functions)
{
  static const char *const known[] = {"MPICH", "Intel(R) MPI", "MVAPICH"}; // handles of MPICH's
  static char text[8192];                                                  // the longest that one of these gives
  int length = 0;
  if (functions->open_mpi_world != NULL)
    return true;
  if (is_of_standard_interface(functions) || functions->Get_library_version(text, &length) != 0)
    return false;
  for (size_t i = 0; i < sizeof known / sizeof known[0]; i++)
    if (strstr(text, known[i]) != NULL)
      return true;
  return false;
}

static bool hook_start(const struct mpi_functions *functions)
{
  if (!is_known(functions)) {
    guest_report("this MPI is neither MPICH, or one with its interface, nor Open MPI: it is not traced");
    return false;
  }
  paths_mode = call_paths_mode();
  find_object_setup();
  if (paths_mode == CALL_PATHS_FULL)
    (void)frames_native_setup(NULL);
  mpi = functions;
  return true;
}

static void hook_python(const void *address_in_interpreter)
{
  char why[160], note[224];
  find_object_setup();
  if (call_paths_mode() == CALL_PATHS_NONE || python_frames_setup(address_in_interpreter, why, sizeof why))
    return;
  snprintf(note, sizeof note, "call paths have no Python functions: %s", why);
  guest_report(note);
}

const struct mpi_hooks *xsp_mpi(void)
{
  static const struct mpi_hooks hooks = {
      .size = sizeof hooks, .start = hook_start, .python = hook_python, .begins = hook_begins, .ended = hook_ended};
  (void)xsp_tracer_join(guest_tracer()); // else nothing that it reports is shown
  return &hooks;
}

static bool examine(void *handle, const char **ret_version, const char **ret_advice, char *why, size_t why_size)
{
  return true;
}

const struct guest_library guest_library = {
    .names = {.name = TRACER,
              .sonames = (const char *const[]){"libmpich.so.12", "libmpi.so.12", "libmpi.so.40", "libmpi.so", NULL},
              .advice = "apt-get install mpich, or openmpi-bin"},
    .summary = "collectives, sends and receives of MPICH, Open MPI and Intel MPI",
    .level_mask = XSP_LEVEL_MASK(XSP_LEVEL_LIBRARY),
    .examine = examine,
};

const struct xsp_tracer *xsp_tracer_entry(const struct xsp_host *host)
{
  return guest_tracer();
}
