open(my $file, '>', 'giant') or die $!;
truncate($file, 1 << 42) or die $!;
seek($file, (1 << 42) - 1, 0) or die $!;
syswrite($file, 'x') or die $!;
print "made\n";
