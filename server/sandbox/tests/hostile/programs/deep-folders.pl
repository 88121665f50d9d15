my $depth = 0;
while ($depth < 300) { mkdir 'x' x 250 or last; chdir 'x' x 250 or last; $depth++ }
print "$depth\n";
