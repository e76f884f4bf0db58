// SPDX-License-Identifier: Apache-2.0
// Finds the process's one libcupti: two of different versions in a process break each other.
#ifndef XSP_TRACERS_CUDA_LIBRARY_H
#define XSP_TRACERS_CUDA_LIBRARY_H

#include "tracers/cuda/abi.h"

// XSP_LIBRARY_CUPTI, and nothing else where it is set. Else the one that is loaded; one that lies by the process's CUDA runtime;
// the system loader's; the toolkit's. False: none, and `why` says it. `ret_file`: its path, owned by the loader.
bool cuda_library_find(struct cupti *ret_cupti, const char **ret_file, char *why, size_t why_size);

#endif
