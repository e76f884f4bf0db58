// SPDX-License-Identifier: Apache-2.0
// Measures what this machine's CPUs can do at best, for rooflines: single-precision arithmetic and memory bandwidth.
// Uses all CPUs of this process for about a quarter of a second; never call it during a measurement.
#ifndef XSP_EXPERIMENT_PEAKS_H
#define XSP_EXPERIMENT_PEAKS_H

#include "store/store.h"

#include <stdbool.h>
#include <stddef.h>

struct peaks_options {
  double window_s;     // of one reading; the best of a few counts
  size_t buffer_bytes; // of all arrays together; 0: four times the last-level cache, as far as memory allows
};
extern const struct peaks_options peaks_usual, peaks_quick; // quick: for tests of what surrounds it, not for figures
struct peaks {
  double flops_per_s, bandwidth_bytes_per_s; // NaN: could not be measured
  unsigned threads;
  const char *instructions; // "AVX-512"
  size_t buffer_bytes;
  bool is_beyond_cache; // the arrays are larger than the last-level cache
  double seconds;       // that it took
};

void peaks_measure(const struct peaks_options *options, struct peaks *ret_peaks);
// By the environment: XSP_PEAKS is "skip", "quick" or absent. False: not to be measured.
bool peaks_wanted(struct peaks_options *ret_options);
// As system values of a file: peak_flops_per_s, memory_bandwidth_bytes_per_s, peak_source, peak_threads,
// peak_instructions. Returns how many (at most PEAKS_VALUES); none where nothing was measured.
#define PEAKS_VALUES 5
size_t peaks_describe(const struct peaks *peaks, struct store_system_value values[PEAKS_VALUES]);

// ---- for peaks.c: loops in the widest instructions that the CPU has -------------------------------------------
struct peaks_code {
  const char *name;
  double flops_per_round;
  float (*arithmetic)(unsigned rounds, float seed); // returns something that depends on all of it
  void (*triad)(float *a, const float *b, const float *c, size_t count,
                float factor); // a = b + factor * c; count: of 64
};
const struct peaks_code *peaks_code(void);

#endif
