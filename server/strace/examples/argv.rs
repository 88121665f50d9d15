//! Prints the command line of strace that sandboxes use for `node ENTRY`, an argument a line:
//! `cargo run -p strace --example argv -- TRACE-FILE ENTRY`.

fn main() {
    let mut args = std::env::args().skip(1);
    let (Some(file), Some(entry)) = (args.next(), args.next()) else {
        eprintln!("usage: argv TRACE-FILE ENTRY");
        std::process::exit(2);
    };
    let tracee = ["node", "--require", "/opt/todoku/preload.cjs", &entry].map(String::from);
    for argument in strace::argv(true, &file, "learner", &["LC_ALL"], &[], &tracee) {
        println!("{argument}");
    }
}
