// SPDX-License-Identifier: Apache-2.0
// The binary interface of ITT's static part, as this tracer needs it: what a module that was built with ITT hands to a
// collector and what it expects back. Our own description; tests/tracers/long_itt_vendor.py compares it with the vendor's header.
//
// Structures marked "shared" are made by either side: by the static part before a collector is loaded, by us afterwards.
// Their extra2 is the collector's; zero until we use it.
#ifndef XSP_TRACERS_ITT_ABI_H
#define XSP_TRACERS_ITT_ABI_H

#include <pthread.h>
#include <stddef.h>
#include <stdint.h>

typedef unsigned long long itt_stamp;

struct itt_id { // three zeros: none
  unsigned long long d1, d2, d3;
};

struct itt_domain {   // shared
  volatile int flags; // 0: the module's calls in it are skipped
  const char *name;
  void *wide_name; // of other systems
  int extra1;
  void *extra2;
  struct itt_domain *next;
};

struct itt_string { // shared
  const char *text;
  void *wide_text;
  int extra1;
  void *extra2;
  struct itt_string *next;
};

struct itt_counter { // shared
  const char *name;
  void *wide_name;
  const char *domain;
  void *wide_domain;
  int type; // enum itt_type
  long index;
  int extra1;
  void *extra2;
  struct itt_counter *next;
};

struct itt_clock_info {
  unsigned long long frequency; // ticks a second
  unsigned long long base;      // the clock's reading now
};
typedef void (*itt_clock_reader)(struct itt_clock_info *info, void *data);
struct itt_clock_domain { // made by us
  struct itt_clock_info info;
  itt_clock_reader read;
  void *data;
  int extra1;
  void *extra2;
  struct itt_clock_domain *next;
};

enum itt_type {
  ITT_TYPE_UNKNOWN = 0,
  ITT_TYPE_U64,
  ITT_TYPE_S64,
  ITT_TYPE_U32,
  ITT_TYPE_S32,
  ITT_TYPE_U16,
  ITT_TYPE_S16,
  ITT_TYPE_FLOAT,
  ITT_TYPE_DOUBLE,
};

enum itt_scope {
  ITT_SCOPE_UNKNOWN = 0,
  ITT_SCOPE_GLOBAL,
  ITT_SCOPE_TRACK_GROUP, // the process
  ITT_SCOPE_TRACK,       // the thread
  ITT_SCOPE_TASK,
  ITT_SCOPE_MARKER,
};

enum itt_relation {
  ITT_RELATION_PARENT_OF = 3, // head is parent of tail
  ITT_RELATION_CHILD_OF = 5,
};

#define ITT_STAMP_NOW (~(itt_stamp)0) // a frame that ends when it is submitted

struct itt_slot {   // one function of the API in one module
  const char *name; // "__itt_task_begin"; NULL ends the list
  void **function;  // what the module calls
  void *initial;    // its value before a collector was looked for
  void *absent;     // its value without a collector; NULL: the call is skipped
  int group;
};

#define ITT_MAGIC "\xED\xAB\xAB\xEC\x0D\xEE\xDA\x30"
#define ITT_BUILD_OLDEST 20110111u // slots of older builds have no `absent`

// One per module. The static part holds its mutex, which is recursive, while it calls us. What follows `slots` (lists of
// threads, domains, strings) is the module's; we read and write nothing of it.
struct itt_global {
  unsigned char magic[8];
  unsigned long major, minor, build;
  volatile long is_initialized, has_mutex, atomic_counter;
  pthread_mutex_t mutex;
  void *library, *error_handler;
  const char **library_path;
  struct itt_slot *slots;
};

#endif
