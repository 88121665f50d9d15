# One call on a thousand descriptors of long names: the tracer writes all of them on one line.
use Fcntl;
my $folder = '/tmp';
for (1 .. 14) { $folder .= '/' . ('x' x 250); mkdir $folder or die "$folder: $!" }
my @files;
while (1) { sysopen(my $file, "$folder/f" . @files, O_CREAT | O_RDWR) or last; push @files, $file }
my $bits = '';
vec($bits, fileno($_), 1) = 1 for @files;
while (1) { my ($read, $write) = ($bits, $bits); select($read, $write, undef, 0) }
