for (my $n = 0; $n < 1_000_000; $n++) {
  symlink('x', "$ARGV[0]/$n") or do { print "$! after $n\n"; exit 0 };
}
print "all of them\n";
