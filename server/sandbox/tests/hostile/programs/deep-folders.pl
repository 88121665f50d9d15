my $depth = 0;
while ($depth < 3000) { mkdir 'x' x 100 or last; chdir 'x' x 100 or last; $depth++ }
print "$depth\n";
