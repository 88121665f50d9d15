mod attempts;
mod bad_input;
mod evidence;
mod hidden;
mod hostile_queries;
mod labs;
mod queries;
mod service;
