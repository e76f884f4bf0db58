// SPDX-License-Identifier: Apache-2.0
// Agents, as the verbs `agent`, `evaluate` and `profile` print and use them.
#ifndef XSP_PROGRAMS_XSP_AGENTS_H
#define XSP_PROGRAMS_XSP_AGENTS_H

#include "programs/xsp/verb.h"
#include "report/report.h"

// `xsp agent --list`: the agents and the models of --registry, as two tables.
enum status agents_print(const struct invocation *invocation, enum report_format format, struct error *err) MUST_CHECK;
// `xsp evaluate MODEL… --registry URL` and `xsp profile MODEL --registry URL`: measures on agents and prints a row for each.
#define OPTIONS_ON_AGENTS(doing, names)                                                                                \
  {"registry",                                                                                                         \
   0,                                                                                                                  \
   "URL",                                                                                                              \
   NULL,                                                                                                               \
   0,                                                                                                                  \
   doing " on agents (xsp agent) that are registered with this etcd. " names " The etcd's user is in ETCDCTL_USER."},  \
      {"on",                                                                                                           \
       0,                                                                                                              \
       "CONSTRAINTS",                                                                                                  \
       NULL,                                                                                                           \
       0,                                                                                                              \
       "With --registry: only agents that satisfy them, such as "                                                      \
       "framework=onnxruntime>=1.20,arch=x86_64,memory>=8GiB. "                                                        \
       "Keys: framework, name, arch, cpu, gpu, interconnect, cpus, gpus, memory, gpu_memory."},                        \
      {"any",                                                                                                          \
       0,                                                                                                              \
       NULL,                                                                                                           \
       NULL,                                                                                                           \
       0,                                                                                                              \
       "With --registry: on the least busy of them, and on another one where that is lost, full or does not permit "   \
       "it. The default."},                                                                                            \
      {"all", 0, NULL, NULL, 0, "With --registry: on all of them at the same time. The files are OUT-AGENT.xsp."},     \
  {                                                                                                                    \
    "token-file", 0, "FILE", NULL, 0, "With --registry: send agents the token in FILE."                                \
  }
// With --registry on agents, else `here`; then none of these options is allowed.
enum status agents_measure_or(const struct invocation *invocation,
                              enum status (*here)(const struct invocation *invocation, enum report_format format,
                                                  struct error *err),
                              struct error *err) MUST_CHECK;

#endif
