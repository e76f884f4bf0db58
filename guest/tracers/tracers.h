// SPDX-License-Identifier: Apache-2.0
// The front door of tracers/. Tracers are loaded at run time; xsp itself shares only parsers of what users choose.
#ifndef XSP_TRACERS_TRACERS_H
#define XSP_TRACERS_TRACERS_H

#include "tracers/cuda/choice.h"    // what --cuda takes
#include "tracers/functions/list.h" // the list of --functions

#endif
