// SPDX-License-Identifier: Apache-2.0
// Samples of the instruction that a wave is at: taken by the GPU, with the reason why nothing was issued (stochastic), or by the
// host's interrupts (host). They come through the buffer of records.
#ifndef XSP_TRACERS_ROCM_SAMPLES_H
#define XSP_TRACERS_ROCM_SAMPLES_H

#include "tracers/rocm/abi.h"

#define ROCM_SAMPLE_KIND 63u // beyond rocprofiler-sdk's kinds
struct rocm_sample {         // what is kept of a sample, in place of its record
  struct rocm_record head;
  uint32_t is_issued, reason; // by host: neither, ROCM_SAMPLE_REASONS
  struct rocm_sampled_place place;
};

// While rocprofiler-sdk is being configured. `method`: "host", "stochastic" or "any", the second where the GPU has it; `interval`:
// 0 or of the unit of the method. What cannot be sampled is said.
void rocm_samples_start(const struct rocm *rocm, struct rocm_id context, struct rocm_id buffer, const char *method,
                        uint64_t interval, void (*say)(const char *line));
bool rocm_samples_are_on(void);
// Of CODE_OBJECT's events, on the program's threads: where code is. May wait for the tracer's thread.
void rocm_samples_note_code(uint32_t operation, const void *payload);
// Any thread. False: of no use.
bool rocm_samples_read(const struct rocm_header *header, struct rocm_sample *ret_sample);
// The tracer's thread: counts it; publishes what was counted, as one span for an instruction.
void rocm_samples_add(const struct rocm_sample *sample);
void rocm_samples_publish(void);
// Whether to publish: every few seconds, once after rocm_samples_ask (any thread), at the end. To be called before records are read,
// so that all of a thread that asks are among them.
bool rocm_samples_are_due(bool is_ending);
void rocm_samples_ask(void);

extern uint64_t rocm_samples_lost; // atomic: without room, or of no code that is known

#endif
