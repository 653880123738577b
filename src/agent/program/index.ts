// The agent as a program, and how its rooms are joined into what it can do.
// It decides nothing about a box; it reads settings, guards the key, and is the only place that knows all rooms of the agent.
export { boxExecutors } from './executors.ts'
