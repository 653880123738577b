import type { Client } from '../../core/contract/index.ts'
import type { agentContract } from '../../core/hosts/index.ts'
import type { AgentIdentity } from './identity.ts'

/** The connection of one agent run, with an instance id that no other run uses. */
export type Connection = Readonly<{
  client: AgentClient
  identity(): AgentIdentity
  /** While `work` replaces the key, other calls wait: the daemon takes a call with a replaced key for one of a thief. A late one is retried with the new key. */
  replaceKey<Value>(work: (use: (identity: AgentIdentity) => void) => Promise<Value>): Promise<Value>
  /** A client of this run with another key. */
  as(identity: AgentIdentity): AgentClient
  /** Records the daemon's time. */
  setServerTime(serverTime: string): void
  clockOffsetMs(): number | null
}>

export type AgentClient = Client<typeof agentContract>
