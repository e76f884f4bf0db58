// SPDX-License-Identifier: Apache-2.0
// The front door of manifests/: model manifests (docs/manifests.md), the models that they name, and the runner's options
// that follow from them.
#ifndef XSP_MANIFESTS_MANIFESTS_H
#define XSP_MANIFESTS_MANIFESTS_H

#include "manifests/expect.h"      // what a manifest expects of inputs and outputs, as text for the runner
#include "manifests/manifest.h"    // the file's contents, checked
#include "manifests/model_files.h" // the files of a model, and their checksum
#include "manifests/runner.h"      // the framework and the runner's options
#include "manifests/source.h"      // finds or makes the model

#endif
