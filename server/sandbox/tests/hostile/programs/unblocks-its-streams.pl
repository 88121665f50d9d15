# The streams are shared with whoever started this program: O_NONBLOCK set here is set there.
use Fcntl;
for my $stream (*STDOUT, *STDERR) { fcntl($stream, F_SETFL, O_WRONLY | O_NONBLOCK) or die $! }
my $line = 'x' x 65535 . "\n";
while (1) { syswrite(STDOUT, $line); syswrite(STDERR, $line) }
