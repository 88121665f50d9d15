//! One hostile program: run it, look that nothing is left, and run an ordinary one at once.

use std::io::Write;
use std::path::Path;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use lab::{Limits, Outcome, Run, RunSpec, Tracer};

use crate::host::Watch;
use crate::support::{Bench, spec, stderr, stdout, trace, until, within};

/// Looks for what another run may have left, and does what any script does.
const ORDINARY: &str = r"
    const fs = require('node:fs');
    const sockets = file => fs.readFileSync(`/proc/net/${file}`, 'utf8').trim().split('\n').length - 1;
    const abstract = fs.readFileSync('/proc/net/unix', 'utf8').split('\n').filter(line => / @/.test(line)).length;
    console.log([...fs.readdirSync('/lab'), ...fs.readdirSync('/tmp'), ...fs.readdirSync('/dev/shm')].join());
    console.log(sockets('tcp') + sockets('tcp6') + sockets('udp') + sockets('udp6') + abstract);
    fs.readFile('/etc/hostname', () => console.log('as usual'));";

/// A moment in which a program that ends at once can be seen from the host.
const HOLD: &str = "setTimeout(() => {}, 300);";

/// A program of `programs/` and how it is run.
pub(crate) struct Case {
    program: &'static str,
    spec: RunSpec,
}

/// A program with the usual limits.
pub(crate) fn program(name: &'static str) -> Case {
    Case { program: name, spec: spec() }
}

impl Case {
    pub(crate) fn limits(mut self, change: impl FnOnce(&mut Limits)) -> Self {
        change(&mut self.spec.limits);
        self
    }

    pub(crate) fn arg(mut self, arg: &str) -> Self {
        self.spec.args.push(arg.to_owned());
        self
    }

    pub(crate) fn env(mut self, name: &str, value: &str) -> Self {
        self.spec.env.insert(name.to_owned(), value.to_owned());
        self
    }

    pub(crate) fn untraced(mut self) -> Self {
        self.spec.tracer = Tracer::None;
        self
    }

    pub(crate) fn collect(mut self) -> Self {
        self.spec.collect = true;
        self
    }

    /// Runs it and asserts its outcome, that nothing of it is left, and that the next run is as usual.
    pub(crate) async fn comes_to(mut self, outcome: Outcome) -> Run {
        // What only the clock ends is given two seconds; the others may take theirs on a busy machine.
        if matches!(outcome, Outcome::WallLimit | Outcome::ProcessLimit) {
            self.spec.limits.wall = Duration::from_secs(2);
        }
        let bench = Bench::new().await;
        let mark = uuid::Uuid::now_v7().to_string();
        let variable = format!("MARK={mark}");
        self.spec.env.insert("MARK".to_owned(), mark);
        let (main, file) = self.files();
        let files = [("main.js", main.as_str()), (self.program, file.as_str())];

        let watch = Watch::start(variable);
        let run = within(60, bench.try_run(&self.spec, &files)).await.unwrap();
        let seen = watch.end();
        let ordinary = [("main.js", ORDINARY)];
        let next_spec = spec();
        let gone = async {
            until(10, || async { seen.is_gone() }).await;
            self.tell(&run);
        };
        let (next, ()) = tokio::join!(bench.try_run(&next_spec, &ordinary), gone);
        let next = next.unwrap();
        within(10, bench.sandbox.drain()).await;
        bench.assert_nothing_left().await;
        seen.assert_gone();

        assert_eq!(run.outcome, outcome, "{}: {} {}", self.program, stdout(&run), stderr(&run));
        assert_eq!(stdout(&next), "main.js\n0\nas usual\n", "{}", stderr(&next));
        assert_eq!((next.outcome, next.exit_code), (Outcome::Exited, Some(0)));
        run
    }

    /// `main.js` and the program. What is not JavaScript is started by a few lines of it.
    fn files(&self) -> (String, String) {
        let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/hostile/programs").join(self.program);
        let text =
            std::fs::read_to_string(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
        let interpreter = match path.extension().and_then(|ending| ending.to_str()) {
            Some("js") => return (format!("{HOLD} require('./{}')", self.program), text),
            Some("pl") => "perl",
            _ => "sh",
        };
        let main = format!(
            "{HOLD} const {{ status, signal }} = require('node:child_process').spawnSync('{interpreter}', ['{}', ...process.argv.slice(2)], {{ stdio: 'inherit' }});
             process.exitCode = signal ? 99 : status;",
            self.program
        );
        (main, text)
    }

    /// Says how long it took from the limit until no process of the run was left, and the worst of all so far.
    /// A figure is never asserted.
    fn tell(&self, run: &Run) {
        let trace = trace(run);
        let mut times = trace.lines().filter_map(|line| line.split_whitespace().nth(1)?.parse::<f64>().ok());
        let (Some(first), Some(last)) = (times.next(), times.next_back()) else { return };
        let by_wall = run.outcome == Outcome::WallLimit;
        let limit = if by_wall { first + self.spec.limits.wall.as_secs_f64() } else { last };
        let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap().as_secs_f64();
        let taken = ((now - limit) * 1000.0).max(0.0) as u64;
        let path = Path::new(env!("CARGO_TARGET_TMPDIR")).join("hostile-times");
        let mut file = std::fs::OpenOptions::new().create(true).append(true).open(&path).unwrap();
        writeln!(file, "{taken}\t{}", self.program).unwrap();
        let all = std::fs::read_to_string(&path).unwrap();
        let worst = all.lines().filter_map(|line| {
            let (ms, name) = line.split_once('\t')?;
            Some((ms.parse::<u64>().ok()?, name.to_owned()))
        });
        println!(
            "{}: {taken} ms from the limit until all was gone; worst so far {:?}",
            self.program,
            worst.max()
        );
    }
}
