// SPDX-License-Identifier: Apache-2.0
// What a function owns ends on each of its ways out, in the reverse order of declaration:
//
//   struct arena arena SCOPED(arena_done) = {0};
//
// `done` gets a pointer to the variable. Never for what is handed on.
#ifndef XSP_BASE_SCOPED_H
#define XSP_BASE_SCOPED_H

#define SCOPED(done) __attribute__((cleanup(done)))

#endif
