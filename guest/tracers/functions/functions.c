// SPDX-License-Identifier: Apache-2.0
// functions.so: the half that is in the program. Finds the audit module's table, sends the stubs to the trampoline, makes
// sites at first calls, ends spans that an exception leaves, and reports the functions found.
#include "tracers/frames/find_object.h"
#include "tracers/functions/frame.h"
#include "tracers/functions/keep.h"
#include "tracers/functions/symbols.h"

#include <errno.h>
#include <gnu/libc-version.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>
#include <unwind.h>
#include <xsp/tracer.h>

#define TRACER "functions"

// Written by the audit module before this library is bound; see table.h.
__attribute__((visibility("default"))) struct functions_table *volatile xsp_functions_door = NULL;

static const struct xsp_host *host;
static struct functions_table *table; // NULL: not started

// ---- spans
static const volatile uint32_t off;
static struct xsp_site never = {sizeof never, 0, &off, 0, XSP_LEVEL_LIBRARY, "", NULL, TRACER};

const struct function_rule *functions_rule(const struct functions_entry *entry)
{
  return &table->rules[entry->rule];
}

static struct xsp_site *make_site(const struct functions_entry *entry)
{
  const struct function_rule *rule = functions_rule(entry);
  // A kernel that runs where it is called is a kernel; at other levels the level says enough.
  const char *category = rule->level == XSP_LEVEL_KERNEL ? "kernel" : "function";
  uint32_t variant = 0; // functions of one name in different libraries carry different tags
  for (const char *at = entry->library; *at != '\0'; at++)
    variant = (variant ^ (unsigned char)*at) * 16777619u;
  struct xsp_site *site = xsp_site_create_variant(TRACER, (enum xsp_level)rule->level,
                                                  rule->as != NULL ? rule->as : entry->symbol, category, variant);
  if (site == NULL)
    return &never;
  xsp_site_tag_string(site, "library", entry->library);
  if (rule->as != NULL)
    xsp_site_tag_string(site, "function", entry->symbol);
  return site;
}

struct xsp_span functions_first_call(const void *which, uint64_t unused)
{
  struct functions_entry *entry = &table->entries[(const struct functions_entry *)which - table->entries];
  __atomic_store_n(&entry->site, make_site(entry), __ATOMIC_RELEASE); // the same from every thread
  return (struct xsp_span){0, 0, 0};
}

struct xsp_span functions_start_slow(const void *site, uint64_t unused)
{
  return xsp_span_start_slow_v1((struct xsp_site *)(uintptr_t)site);
}

struct xsp_span functions_finish_slow(const void *span, uint64_t now)
{
  xsp_span_finish_slow_v1(*(const struct xsp_span *)span, now);
  return (struct xsp_span){0, 0, 0};
}

// ---- exceptions, cancellation, exit of a thread: what unwinds the stack passes the trampoline's frames here
#if defined(__x86_64__)
#define FRAME_POINTER 6 // DWARF's number of rbp
#else
#define FRAME_POINTER 29
#endif
typedef _Unwind_Word (*get_register_fn)(struct _Unwind_Context *, int);
typedef _Unwind_Ptr (*get_address_fn)(struct _Unwind_Context *);

// A process may have several unwinders, each with a context of its own form: the functions that read it are those of the
// library that called. One that does not export them leaves the span open.
static void *symbol_of_caller(void *caller, const char *name)
{
  struct link_map *map = find_object_map(caller); // lock-free, unlike dlsym
  struct symbols symbols;
  if (map == NULL || !functions_symbols_open(map, &symbols))
    return NULL;
  uint32_t i = functions_symbols_next(&symbols, name, 0);
  return i == 0 ? NULL : (void *)(symbols.base + symbols.table[i].st_value);
}

__attribute__((visibility("hidden"))) _Unwind_Reason_Code functions_personality(int version, _Unwind_Action actions,
                                                                                _Unwind_Exception_Class class,
                                                                                struct _Unwind_Exception *exception,
                                                                                struct _Unwind_Context *context)
{
  if ((actions & _UA_CLEANUP_PHASE) == 0)
    return _URC_CONTINUE_UNWIND;
  void *caller = __builtin_return_address(0);
  void *symbol = symbol_of_caller(caller, "_Unwind_GetIP");
  get_address_fn get_address;
  memcpy(&get_address, &symbol, sizeof get_address);
  symbol = symbol_of_caller(caller, "_Unwind_GetGR");
  get_register_fn get_register;
  memcpy(&get_register, &symbol, sizeof get_register);
  // Anywhere else in the trampoline (a thread cancelled between two instructions) the frame may not be complete.
  if (get_address != NULL && get_register != NULL && get_address(context) == (_Unwind_Ptr)functions_after_call) {
    struct xsp_span *span = (struct xsp_span *)(get_register(context, FRAME_POINTER) - FUNCTIONS_FRAME_SPAN);
    xsp_span_finish(span);
    span->start = 0;
  }
  return _URC_CONTINUE_UNWIND;
}

