// SPDX-License-Identifier: Apache-2.0
// A minimal static part of ITT, as in modules that are built with ITT, made from our own description of the interface.
// Each file that includes it is a module of its own.
#ifndef XSP_TESTS_TRACERS_ITT_STATIC_H
#define XSP_TESTS_TRACERS_ITT_STATIC_H

#include "tracers/itt/abi.h"

#include <dlfcn.h>
#include <stdlib.h>
#include <string.h>

#define ITT_DOMAIN const struct itt_domain *
#define ITT_CLOCK struct itt_clock_domain *, itt_stamp
#define ITT_FUNCTIONS(F)                                                                                               \
  F(struct itt_domain *, domain_create, (const char *))                                                                \
  F(struct itt_string *, string_handle_create, (const char *))                                                         \
  F(void, task_begin, (ITT_DOMAIN, struct itt_id, struct itt_id, struct itt_string *))                                 \
  F(void, task_begin_fn, (ITT_DOMAIN, struct itt_id, struct itt_id, void *))                                           \
  F(void, task_end, (ITT_DOMAIN))                                                                                      \
  F(void, task_begin_ex, (ITT_DOMAIN, ITT_CLOCK, struct itt_id, struct itt_id, struct itt_string *))                   \
  F(void, task_end_ex, (ITT_DOMAIN, ITT_CLOCK))                                                                        \
  F(void, task_begin_overlapped, (ITT_DOMAIN, struct itt_id, struct itt_id, struct itt_string *))                      \
  F(void, task_end_overlapped, (ITT_DOMAIN, struct itt_id))                                                            \
  F(void, task_begin_overlapped_ex, (ITT_DOMAIN, ITT_CLOCK, struct itt_id, struct itt_id, struct itt_string *))        \
  F(void, task_end_overlapped_ex, (ITT_DOMAIN, ITT_CLOCK, struct itt_id))                                              \
  F(void, task_group, (ITT_DOMAIN, struct itt_id, struct itt_id, struct itt_string *))                                 \
  F(void, region_begin, (ITT_DOMAIN, struct itt_id, struct itt_id, struct itt_string *))                               \
  F(void, region_end, (ITT_DOMAIN, struct itt_id))                                                                     \
  F(void, frame_begin_v3, (ITT_DOMAIN, struct itt_id *))                                                               \
  F(void, frame_end_v3, (ITT_DOMAIN, struct itt_id *))                                                                 \
  F(void, frame_submit_v3, (ITT_DOMAIN, struct itt_id *, itt_stamp, itt_stamp))                                        \
  F(void, id_create, (ITT_DOMAIN, struct itt_id))                                                                      \
  F(void, id_destroy, (ITT_DOMAIN, struct itt_id))                                                                     \
  F(void, relation_add, (ITT_DOMAIN, struct itt_id, int, struct itt_id))                                               \
  F(void, metadata_add, (ITT_DOMAIN, struct itt_id, struct itt_string *, int, size_t, void *))                         \
  F(void, metadata_str_add, (ITT_DOMAIN, struct itt_id, struct itt_string *, const char *, size_t))                    \
  F(void, metadata_add_with_scope, (ITT_DOMAIN, int, struct itt_string *, int, size_t, void *))                        \
  F(void, metadata_str_add_with_scope, (ITT_DOMAIN, int, struct itt_string *, const char *, size_t))                   \
  F(struct itt_counter *, counter_create, (const char *, const char *))                                                \
  F(struct itt_counter *, counter_create_typed, (const char *, const char *, int))                                     \
  F(struct itt_counter *, counter_create_v3, (ITT_DOMAIN, const char *, int))                                          \
  F(void, counter_inc, (struct itt_counter *))                                                                         \
  F(void, counter_dec, (struct itt_counter *))                                                                         \
  F(void, counter_inc_delta, (struct itt_counter *, unsigned long long))                                               \
  F(void, counter_dec_delta, (struct itt_counter *, unsigned long long))                                               \
  F(void, counter_inc_v3, (ITT_DOMAIN, struct itt_string *))                                                           \
  F(void, counter_dec_v3, (ITT_DOMAIN, struct itt_string *))                                                           \
  F(void, counter_inc_delta_v3, (ITT_DOMAIN, struct itt_string *, unsigned long long))                                 \
  F(void, counter_dec_delta_v3, (ITT_DOMAIN, struct itt_string *, unsigned long long))                                 \
  F(void, counter_set_value, (struct itt_counter *, void *))                                                           \
  F(void, counter_set_value_v3, (struct itt_counter *, void *))                                                        \
  F(void, counter_set_value_ex, (struct itt_counter *, ITT_CLOCK, void *))                                             \
  F(void, marker, (ITT_DOMAIN, struct itt_id, struct itt_string *, int))                                               \
  F(void, marker_ex, (ITT_DOMAIN, ITT_CLOCK, struct itt_id, struct itt_string *, int))                                 \
  F(int, mark_create, (const char *))                                                                                  \
  F(int, mark, (int, const char *))                                                                                    \
  F(int, mark_off, (int))                                                                                              \
  F(int, event_create, (const char *, int))                                                                            \
  F(int, event_start, (int))                                                                                           \
  F(int, event_end, (int))                                                                                             \
  F(void, thread_set_name, (const char *))                                                                             \
  F(int, thr_name_set, (const char *, int))                                                                            \
  F(void, thread_ignore, (void))                                                                                       \
  F(void, pause, (void))                                                                                               \
  F(void, resume, (void))                                                                                              \
  F(void, detach, (void))                                                                                              \
  F(itt_stamp, get_timestamp, (void))                                                                                  \
  F(struct itt_clock_domain *, clock_domain_create, (itt_clock_reader, void *))                                        \
  F(void, clock_domain_reset, (void))                                                                                  \
  F(void, sync_create, (void *, const char *, const char *, int))                                                      \
  F(void, sync_prepare, (void *))                                                                                      \
  F(void *, heap_function_create, (const char *, const char *))                                                        \
  F(const char *, api_version, (void))                                                                                 \
  F(void, no_such_function_of_the_api, (void))

