// SPDX-License-Identifier: Apache-2.0
// The front door of frameworks/: its predictors, and what their models are made of.
#ifndef XSP_FRAMEWORKS_FRAMEWORKS_H
#define XSP_FRAMEWORKS_FRAMEWORKS_H

#include "frameworks/common/predictor.h" // the table of predictors, and a predictor's functions

#endif
