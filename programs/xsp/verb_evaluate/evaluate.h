// SPDX-License-Identifier: Apache-2.0
// What `xsp evaluate` prints. Called by verb_evaluate.c.
#ifndef XSP_PROGRAMS_XSP_EVALUATE_H
#define XSP_PROGRAMS_XSP_EVALUATE_H

#include "experiment/experiment.h"
#include "manifests/manifests.h"
#include "report/report.h"

// Tables with what a model made of each input, and with each class where there is such a one: 1 or 2, in `arena`.
size_t evaluate_items(const struct evaluation_options *options, const struct evaluation *evaluation, size_t number,
                      struct arena *arena, struct table *ret_tables);
// The tables to stdout in `format`: accuracy and times of each model; with_items: what each made of each picture.
enum status evaluate_print(const struct evaluation_options *options, const struct evaluation *evaluation,
                           bool with_items, enum report_format format, struct error *err) MUST_CHECK;

// How far each further model's outputs are from the first's.
void evaluate_divergence(const struct evaluation_options *options, const struct evaluation *evaluation,
                         struct arena *arena, struct table *ret_table);

// Finds where the two models of `options` part on the first batch of the data, and prints it; `with_items`: all layers.
enum status evaluate_difference(const struct evaluation_options *options, const struct manifest *const *manifests,
                                double tolerance, bool with_items, enum report_format format,
                                struct error *err) MUST_CHECK;

#endif
