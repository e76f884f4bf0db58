// SPDX-License-Identifier: Apache-2.0
// The analyses that exist; analyses.c lists them in `analyses[]`.
#ifndef XSP_ANALYZE_A_LIST_H
#define XSP_ANALYZE_A_LIST_H

#include "analyze/analyze.h"

extern const struct analysis analysis_l0;  // l0_overhead.c
extern const struct analysis analysis_a1;  // a1_model.c
extern const struct analysis analysis_a2;  // a2_layers.c
extern const struct analysis analysis_a3;  // a3_layer_latency.c
extern const struct analysis analysis_a4;  // a4_layer_memory.c
extern const struct analysis analysis_a5;  // a5_type_count.c
extern const struct analysis analysis_a6;  // a6_type_latency.c
extern const struct analysis analysis_a7;  // a7_type_memory.c
extern const struct analysis analysis_a8;  // a8_kernels.c
extern const struct analysis analysis_a9;  // a8_kernels.c
extern const struct analysis analysis_a10; // a10_kernel_names.c
extern const struct analysis analysis_a11; // a11_kernel_layers.c
extern const struct analysis analysis_a12; // a12_layer_metrics.c
extern const struct analysis analysis_a13; // a13_layer_gpu.c
extern const struct analysis analysis_a14; // a14_layer_roofline.c
extern const struct analysis analysis_a15; // a15_kernel_models.c
extern const struct analysis analysis_a16; // a16_backward.c
extern const struct analysis analysis_a17; // a17_contexts.c
extern const struct analysis analysis_a18; // a18_samples.c
extern const struct analysis analysis_a19; // a19_input.c
extern const struct analysis analysis_a20; // a20_generations.c
extern const struct analysis analysis_a21; // ranks/a21_ranks.c
extern const struct analysis analysis_a22; // lines/a22_lines.c
extern const struct analysis analysis_a23; // kernels/a23_implementations.c
extern const struct analysis analysis_a24; // ranks/a24_collectives.c
extern const struct analysis analysis_a25; // runs/a25_compilation.c
extern const struct analysis analysis_a27; // ranks/a27_rank_steps.c
extern const struct analysis analysis_t8;  // t8_models.c
extern const struct analysis analysis_t9;  // t9_depth.c
extern const struct analysis analysis_t10; // t10_frameworks.c
extern const struct analysis analysis_t11; // t11_systems.c

extern const struct analysis analysis_ranges;   // runs/ranges.c
extern const struct analysis analysis_requests; // runs/requests.c

// findings/findings.c
extern const struct analysis analysis_findings;

#endif
