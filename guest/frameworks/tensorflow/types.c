// SPDX-License-Identifier: Apache-2.0
// Tables of types of operations; see types.h. No allocation.
#include "frameworks/tensorflow/types.h"

#include "base/slice.h"

#include <stddef.h>

const char *tensorflow_category(const char *type)
{
  if (text_is_one_of(type, "Const", "HostConst", "_HostConst"))
    return "constant";
  if (text_is_one_of(type, "VarHandleOp", "ReadVariableOp", "_ReadVariablesOp", "VariableV2"))
    return "variable";
  if (text_is_one_of(type, "_Arg", "_DeviceArg", "_Recv", "_HostRecv", "Placeholder"))
    return "input";
  if (text_is_one_of(type, "_Retval", "_DeviceRetval", "_Send", "_HostSend"))
    return "output";
  bool is_control =
      text_is_one_of(type, "NoOp", "Enter", "Exit", "Merge", "NextIteration", "Switch", "LoopCond", "ControlTrigger");
  return is_control ? "control" : NULL;
}

bool tensorflow_runs_graph(const char *type)
{
  return text_is_one_of(type, "PartitionedCall", "StatefulPartitionedCall", "While", "StatelessWhile", "If",
                        "StatelessIf", "Case", "StatelessCase", "For", "RemoteCall", "MapDefun");
}
