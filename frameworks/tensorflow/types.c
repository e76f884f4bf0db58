// SPDX-License-Identifier: Apache-2.0
// Tables of types of operations; see types.h. No allocation.
#include "frameworks/tensorflow/types.h"

#include "base/slice.h"

#include <stddef.h>
#include <string.h>

const char *tensorflow_category(const char *type)
{
  static const struct {
    const char *type, *category;
  } known[] = {{"Const", "constant"},
               {"HostConst", "constant"},
               {"_HostConst", "constant"},
               {"VarHandleOp", "variable"},
               {"ReadVariableOp", "variable"},
               {"_ReadVariablesOp", "variable"},
               {"VariableV2", "variable"},
               {"_Arg", "input"},
               {"_DeviceArg", "input"},
               {"_Recv", "input"},
               {"_HostRecv", "input"},
               {"Placeholder", "input"},
               {"_Retval", "output"},
               {"_DeviceRetval", "output"},
               {"_Send", "output"},
               {"_HostSend", "output"},
               {"NoOp", "control"},
               {"Enter", "control"},
               {"Exit", "control"},
               {"Merge", "control"},
               {"NextIteration", "control"},
               {"Switch", "control"},
               {"LoopCond", "control"},
               {"ControlTrigger", "control"}};
  for (size_t i = 0; i < sizeof known / sizeof known[0]; i++)
    if (strcmp(type, known[i].type) == 0)
      return known[i].category;
  return NULL;
}

bool tensorflow_runs_graph(const char *type)
{
  return text_is_one_of(type, "PartitionedCall", "StatefulPartitionedCall", "While", "StatelessWhile", "If",
                        "StatelessIf", "Case", "StatelessCase", "For", "RemoteCall", "MapDefun");
}
