// SPDX-License-Identifier: Apache-2.0
// The table of what programs do in their loops beside their models. Called by F29, F6 and F33. Pure.
#include "analyze/findings/work_kinds.h"

#include "analyze/findings/shared.h"

#include <string.h>
#include <xsp/call_path.h>

static const char compiles[] = "%s has a function traced and compiled again and again";
static const char compile_once[] = "jit or compile a function once, outside of the loop: a new lambda or closure is a "
                                   "new function; keep shapes equal, "
                                   "and pass numbers that change as tensors";
static const char few_rows[] = "pass all rows in one call; collect single ones to batches";

// Of a path the first that one of its frames matches counts.
const struct work_kind work_kinds[WORK_KINDS] = {
    [WORK_NONE] = {NULL, NULL, NULL, {NULL}, {NULL}},
    [WORK_BLOCKED] = {"blocked_loop",
                      "%s blocks the event loop: it waits (sleep, input or output) instead of awaiting",
                      "await an asynchronous client, or asyncio.to_thread(); run models in an executor",
                      {NULL},
                      {NULL}},
    [WORK_SLEEP] = {"sleep",
                    "%s sleeps in the loop",
                    "do not poll: wait for the event, or do other work meanwhile",
                    {NULL},
                    {NULL}},
    [WORK_OWN] = {"own",
                  "%s works outside of the model, in its own code or in other libraries",
                  "compute on whole arrays or tensors instead of in Python's loops; do it before the loop, less often, "
                  "or in other processes",
                  {NULL},
                  {NULL}},
    [WORK_IMPORT] = {"import", NULL, NULL, {"<frozen importlib*"}, {NULL}},
    [WORK_PREDICT] = {"predict",
                      "%s calls predict(), fit() or evaluate() again and again: each call sets up its input anew",
                      "pass all rows in one call; for single rows call the model itself: model(x, training=False)",
                      {"*/keras/src/trainers/data_adapters/*", "*/keras/src/trainers/epoch_iterator.py"},
                      {NULL}},
    [WORK_INPUT] = {"input", // F6
                    NULL,
                    NULL,
                    {"*/torch/utils/data/*", "*/tensorflow/python/data/ops/from_generator_op.py",
                     "*/tensorflow/python/data/ops/iterator_ops.py"},
                    {NULL}},
    [WORK_TREES] = {"trees", NULL, NULL, {"*/lib_lightgbm.so*", "*/libxgboost.so*"}, {NULL}},
    [WORK_TREE_CALLS] = {"tree_calls",
                         "%s calls LightGBM or XGBoost again and again for few rows: most is what each call prepares",
                         few_rows,
                         {"*/lightgbm/*.py", "*/xgboost/*.py"},
                         {"*predict*"}},
    [WORK_CHECKS] = {"checks",
                     "%s calls scikit-learn again and again for few rows: most is checks of each call's input",
                     few_rows,
                     {"*/sklearn/utils/validation.py", "*/sklearn/utils/_tags.py"},
                     {NULL}},
    [WORK_READS] = {"reads",
                    "%s waits for JAX's results in most steps (float(), format()), and JAX then for the program",
                    "keep results as arrays, and read them every so many steps: JAX computes a step while Python "
                    "prepares the next one",
                    {"*/jax/_src/array.py"},
                    {"*__float__", "*__format__"}},
    [WORK_OUTPUTS] = {"outputs",
                      NULL,
                      NULL,
                      {"*/jax/_src/array.py", "*/jax/_src/api.py", "*/libjax_common*", "*/xla_extension*"},
                      {"*_value", "*block_until_ready", "*device_get", "*PyArray::BlockUntilReady*",
                       "*PyArray_bf_getbuffer*"}},
    [WORK_TRANSFERS] = {"transfers",
                        "%s copies arrays to JAX's device in the loop, again and again",
                        "put what does not change there once, before the loop; keep parameters and states as arrays of "
                        "JAX, not of NumPy",
                        {"*/jax/_src/dispatch.py", "*/jax/_src/api.py", "*/jax/_src/numpy/array_constructors.py"},
                        {"*device_put*", "*asarray", "array"}},
    [WORK_STACKS] =
        {"stacks",
         "%s has call stacks formatted in the loop, again and again, such as by torch.autograd.set_detect_anomaly",
         "detect anomalies only while looking for one; no exceptions or warnings in each step",
         {"*/traceback.py", "*/linecache.py"},
         {NULL}},
    [WORK_TRACING] = {"tracing", // calls of traced functions, too, go through these files
                      compiles,
                      compile_once,
                      {"*/framework/func_graph.py", "*/polymorphic_function/tracing_compilation.py",
                       "*/torch/jit/_trace.py", "*/torch/jit/_script.py"},
                      {"func_graph_from_py_func", "_create_concrete_function", "trace", "trace_module", "script"}},
    [WORK_GRAPH] = {"graph", NULL, NULL, {"*/polymorphic_function/*function*.py"}, {"*__call__", "*_call"}},
    [WORK_EXECUTION] = {"execution", // of what was compiled, by Python, as with callbacks to the program
                        NULL,
                        NULL,
                        {"*/jax/_src/interpreters/pxla.py"},
                        {"ExecuteReplicated.__call__"}},
    [WORK_ITERATOR] =
        {"iterator", NULL, NULL, {"*/tensorflow/python/data/*"}, {NULL}}, // it asks the operators of eager mode
    [WORK_CHECKPOINT] =
        {"checkpoint",
         "%s saves a checkpoint in the loop, again and again",
         "save less often, or in a thread or process of its own (torch.distributed.checkpoint.async_save)",
         {"*/torch/serialization.py", "*/safetensors/*", "*/joblib/*", "*/pickle.py", "*npyio*.py", "*/h5py/*",
          "*/orbax/*", "*/keras/src/saving/*"},
         {"*save", "*save_*", "*savez*", "*savetxt*", "*dump*", "*write*",
          "*create_dataset"}}, // Keras also loads by _walk_saveable
    [WORK_SESSION] = {"session",
                      "%s creates a session or loads a model again and again",
                      "create it once, and keep it for all requests",
                      {"*/onnxruntime/capi/onnxruntime_inference_collection.py", "*/transformers/modeling_utils.py",
                       "*/torch/serialization.py", "*/torch/jit/_serialization.py", "*/saved_model/load.py",
                       "*/saving/saving_*.py", "*/openvino/*"},
                      {"*__init__", "*_create_inference_session", "*from_pretrained", "*load*", "*compile_model",
                       "*read_model"}},
    [WORK_LOADING] = {"loading",
                      "%s loads a tokenizer, a processor or an estimator from files again and again",
                      "load it once, before the loop, and keep it for all requests",
                      {"*/transformers/tokenization_*.py", "*/transformers/processing_*.py",
                       "*/transformers/image_processing_*.py", "*/transformers/models/auto/*", "*/tokenizers/*",
                       "*/joblib/numpy_pickle.py", "*/pickle.py", "*/_pickle.*"},
                      {"*from_pretrained", "*from_file*", "*.load", "load", "_load", "_unpickle", "_pickle_load"}},
    [WORK_CONVERSION] = {"conversion",
                         "%s exports, quantizes or converts a model again and again",
                         "convert it once, and keep the result for all requests",
                         {"*/torch/onnx/*", "*/torch/export/*", "*/torch/ao/quantization/*", "*/torch/jit/_freeze.py",
                          "*/onnxruntime/quantization/*", "*/tensorflow/lite/python/*"},
                         {"export", "_export", "quantize", "quantize_dynamic", "quantize_static", "prepare*", "convert",
                          "convert_fx", "convert_pt2e", "*.convert", "freeze", "optimize_for_inference"}},
    [WORK_MODEL] = {"model",
                    "%s creates a model or layer again and again",
                    "create it once, and keep it for all requests",
                    {"*/torch/nn/modules/*.py", "*/keras/src/layers/*.py", "*/keras/src/models/*.py"},
                    {"*.__init__"}},
    [WORK_COMPILATION] = {"compilation",
                          compiles,
                          compile_once,
                          {"*/jax/_src/compiler.py", "*/jax/_src/interpreters/*.py", "*/torch/_dynamo/convert_frame.py",
                           "*/torch/_inductor/compile_fx.py", "*/jax/_src/linear_util.py"},
                          {NULL}},
    [WORK_EAGER_KERAS] = {"eager_keras", // once it is traced, these functions run no more
                          "%s has Keras run its step eagerly, operator by operator (run_eagerly=True)",
                          "compile() without run_eagerly, and without tf.config.run_functions_eagerly(True)",
                          {"*/keras/src/backend/tensorflow/trainer.py"},
                          {"*one_step_on_data", "*train_step", "*test_step"}},
    [WORK_EAGER] = {"eager",
                    "%s runs TensorFlow eagerly, operator by operator (no tf.function)",
                    "put the step into a function with @tf.function; its graph runs without Python",
                    {"*/tensorflow/python/ops/*.py", "*/tensorflow/python/eager/backprop.py",
                     "*/tensorflow/python/eager/imperative_grad.py", "*/tensorflow/python/eager/execute.py"},
                    {NULL}},
    [WORK_DETOKENIZER] =
        {"detokenizer",
         "%s has tokens turned into text in the loop",
         "decode new tokens only, not all so far (tokenizers.decoders.DecodeStream, TextIteratorStreamer), or all at "
         "the end",
         {"*/tokenization_*.py"},
         {"*decode"}},
    [WORK_TOKENIZER] =
        {"tokenizer",
         "%s has text tokenized in the loop",
         "tokenize once, before the loop, or in the loader's processes; texts of one request as one batch",
         {"*/tokenization_*.py", "*/tokenizers/*"},
         {NULL}},
    [WORK_PICTURES] = {"pictures",
                       "%s draws or saves pictures in the loop",
                       "less often, and smaller, or from a thread of its own",
                       {"*/matplotlib/*", "*/seaborn/*", "*/torchvision/utils.py", "*/PIL/*", "*/imageio/*",
                        "*/plotly/*"},
                       {"*save*", "*draw*", "*plot*", "*figure*", "*imshow*", "make_grid", "*imwrite*", "*show*"}},
    [WORK_DECODING] = {"decoding",
                       "%s has pictures decoded or transformed in the loop",
                       "decode in the loader's processes, at the size that is needed (draft mode, reduced decoding)",
                       {"*/PIL/*", "*/cv2/*", "*/torchvision/io/*", "*/torchvision/transforms/*", "*/imageio/*",
                        "*/skimage/*"},
                       {NULL}},
    [WORK_LOGGING] = {"logging",
                      "%s logs in the loop",
                      "log less often, and numbers instead of pictures, or from a thread of its own",
                      {"*/matplotlib/*", "*/tensorboard/*", "*/wandb/*", "*/mlflow/*", "*/tensorboardX/*",
                       "*/logging/__init__.py", "*/logging/handlers.py", "*/clearml/*"},
                      {NULL}},
    [WORK_ROWS] = {"rows",
                   "%s works on a table of pandas in the loop, row by row",
                   "take whole columns as arrays once, before the loop (to_numpy()), and index these",
                   {"*/pandas/*"},
                   {NULL}},
    [WORK_COPY] = {"copy",
                   "%s makes deep copies in the loop, again and again (a model's state?)",
                   "copy it only where it is better than before, or every so many steps; load_state_dict() into a copy "
                   "that is kept",
                   {"*/copy.py"},
                   {"deepcopy"}},
    [WORK_STATES] =
        {"states",
         "%s collects or loads a model's weights in the loop (state_dict(), get_weights()), again and again",
         "take state_dict() once; average parameters in place (torch._foreach_lerp_, "
         "torch.optim.swa_utils.AveragedModel); take get_weights() once an epoch",
         {"*/torch/nn/modules/module.py", "*/torch/optim/optimizer.py", "*/keras/src/layers/layer.py"},
         {"*state_dict*", "*get_weights", "*set_weights"}},
    [WORK_TEXT] =
        {"text",
         "%s has tensors formatted as text in the loop",
         "print less often, or numbers (l.item(), shapes, means); with logger.debug(\"%s\", tensor) only what "
         "is printed is formatted",
         {"*/torch/_tensor_str.py", "*/numpy/_core/arrayprint.py", "*/numpy/core/arrayprint.py"},
         {NULL}},
    [WORK_METRICS] = {"metrics",
                      "%s has metrics computed by a library in the loop",
                      "compute metrics on tensors, or every so many steps",
                      {"*/sklearn/metrics/*", "*/torchmetrics/*", "*/torcheval/*"},
                      {NULL}},
    [WORK_PROGRAMS] = {"programs",
                       "%s runs other programs in the loop, and waits for them",
                       "ask in the program itself (a package, files in /proc), less often, or one program that stays",
                       {"*/subprocess.py"},
                       {NULL}},
    [WORK_ANSWER] =
        {"answer", NULL, NULL, {"*/http/server.py", "*/socketserver.py"}, {"*end_headers", "_SocketWriter.write"}},
    [WORK_IDLE] = {"idle", NULL, NULL, {"*/selectors.py"}, {NULL}}, // of an event loop or a server
    [WORK_PROFILER] = {"profiler",
                       "%s starts and ends a profiler again and again",
                       "profile a few steps only, and leave the profiler out of what serves or trains",
                       {"*/torch/profiler/profiler.py", "*/torch/autograd/profiler*.py", "*/cProfile.py"},
                       {"profile.__enter__", "profile.__exit__", "profile.start", "profile.stop", "*_parse_kineto*",
                        "*key_averages*", "*export_*", "Profile.print_stats", "Profile.dump_stats",
                        "Profile.create_stats"}}, // not step(), nor record_function
    [WORK_MOVES] = {"moves",
                    "%s moves a model, or converts it to another type, again and again",
                    "keep a model for each device or type, and convert inputs instead",
                    {"*/torch/nn/modules/module.py"},
                    {"*Module._apply*", "*Module.to*", "_apply", "to"}},
    [WORK_JAX_RANDOM] = {"jax_random", NULL, NULL, {"*/jax/_src/random.py", "*/jax/_src/prng.py"}, {NULL}},
    [WORK_JAX_EAGER] = {"jax_eager",
                        "%s runs JAX eagerly, operation by operation (no jax.jit)",
                        "put the step into a function under jax.jit, with the optimizer's update; loops over time or "
                        "rows within it as jax.lax.scan or jax.vmap",
                        {"*/jax/_src/numpy/*.py", "*/jax/_src/lax/*.py", "*/jax/_src/dispatch.py",
                         "*/jax/_src/array.py", "*/optax/*"},
                        {NULL}},
    [WORK_JAX_CALLS] = {"jax_calls",
                        "%s calls functions under jax.jit that compute little: most is what each call costs",
                        "put the loop itself into a function under jax.jit, as jax.lax.scan (over time) or jax.vmap "
                        "(over rows)",
                        {"*/libjax_common*", "*/xla_extension*", "*/jax/_src/pjit.py"},
                        {"PjitFunction_tp_vectorcall", "*_cpp_pjit*"}},
};