// ---- what the host calls
static int probe(const struct xsp_host *asked_by, char *why, size_t why_size)
{
#ifndef FUNCTIONS_HAVE_STUBS
  snprintf(why, why_size, "functions are traced on x86-64 and aarch64 only");
  return -1;
#endif
  if (asked_by->size <= offsetof(struct xsp_host, advise)) // to be started: start() reports more
    return 0;
  asked_by->found(asked_by, "glibc's loader (LD_AUDIT)", gnu_get_libc_version());
  asked_by->advise(asked_by, "xsp run --functions FILE -- PROGRAM; see docs/functions.md");
  char path[4096];
  Dl_info self;
  int length = dladdr((const void *)functions_trampoline, &self) == 0 || self.dli_fname == NULL
                   ? 0
                   : snprintf(path, sizeof path, "%.*s_audit.so", (int)strlen(self.dli_fname) - 3, self.dli_fname);
  if (length > 0 && access(path, R_OK) == 0)
    return 0;
  snprintf(why, why_size, "functions_audit.so is not beside functions.so");
  return -1;
}

static int start(const struct xsp_host *started_by)
{
  host = started_by;
  struct functions_table *door = xsp_functions_door;
  if (door == NULL) {
    host->say(host, "no function is traced: the loader did not load functions_audit.so (LD_AUDIT, XSP_FUNCTIONS)");
    return -ENOENT;
  }
  if (door->magic != FUNCTIONS_MAGIC || door->size < sizeof *door) {
    host->say(host, "no function is traced: functions.so and functions_audit.so are of different versions");
    return -EPROTO;
  }
  if (door->problem != NULL) {
    char line[512];
    if (door->fault.what != NULL)
      snprintf(line, sizeof line, "no function is traced: %s:%u: %s %s", door->list_path, door->fault.line,
               door->fault.word, door->fault.what);
    else
      snprintf(line, sizeof line, "no function is traced: %s: %s", door->list_path, door->problem);
    host->say(host, line);
    return -EINVAL;
  }
  functions_keep_prepare();
  find_object_setup();
  table = door;
  pthread_atfork(functions_pause, functions_resume, functions_resume); // after libxsp's: ours is the inner in the child
  // Partner: send() in audit.c, which has an entry complete before it looks for the trampoline.
  __atomic_store_n(&table->trampoline, (void *)functions_trampoline, __ATOMIC_SEQ_CST);
  uint32_t count = __atomic_load_n(&table->entry_count, __ATOMIC_SEQ_CST);
  for (uint32_t i = 0; i < count; i++)
    if (__atomic_load_n(&table->entries[i].real, __ATOMIC_SEQ_CST) != NULL) // else resolved at its first call
      __atomic_store_n(&table->entries[i].go, (void *)functions_trampoline, __ATOMIC_SEQ_CST);
  return 0;
}

// ---- what was found
struct report { // one line of at most what a process can say
  char text[640];
  size_t length, listed;
};

static void report_rule(struct report *report, const char *before, const struct function_rule *rule)
{
  const char *library = rule->library != NULL ? rule->library : "", *colon = rule->library != NULL ? ":" : "";
  size_t need = strlen(before) + strlen(library) + strlen(rule->name) + 4;
  if (report->length + need + 16 > sizeof report->text) {
    if (report->listed != SIZE_MAX)
      report->length += (size_t)snprintf(report->text + report->length, 8, ", …");
    report->listed = SIZE_MAX;
    return;
  }
  if (report->listed == SIZE_MAX)
    return;
  report->length += (size_t)snprintf(report->text + report->length, sizeof report->text - report->length, "%s%s%s%s",
                                     report->listed++ == 0 ? before : ", ", library, colon, rule->name);
}

static bool is_noted(uint32_t rule)
{
  uint32_t notes = __atomic_load_n(&table->note_count, __ATOMIC_ACQUIRE);
  for (uint32_t i = 0; i < notes; i++)
    if (table->notes[i].rule == rule)
      return true;
  return false;
}

static void stop(void)
{
  if (table == NULL)
    return;
  uint32_t entries = __atomic_load_n(&table->entry_count, __ATOMIC_ACQUIRE), called = 0, lines = 0;
  for (uint32_t i = 0; i < entries; i++)
    called += __atomic_load_n(&table->entries[i].site, __ATOMIC_RELAXED) != NULL;
  for (uint32_t i = 0; i < table->rule_count; i++)
    lines += table->rules[i].found != 0;
  struct report report = {.length = 0};
  report.length = (size_t)snprintf(report.text, sizeof report.text, "found %u of %u, %u functions, called %u", lines,
                                   table->rule_count, entries, called);
  for (uint32_t i = 0; i < table->rule_count; i++)
    if (table->rules[i].found == 0 && !is_noted(i))
      report_rule(&report, "; not found: ", &table->rules[i]);
  host->say(host, report.text);
  uint32_t notes = __atomic_load_n(&table->note_count, __ATOMIC_ACQUIRE);
  for (uint32_t i = 0; i < notes && i < 8; i++) {
    snprintf(report.text, sizeof report.text, "%s of %s is not traced: %s", table->notes[i].symbol,
             table->notes[i].library, table->notes[i].why);
    host->say(host, report.text);
  }
  if (table->beyond != 0) {
    snprintf(report.text, sizeof report.text, "%u functions beyond the first %u are not traced", table->beyond,
             FUNCTIONS_MOST);
    host->say(host, report.text);
  }
}

static const struct xsp_tracer functions = {
    .size = sizeof functions,
    .level_mask = XSP_LEVEL_MASK_ALL,
    .name = TRACER,
    .summary = "functions of any library, named in a list",
    .probe = probe,
    .start = start,
    .stop = stop,
};

const struct xsp_tracer *xsp_tracer_entry(const struct xsp_host *loaded_by)
{
  return &functions;
}
