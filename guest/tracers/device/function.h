// SPDX-License-Identifier: Apache-2.0
// Functions of a vendor's library by name: tracers link none, since the program brings its own version.
#ifndef XSP_TRACERS_DEVICE_FUNCTION_H
#define XSP_TRACERS_DEVICE_FUNCTION_H

#include <stdbool.h>
#include <stddef.h>

// `library` is dlopen's. `ret_function` points to a function pointer of any type; NULL there where this returns false.
bool device_function(void *library, const char *name, void *ret_function);
// The same, and where it returns false `why` is "OWNER has no function NAME".
bool device_function_needed(void *library, const char *owner, const char *name, void *ret_function, char *why,
                            size_t why_size);

#endif
