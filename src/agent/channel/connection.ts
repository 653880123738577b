import { type Client, makeClient } from '../../core/contract/index.ts'
import { agentContract } from '../../core/hosts/index.ts'
import { randomText } from '../../core/kit/index.ts'
import type { AgentNeeds } from './agent-needs.ts'
import { agentSigner } from './identity.ts'

export type AgentClient = Client<typeof agentContract>

/** The client of this run of the agent: a new instance id, under which no other run ever speaks. */
export function connect({ clock, random, identity, fetch }: Pick<AgentNeeds, 'clock' | 'random' | 'identity' | 'fetch'>): AgentClient {
  const headers = agentSigner(clock, identity, randomText(random, 20))
  return makeClient(agentContract, { baseUrl: identity.daemonUrl, headers, fetch: bounded(fetch ?? globalThis.fetch) })
}

/** Longer than any long poll. A connection that died without a word would hold a call for ever; sockets live in real time. */
const longestCallMs = 75_000

const bounded =
  (fetch: typeof globalThis.fetch): typeof globalThis.fetch =>
  (input, init) => {
    const limit = AbortSignal.timeout(longestCallMs)
    return fetch(input, { ...init, signal: init?.signal ? AbortSignal.any([init.signal, limit]) : limit })
  }
