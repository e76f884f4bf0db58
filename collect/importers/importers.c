// SPDX-License-Identifier: Apache-2.0
// The table of importers, in the order of help and of equal claims: what is more particular comes first. An importer is
// in it where its file is in this folder (CMakeLists.txt defines XSP_IMPORTS_NAME).
#include "collect/importers/importer.h"

const struct importer *const importers[] = {
#ifdef XSP_IMPORTS_KINETO
    &importer_kineto,
#endif
#ifdef XSP_IMPORTS_ONNXRUNTIME
    &importer_onnxruntime,
#endif
#ifdef XSP_IMPORTS_NSYS
    &importer_nsys,
#endif
#ifdef XSP_IMPORTS_OTLP
    &importer_otlp,
#endif
#ifdef XSP_IMPORTS_OTLP_PROTO
    &importer_otlp_proto,
#endif
#ifdef XSP_IMPORTS_CHROME
    &importer_chrome,
#endif
    NULL,
};

const char *importer_name(const struct importer *importer)
{
  return importer->name;
}

const char *importer_summary(const struct importer *importer)
{
  return importer->summary;
}
