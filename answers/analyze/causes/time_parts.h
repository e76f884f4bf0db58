// SPDX-License-Identifier: Apache-2.0
// What the time of the observations goes to: kernels, copies, and while no device works, what the host does.
#ifndef XSP_ANALYZE_CAUSES_TIME_PARTS_H
#define XSP_ANALYZE_CAUSES_TIME_PARTS_H

#include "analyze/causes/loaders.h"
#include "analyze/view.h"

struct time_parts {              // values: one per observation of the set, in ms
  double *parts[TIME_PARTS];     // each without those before it
  double *loader;                // in a data loader, whether or not a device works
  double *work;                  // of devices for the observation, also after its end
  double *host;                  // in `host_name`, while no device works
  double *kernels, *kernel_sums; // how many kernels were executed; their durations added up
  double launch_ms;              // of `launch`
  const char *launch; // one call that is more than half of the launches and layers of all observations; NULL: none is
  bool has_device;    // something was executed
  bool has_devices;   // several of them
  struct loaders_found loaders;
  bool has_layers;  // in observations, on any thread
  bool has_program; // there is the span of a program, of `xsp run`
  const char
      *host_name; // without layers: the host's span with most time while no device works, by name; NULL: there is none
  const char
      *call; // the call with most of TIME_CALLS, of all observations; NULL: none has most. Lives as the store does
};

// Loads the set's runs one by one, once for a question.
enum status time_parts_load(struct question *question, const struct view_set *set, struct time_parts *ret,
                            struct error *err) MUST_CHECK;

#endif
