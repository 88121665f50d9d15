# CLONE_PARENT: a child that is its maker's sibling, and so the tracer's own child; then one that tells nobody of its end.
for my $flags (0x8000 | 17, 0) {
  my $pid = syscall(56, $flags, 0, 0, 0, 0);
  die "clone: $!" if $pid < 0;
  if ($pid == 0) { open(my $file, '<', '/etc/hostname'); syscall(231, 7) }
}
select(undef, undef, undef, 0.2);
print "made\n";
