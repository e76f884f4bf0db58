// SPDX-License-Identifier: Apache-2.0
// cuda_workload: layers, as PyTorch's ranges name them, whose work is captured in a graph.
#include "workload.h"

#include <nvtx3/nvToolsExt.h>
#include <stdio.h>

// A graph of the work of three layers: the first has one kernel, the second two, the third three.
static void capture_layers(CUstream stream, CUgraph *captured)
{
  char name[32];
  must(cuStreamBeginCapture(stream, CU_STREAM_CAPTURE_MODE_GLOBAL), "cuStreamBeginCapture");
  for (unsigned i = 0; i < 3; i++) {
    snprintf(name, sizeof name, "layer %u, op_id = %u", i, i);
    nvtxRangePushA(name);
    for (unsigned k = 0; k <= i; k++)
      launch(find_kernel("vector_add"), small, stream);
    nvtxRangePop();
  }
  must(cuStreamEndCapture(stream, captured), "cuStreamEndCapture");
}

int captured_layers(unsigned count)
{
  CUstream stream = new_stream();
  CUgraph captured = NULL;
  recording_begin();
  capture_layers(stream, &captured);
  recording_end();
  launch_graph(captured, stream, count);
  return 0;
}

// Steps that launch a graph, each in a layer. What it runs was captured before the first one, in three layers.
int replayed_layers(unsigned count)
{
  CUstream stream = new_stream();
  CUgraph captured = NULL;
  CUgraphExec executable = NULL;
  char name[32];
  capture_layers(stream, &captured);
  must(cuGraphInstantiate(&executable, captured, 0), "cuGraphInstantiate");
  for (unsigned i = 0; i < count; i++) {
    snprintf(name, sizeof name, "step %u", i);
    nvtxRangePushA(name);
    nvtxRangePushA("replay, op_id = 9");
    must(cuGraphLaunch(executable, stream), "cuGraphLaunch");
    nvtxRangePop();
    must(cuStreamSynchronize(stream), "cuStreamSynchronize");
    nvtxRangePop();
  }
  return 0;
}
