if a:
  while b:
    for c in d:
      e = (\
