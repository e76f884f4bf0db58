def f(q, k):
    out = []
    for i in range(8):
        s = q[i] @ k[i].t()  # scores
        out.append(s.softmax(-1))
    return out
