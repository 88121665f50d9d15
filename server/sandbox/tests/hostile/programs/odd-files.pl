use IO::Socket::UNIX;
symlink('/etc/shadow', 'link') && symlink('loop', 'loop') && symlink('/proc/self/root', 'root') or die $!;
system('mkfifo', 'fifo') == 0 or die;
my $socket = IO::Socket::UNIX->new(Local => 'socket', Listen => 1) or die $!;
my $name = "device\0";
print 'device: ', syscall(133, $name, 0020666, 259) == 0 ? 'made' : $!, "\n";
mkdir 'unreadable' and chmod 0, 'unreadable';
open(my $file, '>', 'secret') and chmod 0, 'secret';
print "left\n";
