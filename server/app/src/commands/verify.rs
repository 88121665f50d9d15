//! Every solution of a lab earns exactly what it says it earns, in the real sandbox.

use std::path::PathBuf;
use std::sync::Arc;

use anyhow::{Context, bail};
use lab::{Given, Lab, Solution};
use sandbox::Sandbox;
use tokio::sync::Semaphore;
use tokio::task::JoinSet;
use tokio_util::sync::CancellationToken;

use crate::catalogue::Catalogue;
use crate::{config, judge};

pub(crate) async fn run(config: config::Verify) -> anyhow::Result<()> {
    let labs = chosen(&config)?;
    let images = labs.iter().map(|lab| lab.image.clone()).collect();
    let sandbox = super::open_sandbox(config.sandbox.settings(images)).await?;
    sandbox.check().await?;
    let permits = Arc::new(Semaphore::new(config.parallel.max(1)));
    let mut trials = JoinSet::new();
    for lab in labs {
        let folder: PathBuf = config.labs.labs_dir.join(&lab.slug);
        for solution in lab::load_solutions(&folder, &lab)? {
            if config.solution.as_ref().is_some_and(|part| !solution.name.contains(part)) {
                continue;
            }
            let solution = Arc::new(solution);
            for _ in 0..config.repeat {
                let (lab, solution, sandbox) = (Arc::clone(&lab), Arc::clone(&solution), sandbox.clone());
                let permits = Arc::clone(&permits);
                trials.spawn(async move {
                    let _permit = permits.acquire_owned().await?;
                    let differences = trial(&sandbox, &lab, &solution).await;
                    anyhow::Ok((format!("{} / {}", lab.slug, solution.name), differences))
                });
            }
        }
    }
    let (mut passed, mut failed) = (0, 0);
    while let Some(trial) = trials.join_next().await {
        let (name, differences) = trial??;
        match differences {
            Ok(differences) if differences.is_empty() => {
                passed += 1;
                println!("ok    {name}");
            }
            Ok(differences) => {
                failed += 1;
                println!("FAIL  {name}\n        {}", differences.join("\n        "));
            }
            Err(error) => {
                failed += 1;
                println!("FAIL  {name}\n        {error:#}");
            }
        }
    }
    sandbox.close().await;
    println!("{passed} passed, {failed} failed");
    if failed > 0 || passed == 0 {
        bail!("a solution does not earn what it should");
    }
    Ok(())
}

fn chosen(config: &config::Verify) -> anyhow::Result<Vec<Arc<Lab>>> {
    let labs = Catalogue::load(&config.labs.labs_dir)?;
    if config.slugs.is_empty() {
        return Ok(labs.iter().cloned().collect());
    }
    let find = |slug: &String| labs.get(slug).cloned().with_context(|| format!("there is no lab {slug}"));
    config.slugs.iter().map(find).collect()
}

/// How one execution of a solution differs from what it should earn.
async fn trial(sandbox: &Sandbox, lab: &Lab, solution: &Solution) -> anyhow::Result<Vec<String>> {
    let runs = judge::run_all(sandbox, lab, &solution.files, None, &CancellationToken::new()).await?;
    let given = Given { files: &solution.files, before: &solution.before, ..Given::default() };
    let mut weighed = judge::weigh(lab, &runs, given)?;
    if !solution.after.is_empty() {
        let after = solution.after_answers(&weighed.evidence).map_err(anyhow::Error::msg)?;
        weighed = judge::weigh(lab, &runs, Given { after: &after, ..given })?;
    }
    Ok(solution.expected.differences(&weighed.grade))
}
