import { type Client, makeClient } from '../../core/contract/index.ts'
import { agentContract } from '../../core/hosts/index.ts'
import { randomText } from '../../core/kit/index.ts'
import { settlingFetch } from '../../node/index.ts'
import type { AgentDeps } from './agent-deps.ts'
import { type AgentIdentity, type AgentSigner, agentSigner, clockGauge } from './identity.ts'

export type AgentClient = Client<typeof agentContract>

type Deps = Pick<AgentDeps, 'clock' | 'random' | 'identity' | 'fetch'>

/** One run of the agent at its daemon: a new instance id, under which no other run ever speaks. */
export type Connection = Readonly<{
  client: AgentClient
  identity(): AgentIdentity
  /** While `work` replaces the key, a call that is refused waits for its end and is sent again with the key that `use` was given. */
  replaceKey<Value>(work: (use: (identity: AgentIdentity) => void) => Promise<Value>): Promise<Value>
  /** The client that this run would have with another key. */
  as(identity: AgentIdentity): AgentClient
  /** What the daemon's time was when it said so. */
  heard(serverTime: string): void
  clockOffsetMs(): number | null
}>

export function openConnection({ clock, random, identity, fetch = settlingFetch }: Deps): Connection {
  const instanceId = randomText(random, 20)
  const gauge = clockGauge(clock)
  const plain = toldTheTime(gauge.heard, bounded(fetch))
  const signerOf = (who: AgentIdentity) => agentSigner(clock, gauge, who, instanceId)
  const clientOf = (signing: Signing) => makeClient(agentContract, { baseUrl: identity.daemonUrl, fetch: signed(signing, plain) })
  let [now, signer] = [identity, signerOf(identity)]
  let replacing: Promise<unknown> = Promise.resolve()
  const use = (next: AgentIdentity) => {
    now = next
    signer = signerOf(next)
  }
  return {
    client: clientOf({ signer: () => signer, settled: () => replacing }),
    identity: () => now,
    replaceKey: (work) => {
      const done = work(use)
      replacing = done.catch(() => undefined)
      return done
    },
    as: (who) => {
      const other = signerOf(who)
      return clientOf({ signer: () => other, settled: async () => undefined })
    },
    heard: gauge.heard,
    clockOffsetMs: gauge.offsetMs,
  }
}

/** Only the client, for who asks a few questions and goes. */
export const connect = (deps: Deps): AgentClient => openConnection(deps).client

type Fetch = typeof globalThis.fetch

/** Longer than any long poll. A connection that died without a word would hold a call for ever; sockets live in real time. */
const longestCallMs = 75_000

const bounded =
  (fetch: Fetch): Fetch =>
  (input, init) => {
    const limit = AbortSignal.timeout(longestCallMs)
    return fetch(input, { ...init, signal: init?.signal ? AbortSignal.any([init.signal, limit]) : limit })
  }

/** Whose key signs, and when it is no longer being replaced. */
type Signing = Readonly<{ signer(): AgentSigner; settled(): Promise<unknown> }>

/** While a key is replaced, a call may arrive after the first one that the new key signed: it was refused for its age, not for what it is. */
const signed =
  ({ signer, settled }: Signing, fetch: Fetch): Fetch =>
  async (input, init) => {
    const send = async (by: AgentSigner) =>
      fetch(input, { ...init, headers: { ...(init?.headers as Record<string, string>), authorization: await by.header() } })
    const used = signer()
    const answer = await send(used)
    if (answer.status !== 401) return answer
    await settled()
    if (signer().keyId === used.keyId) return answer
    await answer.body?.cancel()
    return send(signer())
  }

/** A refusal for the clock's sake says what time it is; the next call is signed by it. */
const toldTheTime =
  (heard: (serverTime: string) => void, fetch: Fetch): Fetch =>
  async (input, init) => {
    const answer = await fetch(input, init)
    if (answer.status !== 401) return answer
    const body = (await answer
      .clone()
      .json()
      .catch(() => undefined)) as { code?: string; details?: { path: string; reason: string }[] } | undefined
    const serverTime = body?.code === 'CLOCK_SKEW' ? body.details?.find(({ path }) => path === 'serverTime')?.reason : undefined
    if (serverTime) heard(serverTime)
    return answer
  }
