import { makeClient } from '../../core/contract/index.ts'
import { agentContract } from '../../core/hosts/index.ts'
import { randomText } from '../../core/kit/index.ts'
import { settlingFetch, traceparent } from '../../node/index.ts'
import type { AgentDeps } from './agent-deps.ts'
import type { AgentClient, Connection } from './connection.types.ts'
import { type AgentIdentity, type AgentSigner, agentSigner, clockOffset } from './identity.ts'
import { adoptPendingKey } from './keys.ts'

type Deps = Pick<AgentDeps, 'clock' | 'random' | 'identity' | 'fetch' | 'keys'>

/** With `keys`, a call refused with 401 finishes an interrupted rotation and is sent again by the new key. */
export function openConnection({ clock, random, identity, fetch = settlingFetch, keys }: Deps): Connection {
  const instanceId = randomText(random, 20)
  const gauge = clockOffset(clock)
  const plain = readServerTime(gauge.setServerTime, bounded(fetch))
  const signerOf = (who: AgentIdentity) => agentSigner({ clock, gauge }, who, instanceId)
  const clientOf = (signing: Signing) => makeClient(agentContract, { baseUrl: identity.daemonUrl, fetch: signed(signing, plain) })
  let [now, signer] = [identity, signerOf(identity)]
  let replacing: Promise<unknown> = Promise.resolve()
  const use = (next: AgentIdentity) => {
    now = next
    signer = signerOf(next)
  }
  let finishing: Promise<unknown> | undefined
  const finishRotation = async () => {
    if (!keys) return
    finishing ??= adoptPendingKey(connection, keys).finally(() => {
      finishing = undefined
    })
    await finishing.catch(() => undefined) // the answer to the call says what is wrong
  }
  const connection: Connection = {
    client: clientOf({ signer: () => signer, settled: () => replacing, refused: finishRotation }),
    identity: () => now,
    replaceKey: (work) => {
      const done = work(use)
      replacing = done.catch(() => undefined)
      return done
    },
    as: (who) => {
      const other = signerOf(who)
      return clientOf({ signer: () => other, settled: async () => undefined, refused: async () => undefined })
    },
    setServerTime: gauge.setServerTime,
    clockOffsetMs: gauge.offsetMs,
  }
  return connection
}

/** Only the client, for a few calls. */
export const connect = (deps: Deps): AgentClient => openConnection(deps).client

type Fetch = typeof globalThis.fetch

/** Longer than any long poll; bounds calls on a dead connection. Real time, not the injected clock. */
const maxCallMs = 75_000

const bounded =
  (fetch: Fetch): Fetch =>
  (input, init) => {
    const limit = AbortSignal.timeout(maxCallMs)
    return fetch(input, { ...init, signal: init?.signal ? AbortSignal.any([init.signal, limit]) : limit })
  }

/** The current signer, a promise that resolves after a key rotation, and what to do about a 401. */
type Signing = Readonly<{ signer(): AgentSigner; settled(): Promise<unknown>; refused(): Promise<void> }>

/** Calls wait for the end of a key rotation. One sent before it may arrive late; it is retried with the new key. */
const signed =
  ({ signer, settled, refused }: Signing, fetch: Fetch): Fetch =>
  async (input, init) => {
    const send = async (by: AgentSigner) =>
      fetch(input, { ...init, headers: { ...(init?.headers as Record<string, string>), ...traced(), authorization: await by.header() } })
    await settled()
    const used = signer()
    const answer = await send(used)
    if (answer.status !== 401) return answer
    await settled()
    if (signer().keyId === used.keyId) await refused()
    if (signer().keyId === used.keyId) return answer
    await answer.body?.cancel()
    return send(signer())
  }

const traced = (): Record<string, string> => {
  const present = traceparent()
  return present === undefined ? {} : { traceparent: present }
}

/** A CLOCK_SKEW error contains the server time, which the next call uses for its signature. */
const readServerTime =
  (onServerTime: (serverTime: string) => void, fetch: Fetch): Fetch =>
  async (input, init) => {
    const answer = await fetch(input, init)
    if (answer.status !== 401) return answer
    const body = (await answer
      .clone()
      .json()
      .catch(() => undefined)) as { code?: string; details?: { path: string; reason: string }[] } | undefined
    const serverTime = body?.code === 'CLOCK_SKEW' ? body.details?.find(({ path }) => path === 'serverTime')?.reason : undefined
    if (serverTime) onServerTime(serverTime)
    return answer
  }
