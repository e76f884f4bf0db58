// SPDX-License-Identifier: Apache-2.0
// The machines of a survey's experiments: which are the same, what they are called, and what differs between them.
//
#ifndef XSP_ANALYZE_MODELS_SURVEY_SYSTEMS_H
#define XSP_ANALYZE_MODELS_SURVEY_SYSTEMS_H

#include "analyze/models/survey.h"

// Fills system_name and system_number of all items.
void survey_systems_name(struct survey *survey);
// Notes the keys in which the systems of two items differ; nothing where they are the same.
void survey_systems_note(struct survey *survey, const struct survey_item *a, const struct survey_item *b);

// NULL: not recorded; equals only NULL.
bool survey_system_values_are_equal(const struct store_system_value *a, const struct store_system_value *b);

#endif
