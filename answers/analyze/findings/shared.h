// SPDX-License-Identifier: Apache-2.0
// What several rules need: time at many places that is one finding, layers, and when devices had nothing to do.
#ifndef XSP_ANALYZE_FINDINGS_SHARED_H
#define XSP_ANALYZE_FINDINGS_SHARED_H

#include "analyze/findings/findings.h"
#include "analyze/layers/layers.h"
#include "analyze/run_columns.h"

// ---- time at several places that is one finding, at the place with most -----------------------------------------------
struct tally {
  double *ns;      // by place; NULL: nothing was added
  double total_ns; // also of what is at no place
};
void tally_add(struct findings *findings, struct tally *tally, uint32_t place, double ns); // PLACE_NONE: no place
// Fills the place, the spans, the time, the share of the observation's latency, and the number `places`.
void tally_fill(struct findings *findings, const struct tally *tally, struct finding *finding);
// A number of the system that the experiment ran on: "cpus_allowed". NaN: unknown.
enum status findings_system(struct findings *findings, const char *key, double *ret_number,
                            struct error *err) MUST_CHECK;
// Whether a place on the host is an operator that computes, or is in one: arithmetic, or an operator of PyTorch that is not known
// to move data. F11 compares such with what the machine can do. False where devices do the work.
bool findings_computes(const struct findings *findings, uint32_t place);
// What a library does for operators on threads of its own, where no operator is around: oneDNN's "convolution" and "reorder".
bool findings_is_of_pool(const struct places *places, uint32_t place);
// Of PyTorch's autograd, such as "AddmmBackward0"; with its engine's step.
bool findings_is_backward(const char *operator_name);
bool findings_is_product(const char *operator_name);  // of matrices, or its backward pass
bool findings_is_compiled(const struct place *place); // a region of torch.compile, or the look-up of one
// Whether XLA ran the operators. It has several pools, each of as many threads as there are processors, which compute in turn: a
// module's operations wait for each other.
bool findings_is_xlas(const struct findings *findings);
bool findings_runs_graphs(const struct findings *findings); // of a framework other than PyTorch: it chose the operators
bool findings_matches(const char *name, const char *pattern, bool in_any_case);          // * alone stands for others
bool findings_name_matches(const char *name, const char *const *patterns, size_t count); // in any case; * alone

const char *findings_base_name(const char *file);               // "train.py"; NULL of NULL
bool findings_has_single_rows(const struct findings *findings); // a hundred observations and more, of one row each
// As loop_ms, with the observations that the statistic leaves out: they may be those that a rule is about.
double findings_mean_loop_ms(const struct findings *findings);
// What most of the time of compilations in the loop goes to, but for the first of each function (F25): "f, shapes differ: …". NULL:
// nothing, or it has no reason.
enum status findings_compiled_again(struct findings *findings, const char **ret_text, struct error *err) MUST_CHECK;

// The line of the program's own code with most of the observations' time on the host, with what it calls; PLACE_NONE: there is none.
uint32_t findings_busiest_place(struct findings *findings);
// Of lines that call models: what the outermost module of PyTorch runs counts at its caller.
uint32_t findings_busiest_call(struct findings *findings);
// From the first observation to the last: what the program does before and after is in no loop. A program that is one observation has
// all of it.
bool findings_is_in_loop(const struct view_run *run, int64_t time_ns);
// Times of the set's observations that are no warm-up, of their signatures; run by run, in order of start.
struct observed_text {
  double ms;
  const char *text; // NULL: it has none
  int64_t run_id, span_id;
};
enum status findings_signatures(struct findings *findings, struct observed_text **ret_texts, size_t *ret_count,
                                struct error *err) MUST_CHECK;

// The layers whose latencies the level rule gives. STATUS_NO: there are none.
enum status findings_layers(struct findings *findings, struct layers *ret_layers, struct error *err) MUST_CHECK;
// Rising latencies of a layer in the kept observations that have it; returns how many. `room`: one per observation.
size_t findings_layer_values(const struct layers *layers, const struct layer *layer, double *room);
void findings_sort(double *values, size_t count);                          // rising
double findings_quantile(const double *rising, size_t count, double part); // linear between ranks; NaN without any
// Context of a finding about a layer: "layer4.0.conv1 (aten::conv2d)".
const char *findings_layer_name(struct findings *findings, const struct layer *layer);

// ---- devices (devices.c) ---------------------------------------------------------------------------------------------
// Numbers the devices of a run's tracks, those of each process by themselves, and adds each track's number to `device_of`, which
// the caller frees (map_done). Tracks of a foreign clock have none: their times do not compare with the host's.
enum status run_devices_load(struct store *store, int64_t run_id, struct arena *arena, struct map *device_of,
                             size_t *ret_count, struct error *err) MUST_CHECK;
#define NO_TIMES_OF_DEVICES "no execution on a device has times that compare with the host's"
struct devices_idle {
  // Of an observation, by the question's statistic: the time in which the device does not work that works longest. However early
  // work comes, and however much of several devices' work then overlaps, the observation lasts as long as that device works.
  double idle_ms;
  size_t device_count; // that work; of the run with most
};
// STATUS_NO: nothing was executed on a device whose clock compares with the host's.
enum status devices_idle_load(struct findings *findings, struct devices_idle *ret_idle, struct error *err) MUST_CHECK;
// Of an observation, likewise: the time in which XLA executes no module, on a device or the host. 0: none was executed.
enum status findings_modules_idle(struct findings *findings, double *ret_idle_ms, struct error *err) MUST_CHECK;

// ---- devices without work, in the kept observations (gaps.c) ----------------------------------------------------------
struct device_gaps {
  // Until work that was launched after the devices had run out of it: after a call of the host that waited for them, by that
  // call; else by the launch.
  struct tally waited, late;
  double waiting_ns;  // in these calls
  double executed_ns; // while any device worked
};
// Spans of foreign clocks do not count. STATUS_NO: no execution has another one.
enum status device_gaps_load(struct findings *findings, struct device_gaps *ret_gaps, struct error *err) MUST_CHECK;

#endif
