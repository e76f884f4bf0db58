// SPDX-License-Identifier: Apache-2.0
// The front door of tracers/. Tracers are loaded at run time; xsp itself shares only the parser of a list of functions.
#ifndef XSP_TRACERS_TRACERS_H
#define XSP_TRACERS_TRACERS_H

#include "tracers/functions/list.h" // the list of --functions

#endif