#define ITT_POINTER(type, name, arguments) type(*name) arguments;
static struct {
  ITT_FUNCTIONS(ITT_POINTER)
} itt;

#define ITT_ENTRY(type, name_, arguments) {"__itt_" #name_, (void **)(void *)&itt.name_, NULL, NULL, -1},
static struct itt_slot itt_slots[] = {ITT_FUNCTIONS(ITT_ENTRY){NULL, NULL, NULL, NULL, 0}};
static struct itt_global itt_module = {
    .magic = {0xED, 0xAB, 0xAB, 0xEC, 0x0D, 0xEE, 0xDA, 0x30},
    .major = 3,
    .build = 20230630,
    .mutex = PTHREAD_RECURSIVE_MUTEX_INITIALIZER_NP,
    .slots = itt_slots,
};

// As at a module's first call. Returns whether a collector was found.
__attribute__((unused)) static int itt_open(void)
{
  const char *path = getenv("INTEL_LIBITTNOTIFY64");
  void *library = path == NULL ? NULL : dlopen(path, RTLD_LAZY);
  void *symbol = library == NULL ? NULL : dlsym(library, "__itt_api_init");
  void (*initialize)(struct itt_global *, int);
  memcpy(&initialize, &symbol, sizeof initialize);
  if (symbol == NULL)
    return 0;
  pthread_mutex_lock(&itt_module.mutex);
  itt_module.library = library;
  initialize(&itt_module, -1);
  itt_module.is_initialized = 1;
  pthread_mutex_unlock(&itt_module.mutex);
  return 1;
}

__attribute__((unused)) static void itt_close(void)
{
  void *symbol = itt_module.library == NULL ? NULL : dlsym(itt_module.library, "__itt_api_fini");
  void (*finish)(struct itt_global *);
  memcpy(&finish, &symbol, sizeof finish);
  if (symbol != NULL)
    finish(&itt_module);
  for (struct itt_slot *slot = itt_slots; slot->name != NULL; slot++)
    *slot->function = slot->absent;
}

#endif
