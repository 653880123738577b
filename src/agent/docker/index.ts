// The real container engine, through the Docker API and the compose plugin; the only place that uses Docker.
// Implements the port and maps failures to problem codes.
// Never decides what should run and reads nothing from the agent's environment.
export { dockerEngine } from './docker-engine.ts'
