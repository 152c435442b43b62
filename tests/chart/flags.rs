//! The flags of the Deployment are flags that the program accepts, with the values of the chart.

use bayplan::apis::bayplan_configuration::{BayplanConfiguration, LogFormat};
use bayplan::options::Options;
use clap::{Args as _, Command, FromArgMatches as _};

use crate::pods::{container, releases, strings};

/// What the program makes of the arguments of a container.
fn settings(arguments: &[&str]) -> BayplanConfiguration {
    let command = Options::augment_args(Command::new("run"));
    let matches = command.try_get_matches_from(arguments);
    let matches = matches.expect("the arguments must be flags of the program");
    let options = Options::from_arg_matches(&matches).expect("matches must be options");
    let config = options.config(None);
    config.expect("the flags must be valid").settings
}

#[test]
fn program_accepts_the_flags_of_every_release() {
    for (name, objects) in releases() {
        let arguments = strings(&container(&objects)["args"]);
        assert_eq!(arguments.first(), Some(&"run"), "{name}");
        let port = settings(&arguments).serving.secure_port;
        let rendered = container(&objects)["ports"][0]["containerPort"].as_u64();
        assert_eq!(Some(u64::from(port)), rendered, "{name}");
    }
}

#[test]
fn default_release_differs_from_the_defaults_of_the_program_in_its_logs_alone() {
    let (_, objects) = releases().swap_remove(0);
    let mut expected = BayplanConfiguration::default();
    expected.logging.format = LogFormat::Json;
    expected.logging.verbosity = 2;
    assert_eq!(settings(&strings(&container(&objects)["args"])), expected);
}
