# A terminal is made by opening /dev/ptmx, and the kernel has so many for the whole host.
my @kept;
while (1) { open(my $terminal, '+<', '/dev/ptmx') or last; push @kept, $terminal }
print scalar(@kept), " $!\n";
