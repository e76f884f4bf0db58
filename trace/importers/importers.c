// SPDX-License-Identifier: Apache-2.0
// The table of importers, in the order of help and of equal claims: what is more particular comes first.
#include "importers/importer.h"

// One a line.
// clang-format off
const struct importer *const importers[] = {
    &importer_kineto,
    &importer_onnxruntime,
    &importer_nsys,
    &importer_otlp,
    &importer_otlp_proto,
    &importer_otlp_journal,
    &importer_loadgen,
    &importer_rocprof,
    &importer_rocpd,
    &importer_perfetto,
    &importer_pprof,
    &importer_etdump,
    &importer_iree,
    &importer_tvm,
    &importer_cntk,
    &importer_proton,
    &importer_caffe,
    &importer_nvprof,
    &importer_onednn,
    &importer_tf_timeline,
    &importer_tf_metadata,
    &importer_tensorrt,
    &importer_tensorrt_layers,
    &importer_ncu,
    &importer_xplane,
    &importer_perf,
    &importer_chakra,
    &importer_chrome,
    NULL,
};
// clang-format on

const char *import_format_at(size_t index, const char **ret_summary)
{
  *ret_summary = importers[index] != NULL ? importers[index]->summary : NULL;
  return importers[index] != NULL ? importers[index]->name : NULL;
}
