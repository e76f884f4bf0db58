// SPDX-License-Identifier: Apache-2.0
// Evaluates what its arguments say through libxsp_evaluate, by the foreign functions of Java 17, and prints the tables. The first argument is the
// library.
import java.lang.invoke.MethodHandle;
import java.lang.invoke.MethodType;
import jdk.incubator.foreign.CLinker;
import jdk.incubator.foreign.FunctionDescriptor;
import jdk.incubator.foreign.MemoryAccess;
import jdk.incubator.foreign.MemoryAddress;
import jdk.incubator.foreign.MemorySegment;
import jdk.incubator.foreign.ResourceScope;
import jdk.incubator.foreign.SegmentAllocator;
import jdk.incubator.foreign.SymbolLookup;

public class Evaluate {
  static MethodHandle function(String name, MethodType type, FunctionDescriptor described) {
    return CLinker.getInstance().downcallHandle(SymbolLookup.loaderLookup().lookup(name).get(), type, described);
  }

  public static void main(String[] texts) throws Throwable {
    System.load(texts[0]);
    MethodHandle evaluate = function("xsp_evaluate", MethodType.methodType(int.class, MemoryAddress.class, MemoryAddress.class),
        FunctionDescriptor.of(CLinker.C_INT, CLinker.C_POINTER, CLinker.C_POINTER));
    MethodHandle error = function("xsp_evaluate_error", MethodType.methodType(MemoryAddress.class),
        FunctionDescriptor.of(CLinker.C_POINTER));
    MethodHandle free = function("xsp_evaluate_free", MethodType.methodType(void.class, MemoryAddress.class),
        FunctionDescriptor.ofVoid(CLinker.C_POINTER));
    try (ResourceScope scope = ResourceScope.newConfinedScope()) {
      SegmentAllocator allocator = SegmentAllocator.ofScope(scope);
      MemorySegment arguments = allocator.allocate(CLinker.C_POINTER.byteSize() * texts.length);
      for (int i = 1; i < texts.length; i++)
        MemoryAccess.setAddressAtIndex(arguments, i - 1, CLinker.toCString(texts[i], scope));
      MemoryAccess.setAddressAtIndex(arguments, texts.length - 1, MemoryAddress.NULL);
      MemorySegment result = allocator.allocate(CLinker.C_POINTER);
      int status = (int) evaluate.invokeExact(arguments.address(), result.address());
      if (status != 0) {
        System.err.println(CLinker.toJavaString((MemoryAddress) error.invokeExact()));
        System.exit(status);
      }
      MemoryAddress json = MemoryAccess.getAddress(result);
      System.out.print(CLinker.toJavaString(json));
      free.invokeExact(json);
    }
  }
}
