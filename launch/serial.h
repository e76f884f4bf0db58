// SPDX-License-Identifier: Apache-2.0
// The environment in which launches are made one after the other: of level sets `…@serial` and of `xsp run --resolve`.
#ifndef XSP_LAUNCH_SERIAL_H
#define XSP_LAUNCH_SERIAL_H

struct serial_variable {
  const char *name, *value;
};
extern const struct serial_variable serial_variables[]; // ends with a NULL name; the first is xsp's own

#endif
