// SPDX-License-Identifier: Apache-2.0
// Where a manifest's model is: a path next to it, an address, a file of an installed Python package, or what a generator makes, once,
// in the cache. Only what the manifest gives an address of is fetched (lab/assets/assets.h).
#ifndef XSP_MANIFESTS_SOURCE_H
#define XSP_MANIFESTS_SOURCE_H

#include "base/message.h"
#include "base/python_package.h"
#include "manifests/manifest.h"
#include "manifests/model_files.h"

#include <stdbool.h>

struct manifest_model {
  const char *path;
  const char *weights; // of a model in two files; NULL: the model's file has or names them
  const char *source;  // for people: "package rapidocr-onnxruntime 1.4.4"
  struct model_files files;
  char sha256[CHECKSUM_TEXT_SIZE];
  bool was_made; // by the generator, now
};

// Finds, or makes, the model and compares its checksum. `message` may be NULL; it gets progress. Errors: STATUS_INPUT (no
// such file, another checksum), STATUS_SYSTEM (a package or the generator's result is missing).
enum status manifest_find_model(const struct manifest *manifest, message_fn message, struct arena *arena,
                                struct manifest_model *ret_model, struct error *err) MUST_CHECK;

// ---- its parts -------------------------------------------------------------------------------------------------------

// "name" or "name==1.0" in the active Python environment, by the metadata of what is installed; nothing is imported.
// Errors: STATUS_SYSTEM, with what to install.
enum status package_find(const struct manifest *manifest, unsigned line, const char *requirement, struct arena *arena,
                         struct python_package *ret_package, struct error *err) MUST_CHECK;

// The file as the manifest means it: relative to the manifest's folder.
const char *manifest_relative(const struct manifest *manifest, const char *path, struct arena *arena);
// A path as above, or an address, which is fetched. `sha256`: of the file; NULL: unknown. `message` may be NULL. Errors: those
// of asset_get.
enum status manifest_asset(const struct manifest *manifest, const char *text, const char *sha256, message_fn message,
                           struct arena *arena, const char **ret_path, struct error *err) MUST_CHECK;
// Scripts must be in the manifest's folder or below, links resolved: a manifest runs only code that comes with it.
// Errors: STATUS_INPUT.
enum status manifest_script(const struct manifest *manifest, const char *script, struct arena *arena,
                            const char **ret_path, struct error *err) MUST_CHECK;
enum status generator_make(const struct manifest *manifest, message_fn message, struct arena *arena,
                           const char **ret_path, bool *ret_was_made, struct error *err) MUST_CHECK;
// Runs a generator's script in the active Python environment, one at a time. `arguments` begins with the script and ends with
// NULL; its last is where the result goes. SIGINT, SIGTERM and SIGHUP end the script, and are held until
// manifest_run_end. Errors: STATUS_SYSTEM, with the script's last line.
enum status manifest_run_python(const struct manifest *manifest, const char *const *arguments, message_fn message,
                                struct error *err) MUST_CHECK;
// Gives the signals back; one that came is raised again. Safe where nothing ran.
void manifest_run_end(void);

#endif
