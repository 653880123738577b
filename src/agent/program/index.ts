// The agent program: settings, enrolment, key files, local commands, and the composition of all features of the agent.
// It is the only place that knows all features.
// Never decides anything about a box.
export { boxExecutors } from './executors.ts'
