my @names = ("a\n12    1796076416.5 +++ exited with 0 +++", "\e[2J\e[31mred", "\xff\xfe\x80", "= -1 ENOSPC (No space left on device)",
  "12 1796076416.5 openat(AT_FDCWD, \"x\") = 3", '<unfinished ...>', "tab\tquote\"back\\slash", '-rf', "\x{7f}\x01");
for (@names) { open(my $file, '>', $_) or die "$_: $!"; print $file 'x'; close $file; unlink $_ if /ENOSPC/ }
# A name of 16 bytes is all that a thread has.
$0 = "\n12 1.5 +++";
my $forged = "libuv-worker\0";
syscall(157, 15, $forged, 0, 0, 0);
