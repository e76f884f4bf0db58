P
old