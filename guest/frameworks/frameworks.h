// SPDX-License-Identifier: Apache-2.0
// The front door of frameworks/: its predictors, what their models are made of, and which folders have tracers.
#ifndef XSP_FRAMEWORKS_FRAMEWORKS_H
#define XSP_FRAMEWORKS_FRAMEWORKS_H

#include "frameworks/common/predictor.h" // the table of predictors, and a predictor's functions
#include "frameworks/common/table.h"     // the folders, for lab/launch/tracer_table.c

#endif
