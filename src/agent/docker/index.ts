// The real container engine: the only place that speaks to Docker, by its API and by the compose plugin.
// It does what the port says and types what goes wrong by its cause; it never decides what should run,
// and takes nothing from the environment of the agent.
export { dockerEngine } from './docker-engine.ts'
