// SPDX-License-Identifier: Apache-2.0
// The front door of launch/: processes that xsp starts to be measured or asked, and where its own parts are.
#ifndef XSP_LAUNCH_LAUNCH_H
#define XSP_LAUNCH_LAUNCH_H

#include "launch/attach.h"       // a process that runs already joins a session
#include "launch/counters.h"     // what a program uses over time
#include "launch/environment.h"  // which tracers a program gets, and its environment
#include "launch/execution.h"    // one execution of any program, drained into one run
#include "launch/file_name.h"    // what an output and a program are called
#include "launch/functions.h"    // the list of --functions
#include "launch/install.h"      // where xsp's own parts are
#include "launch/libraries.h"    // which frameworks a program has loaded
#include "launch/probe.h"        // whether a framework's library or a tracer can be used here
#include "launch/process.h"      // a program with its own signals, limits and group
#include "launch/runner.h"       // xsp-runner, which opens a model in its framework
#include "launch/streams.h"      // stdin, stdout and stderr of repeated programs
#include "launch/tracer_table.h" // what xsp knows about its tracers
#include "launch/variables.h"    // variables of frameworks and drivers, by option

#endif
