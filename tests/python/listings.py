# The five example analyses of DeepContext (section 4.3) as they stand; thresholds are the user's.
hotspot_threshold, gpu_threshold, stall_threshold, cpu_threshold = 0.1, 5_000, 20, 2

# 1: hotspots
total_time = call_tree.root.time
for n in call_tree.kernels:
    if n.time / total_time > hotspot_threshold:
        flag_hotspot(n)

# 2: kernel fusion
for n in bfs(call_tree.nodes):
    if n.gpu_time / n.count < gpu_threshold:
        flag_issue(n, "Small_GPU_kernels")

# 3: forward and backward operators
for n in call_tree.operators:
    if n.backward.time / n.forward.time > 2:
        flag_issue(n, "Backward_abnormality")

# 4: fine-grained stalls
hotspots = hotspot_analysis(call_tree)
stalls = []
for n in hotspots:
    for c in n.children:
        if c.stalls > stall_threshold:
            stalls.append(c)
stall_reasons = topk(stalls)
flag_issue(n, "Kernel_is_mainly_stalled_by_{stall_reasons}")

# 5: CPU latency
for n in bfs(call_tree.nodes):
    if n.cpu_time / n.gpu_time > cpu_threshold:
        flag_issue(n, "CPU_time_abnormality")
