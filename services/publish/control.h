// SPDX-License-Identifier: Apache-2.0
// Lets the user of an xsp serve switch the levels of a program that runs here. A thread of its own reports the job each second
// and takes the levels that are wanted from the reply. Nobody can switch what was not offered.
#ifndef XSP_PUBLISH_CONTROL_H
#define XSP_PUBLISH_CONTROL_H

#include "publish/publish.h"

struct control_options {
  const char *name;                   // of the job, for people
  uint32_t possible_mask, first_mask; // levels that may be switched on; those that are on at first
  void (*message)(const char *format, ...)
      __attribute__((format(printf, 1, 2))); // once the server does not answer, or refuses
};

struct control;
// Makes up the job's number without connecting. STATUS_USE: the publisher's address is not an xsp serve's. Both must outlive
// the control: texts of *options, and the publisher.
enum status publish_control_open(const struct publisher *publisher, const struct control_options *options,
                                 struct control **ret_control, struct error *err) MUST_CHECK;
const char *publish_control_job(const struct control *control); // its number: 32 hex digits
// What is wanted now, of `control`; one thread. The first call starts to report: a program that runs by then inherits nothing
// of the connection.
uint32_t publish_control_wanted(void *control);
void publish_control_close(
    struct control *control); // NULL: nothing. Waits for a request in progress, at most two seconds

#endif
