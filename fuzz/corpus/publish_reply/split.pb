s

R
Sabc