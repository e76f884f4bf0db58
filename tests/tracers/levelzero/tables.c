// SPDX-License-Identifier: Apache-2.0
// Tables that the loader wants a driver to have, and that stay empty here.
#include <stdint.h>

#define EMPTY(name)                                                                                                    \
  __attribute__((visibility("default"))) uint32_t name##ProcAddrTable(uint32_t version, void *table);                  \
  uint32_t name##ProcAddrTable(uint32_t version, void *table)                                                          \
  {                                                                                                                    \
    return 0;                                                                                                          \
  }
EMPTY(zeGetDeviceExp)
EMPTY(zeGetEventExp)
EMPTY(zeGetFabricEdgeExp)
EMPTY(zeGetFabricVertexExp)
EMPTY(zeGetImage)
EMPTY(zeGetImageExp)
EMPTY(zeGetKernelExp)
EMPTY(zeGetModuleBuildLog)
EMPTY(zeGetPhysicalMem)
EMPTY(zeGetSampler)
EMPTY(zeGetVirtualMem)
EMPTY(zetGetCommandList)
EMPTY(zetGetContext)
EMPTY(zetGetDebug)
EMPTY(zetGetDevice)
EMPTY(zetGetKernel)
EMPTY(zetGetMetricGroup)
EMPTY(zetGetMetricGroupExp)
EMPTY(zetGetMetric)
EMPTY(zetGetMetricQueryPool)
EMPTY(zetGetMetricQuery)
EMPTY(zetGetMetricStreamer)
EMPTY(zetGetModule)
EMPTY(zetGetTracerExp)
EMPTY(zesGetDevice)
EMPTY(zesGetDiagnostics)
EMPTY(zesGetDriver)
EMPTY(zesGetEngine)
EMPTY(zesGetFabricPort)
EMPTY(zesGetFan)
EMPTY(zesGetFirmware)
EMPTY(zesGetFrequency)
EMPTY(zesGetLed)
EMPTY(zesGetMemory)
EMPTY(zesGetPerformanceFactor)
EMPTY(zesGetPower)
EMPTY(zesGetPsu)
EMPTY(zesGetRas)
EMPTY(zesGetScheduler)
EMPTY(zesGetStandby)
EMPTY(zesGetTemperature)