static bool matches(const char *text, const char *const *patterns)
{
  for (size_t i = 0; i < WORK_PATTERNS_MOST && patterns[i] != NULL; i++)
    if (text != NULL && findings_matches(text, patterns[i], false))
      return true;
  return false;
}

unsigned work_kind_of(const struct store_frame *frame)
{
  const char *from = frame->kind == XSP_FRAME_PYTHON ? frame->file : frame->module;
  for (unsigned i = WORK_IMPORT; i < WORK_KINDS && from != NULL; i++)
    if (matches(from, work_kinds[i].files) &&
        (work_kinds[i].functions[0] == NULL || matches(frame->name, work_kinds[i].functions)))
      return i;
  return WORK_NONE;
}

static bool has_one(const char *text, const char *const *parts, size_t count)
{
  for (size_t i = 0; i < count && text != NULL; i++)
    if (strstr(text, parts[i]) != NULL)
      return true;
  return false;
}

enum work_owner work_owner_of(const struct store_frame *frame)
{
  static const char *const models[] = {"/torch/",    "/tensorflow/", "/keras/",        "/jax/",        "/jaxlib/",
                                       "/flax/",     "/optax/",      "/equinox/",      "/haiku/",      "/sklearn/",
                                       "/lightgbm/", "/xgboost/",    "/catboost/",     "/onnxruntime", "/openvino",
                                       "/lightning", "/mxnet/",      "/transformers/", "/accelerate/", "/diffusers/",
                                       "/libgomp",   "/libiomp",     "/libomp",        "/libmpi",      "/mpi4py/",
                                       "/libmkl",    "openblas",     "/libtorch",      "/pytorch_"};
  static const char *const converts[] = {"THPVariable_tensor", "tensor_ctor", "THPVariable_tolist", "tensor_to_list",
                                         "THPVariable_as_tensor"};
  if (frame->kind == XSP_FRAME_NATIVE && has_one(frame->name, converts, sizeof converts / sizeof converts[0]))
    return WORK_CONVERTS;
  const char *from = frame->kind == XSP_FRAME_PYTHON ? frame->file : frame->module;
  return has_one(from, models, sizeof models / sizeof models[0]) ? WORK_MODELS : WORK_ANYBODYS;
}
