// The agent's side of the channel: enrolment, polling for commands, running them, delivery of outcomes and reports.
// It never loses an outcome and knows nothing about boxes or containers.
// Never decides whether a box is updated or restored.
export type { AgentDeps, AgentKeys, ExchangeArchives, KeyStore, ReportsOf } from './agent-deps.ts'
export { type CommandStore, commandStore } from './command-store.ts'
export { connect, openConnection } from './connection.ts'
export type { AgentIdentity, AgentPrivateKey } from './identity.ts'
export { assertSafeUrl, enrolAgent, newAgentKey, rotateKey } from './keys.ts'
export { runAgent } from './run-agent.ts'
