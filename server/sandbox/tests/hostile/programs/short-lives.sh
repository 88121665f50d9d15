while :; do /bin/true; done
