for x in y:
    h = cell(x,
             h)
    out[i] = h
    t += "a\"b"
