mod attempts;
mod bad_input;
mod labs;
mod service;
