// The agent's side of the channel: it enrols, dials the daemon, fetches commands, hands them to executors and delivers what became of them.
// It knows nothing of boxes or containers, loses no outcome, and never decides whether a box is updated or restored.
export type { AgentDeps, AgentKeys } from './agent-needs.ts'
export { type CommandShelf, commandShelf } from './command-shelf.ts'
export { connect, openConnection } from './connection.ts'
export { enrolAgent, newAgentKey, requireSafeUrl } from './enrol.ts'
export type { AgentIdentity, AgentPrivateKey } from './identity.ts'
export { type KeyStore, rotateKey } from './rotate-key.ts'
export { runAgent } from './run-agent.ts'
