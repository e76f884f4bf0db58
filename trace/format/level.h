// SPDX-License-Identifier: Apache-2.0
// Levels, kinds, bases, kinds of samples and of frames, and level sets as text, in the contract's words. Pure.
#ifndef XSP_FORMAT_LEVEL_H
#define XSP_FORMAT_LEVEL_H

#include <xsp/span.h>

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum basis { // why a span has the parent it has
  BASIS_NONE = 0,
  BASIS_EXPLICIT,
  BASIS_CORRELATION,
  BASIS_CONTAINMENT,
  BASIS_AMBIGUOUS,
};
#define BASIS_COUNT 5

// What a sample's thread did. On a CPU: the sample stands for the CPU time since the one before. Else for one wait of the
// thread, which ended at the sample's time.
enum sample_kind {
  SAMPLE_CPU = 1, // on a CPU
  SAMPLE_SLEEP,   // waited for time to pass
  SAMPLE_LOCK,    // for another thread: locks, conditions, semaphores, joins
  SAMPLE_IO,      // for a file, socket, pipe, or an event of one
  SAMPLE_CHILD,   // for a process
};

const char *level_name(unsigned level); // "application" … "kernel"; NULL out of range
bool level_from_name(const char *text, size_t length, unsigned *ret_level);
const char *kind_name(unsigned kind); // "sync", "launch", "execution"; NULL out of range
bool kind_from_name(const char *text, size_t length, unsigned *ret_kind);
const char *basis_name(unsigned basis); // "none", "explicit", …; NULL out of range
bool basis_from_name(const char *text, size_t length, unsigned *ret_basis);
const char *sample_kind_name(unsigned kind); // "cpu", "sleep", "lock", "io", "child"; NULL out of range
bool sample_kind_from_name(const char *text, size_t length, unsigned *ret_kind);
const char *frame_kind_name(unsigned kind); // "python", "framework", "native", "device"; NULL out of range
bool frame_kind_from_name(const char *text, size_t length, unsigned *ret_kind);

// A level set: bits XSP_LEVEL_MASK, whether hardware metrics are collected, and whether launches were made one after the
// other.
struct level_set {
  uint32_t mask;
  bool metrics;
  bool serial;
};
#define LEVEL_SET_TEXT_SIZE 32
// "A", "M", "L", "Lib", "K" joined by '/', in this order, any subset, then "@serial", then "+metrics". Instead of levels also
// MLModelScope's names: model, framework, library, hardware (M to M/L/Lib/K), full (A, too). False: not such a text.
bool level_set_parse(const char *text, size_t length, struct level_set *ret_set);
void level_set_format(struct level_set set, char text[LEVEL_SET_TEXT_SIZE]);
// The levels alone, or "none".
bool level_mask_parse(const char *text, size_t length, uint32_t *ret_mask);
void level_mask_format(uint32_t mask, char text[LEVEL_SET_TEXT_SIZE]);
bool level_set_equal(struct level_set a, struct level_set b);
bool level_set_contains(struct level_set outer, struct level_set inner); // inner is a subset of outer
unsigned level_set_deepest(struct level_set set);                        // of a non-empty set
bool level_set_is_twin(struct level_set set);                            // serialised, or with metrics: no latencies
// Appends the serialised twin of the set with the deepest level, of equals of the one with most levels, unless it is there.
// Returns the new count: the same where no set has layers or what is below them, or where there is no room.
size_t level_sets_add_serial(struct level_set *sets, size_t count, size_t most);
// The same with metrics, where a set has kernels.
size_t level_sets_add_metrics(struct level_set *sets, size_t count, size_t most);
unsigned level_set_count(struct level_set set); // number of levels alone

#endif
