// SPDX-License-Identifier: Apache-2.0
// Who is whose parent (contract: "Who is whose parent"), which observation a span belongs to, self times.
// Front door of correlate; includes the store's, because what it hands on is what the store holds plus the tree.
#ifndef XSP_CORRELATE_CORRELATE_H
#define XSP_CORRELATE_CORRELATE_H

#include "correlate/account.h"
#include "correlate/answer.h"
#include "correlate/contexts.h"
#include "correlate/facts.h"
#include "correlate/fold.h"
#include "correlate/resolve.h"
#include "store/store.h"

#endif
