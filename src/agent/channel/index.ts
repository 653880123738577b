// The agent's side of the channel: it enrols, dials the daemon, fetches commands, hands them to executors and delivers what became of them.
// It knows nothing of boxes or containers, loses no outcome, and never decides whether a box is updated or restored.
export type { AgentDeps, AgentKeys } from './agent-deps.ts'
export { type CommandShelf, commandShelf } from './command-store.ts'
export { connect, openConnection } from './connection.ts'
export type { AgentIdentity, AgentPrivateKey } from './identity.ts'
export { enrolAgent, type KeyStore, newAgentKey, requireSafeUrl, rotateKey } from './keys.ts'
export { runAgent } from './run-agent.ts'
