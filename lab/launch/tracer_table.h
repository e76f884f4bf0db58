// SPDX-License-Identifier: Apache-2.0
// All that xsp knows about its own tracers, in one table: a new tracer is a row.
#ifndef XSP_LAUNCH_TRACER_TABLE_H
#define XSP_LAUNCH_TRACER_TABLE_H

#include <stdbool.h>
#include <stdint.h>

// How a tracer comes into an unmodified program.
enum tracer_door {
  DOOR_START,     // libxsp.so loads it when the process starts
  DOOR_VENDOR,    // a library of its vendor's loads it where it is used, by a variable of the environment
  DOOR_FRAMEWORK, // tracers/frameworks.so, preloaded, loads it where its framework is used
  DOOR_PRELOAD,   // preloaded itself
  DOOR_PART,      // no tracer: a file that another one needs
};
// OWN: removed where it has no value. PREPEND: with ':'. PREPEND_ENDED: with ':' after the last one, too: its reader wants it.
enum variable_how { OWN, SET, PREPEND, PREPEND_ENDED, IF_ABSENT };
enum tracer_value {
  VALUE_TRACER,    // path of the tracer's file
  VALUE_PART,      // path of a part of xsp: `text`
  VALUE_FUNCTIONS, // path of the list of functions
  VALUE_RATE,      // samples a second
  VALUE_MODE,      // "cpu", or "real": waits, too
  VALUE_TEXT,      // `text`
};
struct tracer_variable {
  const char *name; // NULL: ends the list
  enum variable_how how;
  enum tracer_value value;
  uint32_t level_mask; // only where one of these levels is on; 0: always
  const char *text;
};
#define TRACER_VARIABLES_MAXIMUM 4
struct known_tracer {
  const char *name; // of tracers/NAME.so
  enum tracer_door door;
  uint32_t level_mask;   // levels at which it publishes without a --model-range; 0: its list of functions decides
  bool is_annotations;   // with --model-range also models; only these take a --capture-range
  bool is_not_automatic; // not part of -t auto
  bool serializes;       // needed at every serialised level set
  bool has_metrics;      // collects hardware metrics of kernels
  const char *library;   // that XSP_LIBRARY_NAME may give, and no predictor has that name; NULL: none
  struct tracer_variable variables[TRACER_VARIABLES_MAXIMUM + 1];
};

extern const struct known_tracer launch_known_tracers[]; // ends with a NULL name
const struct known_tracer *launch_known_tracer(const char *name);
bool launch_tracer_has_metrics(const char *text); // NAME or PATH, with options or without; `auto` has
bool launch_tracer_is_part(const char *name);     // a file in the folder of tracers that is not a tracer

#endif
