P
	old