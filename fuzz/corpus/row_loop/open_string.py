for x in y:
  out.append("""x
