// SPDX-License-Identifier: Apache-2.0
// JAX in unmodified programs: jaxlib's own module is complete. It makes the clients of devices, on the first use of one; up to
// jaxlib 0.6 it is called xla_extension.
#include "frameworks/common/door.h"
#include "frameworks/jax/tracer.h"

static void python_loaded(const struct python *python, void *module);

static const struct framework_symbol none[] = {{.name = NULL}}; // programs look up none of its functions
#define NO_SYMBOLS .symbol_prefix = "PyInit__jax", .symbols = none

const struct framework framework_jax = {
    .name = "jax",
    NO_SYMBOLS,
    .python_module = "_jax",
    .python_folder = "jaxlib",
    .python_loaded = python_loaded,
};
const struct framework framework_jax_extension = {
    .name = "jax",
    NO_SYMBOLS,
    .python_module = "xla_extension",
    .python_folder = "jaxlib",
    .python_loaded = python_loaded,
};

static void python_loaded(const struct python *python, void *module)
{
  const struct jax_hooks *hooks = framework_hooks(&framework_jax, JAX_HOOKS_SYMBOL);
  const char *session = framework_session();
  if (hooks != NULL && session != NULL)
    jax_record(python, module, hooks, session);
}
