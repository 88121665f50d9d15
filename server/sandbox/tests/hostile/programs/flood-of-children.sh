for n in 1 2 3 4 5 6; do yes "child $n" & yes "child $n" >&2 & done
wait
