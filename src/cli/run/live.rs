//! The part of `bayplan run` that needs a cluster: logs, signals, runtime.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use tokio::signal::unix::{SignalKind, signal};
use tokio_util::sync::CancellationToken;
use tracing_subscriber::filter::LevelFilter;

use crate::apis::bayplan_configuration::{LogFormat, Logging};
use crate::cli::{Exit, Failure};
use crate::kubernetes::run::{CompletedConfig, End, RunError, run};
use crate::options::Config;

/// Runs until a signal, a lost leadership or a failure.
pub(super) fn start(config: Config) -> Result<Exit, Failure> {
    start_logging(config.settings.logging);
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .enable_all()
        .build()
        .map_err(|error| failure(Exit::No, &format!("cannot start threads: {error}")))?;
    let interrupted = Arc::new(AtomicBool::new(false));
    let end = runtime.block_on(async {
        let stop = CancellationToken::new();
        let signals = listen(stop.clone(), Arc::clone(&interrupted))
            .map_err(|error| failure(Exit::No, &format!("cannot listen to signals: {error}")))?;
        let completed = CompletedConfig::complete(config)
            .await
            .map_err(|error| explain(&error))?;
        let end = run(completed, stop)
            .await
            .map_err(|error| explain(&error))?;
        signals.abort();
        Ok::<End, Failure>(end)
    })?;
    // Tasks that did not end in time do not hold the process.
    runtime.shutdown_background();
    Ok(match end {
        End::Stopped if interrupted.load(Ordering::Relaxed) => Exit::Interrupted,
        End::Stopped => Exit::Success,
        End::LeadershipLost | End::TaskFailed => Exit::No,
    })
}

/// SIGTERM and Ctrl-C end the process in order; `interrupted` tells the second from the first.
fn listen(
    stop: CancellationToken,
    interrupted: Arc<AtomicBool>,
) -> std::io::Result<tokio::task::JoinHandle<()>> {
    let mut terminate = signal(SignalKind::terminate())?;
    let mut interrupt = signal(SignalKind::interrupt())?;
    Ok(tokio::spawn(async move {
        tokio::select! {
            _ = terminate.recv() => {}
            _ = interrupt.recv() => interrupted.store(true, Ordering::Relaxed),
        }
        stop.cancel();
    }))
}

/// `-v` as klog has it: 0 to 2 for operators, 3 and 4 every attempt, above that everything.
fn start_logging(logging: Logging) {
    let level = match logging.verbosity {
        0..=2 => LevelFilter::INFO,
        3..=5 => LevelFilter::DEBUG,
        _ => LevelFilter::TRACE,
    };
    let subscriber = tracing_subscriber::fmt()
        .with_writer(std::io::stderr)
        .with_max_level(level);
    let started = match logging.format {
        LogFormat::Text => subscriber.with_ansi(false).try_init(),
        LogFormat::Json => subscriber
            .json()
            .flatten_event(true)
            .with_ansi(false)
            .try_init(),
    };
    // A subscriber that is there already, as in tests, goes on.
    drop(started);
}

/// The sentence and its causes in one line. Without a usable cluster the code says so.
fn explain(error: &RunError) -> Failure {
    let mut text = error.to_string();
    let mut source = std::error::Error::source(error);
    while let Some(cause) = source {
        // Parsers draw the place over several lines; the first one says it.
        let cause_text = cause.to_string();
        let cause_text = cause_text.lines().next().unwrap_or_default();
        // kube's errors print their causes themselves.
        if !text.contains(cause_text) {
            text = format!("{text}: {cause_text}");
        }
        source = cause.source();
    }
    let exit = match error {
        RunError::Client(_) | RunError::Serving(_) | RunError::Election(_) => Exit::Usage,
    };
    failure(exit, &text)
}

fn failure(exit: Exit, message: &str) -> Failure {
    Failure {
        exit,
        messages: vec![message.to_owned()],
    }
}
