// SPDX-License-Identifier: Apache-2.0
// The rules that exist; rules.c lists them in `finding_rules[]`.
#ifndef XSP_ANALYZE_FINDINGS_RULES_H
#define XSP_ANALYZE_FINDINGS_RULES_H

#include "analyze/findings/findings.h"

extern const struct finding_rule finding_f1; // f1_hotspot.c
extern const struct finding_rule finding_f2; // f2_small_kernels.c
extern const struct finding_rule finding_f3; // f3_backward.c
extern const struct finding_rule finding_f4; // f4_stalls.c
extern const struct finding_rule finding_f5; // f5_host_bound.c
extern const struct finding_rule finding_f6; // f6_input_pipeline.c
extern const struct finding_rule finding_f7; // f7_pageable_copies.c
extern const struct finding_rule finding_f8; // f8_waits.c
extern const struct finding_rule finding_f9; // f9_layout.c

extern const struct finding_rule finding_f10; // f10_batch_size.c
extern const struct finding_rule finding_f11; // f11_below_roof.c
extern const struct finding_rule finding_f12; // f12_odd_layer.c
extern const struct finding_rule finding_f13; // f13_memory_growth.c
extern const struct finding_rule finding_f14; // f14_overhead.c
extern const struct finding_rule finding_f15; // f15_idle_gaps.c
extern const struct finding_rule finding_f16; // f16_varying_layer.c
extern const struct finding_rule finding_f17; // f17_kernels_change.c

extern const struct finding_rule finding_f18; // f18_element_reads.c
extern const struct finding_rule finding_f19; // f19_optimizer.c
extern const struct finding_rule finding_f20; // f20_growing_graph.c
extern const struct finding_rule finding_f21; // f21_no_cache.c
extern const struct finding_rule finding_f22; // f22_float64.c
extern const struct finding_rule finding_f23; // f23_inference_gradients.c
extern const struct finding_rule finding_f24; // f24_graph_breaks.c
extern const struct finding_rule finding_f25; // f25_recompilation.c
extern const struct finding_rule finding_f26; // f26_dense_gradient.c
extern const struct finding_rule finding_f27; // f27_elementwise.c
extern const struct finding_rule finding_f28; // f28_index_gradient.c
extern const struct finding_rule finding_f29; // f29_work_in_loop.c
extern const struct finding_rule finding_f30; // f30_threads.c
extern const struct finding_rule finding_f31; // f31_straggler.c
extern const struct finding_rule finding_f32; // f32_idle_processors.c
extern const struct finding_rule finding_f33; // f33_thread_waits.c
extern const struct finding_rule finding_f34; // f34_padding.c
extern const struct finding_rule finding_f35; // f35_each_micro_batch.c
extern const struct finding_rule finding_f36; // f36_small_collectives.c
extern const struct finding_rule finding_f37; // f37_late_reduction.c
extern const struct finding_rule finding_f38; // f38_unused_parameters.c
extern const struct finding_rule finding_f39; // f39_throttled.c

extern const struct finding_rule finding_f40; // f40_servers.c
extern const struct finding_rule finding_f41; // f40_servers.c
extern const struct finding_rule finding_f42; // f40_servers.c
extern const struct finding_rule finding_f55; // f55_slow_link.c
extern const struct finding_rule finding_f56; // f56_unequal_batches.c

#endif
