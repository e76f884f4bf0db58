// SPDX-License-Identifier: Apache-2.0
// Messages for the user, from code that must not print itself.
#ifndef XSP_BASE_MESSAGE_H
#define XSP_BASE_MESSAGE_H

// Takes one line, without its newline. Callers of a NULL message_fn stay silent.
typedef void (*message_fn)(const char *format, ...) __attribute__((format(printf, 1, 2)));

#endif
