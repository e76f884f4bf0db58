// SPDX-License-Identifier: Apache-2.0
// `xsp check X.yml`: a manifest, its model, its checksum and its framework, without measuring.
#ifndef XSP_PROGRAMS_CHECK_MANIFEST_H
#define XSP_PROGRAMS_CHECK_MANIFEST_H

#include "programs/xsp/verb.h"
#include "report/report.h"

// Of all arguments, which are manifests. One that is wrong does not keep the others from being checked; the status is that of
// the first.
enum status check_manifests(const struct invocation *invocation, enum report_format format,
                            struct error *err) MUST_CHECK;

#endif
