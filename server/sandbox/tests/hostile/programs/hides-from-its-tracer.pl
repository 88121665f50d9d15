# Closes its own /proc to everybody (PR_SET_DUMPABLE), then adds filters of its own: one that answers a call as if it had been made, one that
# hands a call to the tracer which nobody asked it to show.
sub filter { # filter CALL ANSWER
  my ($call, $answer) = @_;
  my $code = pack('SCCL', 0x20, 0, 0, 0) . pack('SCCL', 0x15, 0, 1, $call) . pack('SCCL', 0x06, 0, 0, $answer) . pack('SCCL', 0x06, 0, 0, 0x7fff0000);
  my $program = pack('S x6 P', 4, $code);
  return syscall(157, 22, 2, $program, 0, 0);
}
syscall(157, 4, 0, 0, 0, 0) == 0 or die "dumpable: $!";
open(my $seen, '<', '/etc/hostname') or die $!;
sysread($seen, my $text, 1);
filter(110, 0x7ff00000) == 0 or die "filter: $!"; # getppid: SECCOMP_RET_TRACE
print 'parent ', syscall(110) > 0 ? 'known' : 'unknown', "\n";
filter(257, 0x00050000) == 0 or die "filter: $!"; # openat: SECCOMP_RET_ERRNO with no error
my $path = "/etc/passwd\0";
print 'openat ', syscall(257, -100, $path, 0), "\n";
