# memfd_create: a file of memory without a name.
my $name = "x\0";
my $fd = syscall(319, $name, 0);
die "memfd_create: $!" if $fd < 0;
open(my $file, '>&=', $fd) or die $!;
my $block = 'x' x (1 << 20);
syswrite($file, $block) while 1;
