import { acquireLease, type Lease, releaseLease, renewLeases } from '../../db/index.ts'
import type { Loop } from '../../feature/index.ts'
import { leasePrefix, readerStates } from './chat-readers.repo.ts'
import type { TriggersDeps } from './deps.ts'
import { readChatOnce } from './read-chat.ts'

type Deps = Pick<TriggersDeps, 'db' | 'clock' | 'log' | 'owner' | 'homeservers' | 'startRun' | 'unfinishedRun'>

/** Another replica takes over the tenants of a dead one after this. */
const leaseMs = 30_000
const renewMs = 10_000
/** New readers per poll, so that replicas that start together share the tenants. */
const maxNew = 50
const failureMs = 10_000

type Reader = {
  readonly lease: Lease
  revision: number
  /** Aborts the current round: the triggers changed, or the reader ends. */
  round: AbortController
  isEnded: boolean
  done: Promise<void>
}

/** Reads the messages of all tenants with chat triggers: one reader and one connection per tenant, in one replica under a lease. */
export function chatReaders(deps: Deps): Loop {
  const { clock } = deps
  const readers = new Map<string, Reader>()
  let renewedMs = clock.monotonicMs()
  return {
    name: 'follow the chats of triggers',
    everyMs: 1000,
    run: async () => {
      if (clock.monotonicMs() - renewedMs >= renewMs) {
        await renewAll(deps, readers)
        renewedMs = clock.monotonicMs()
      }
      await followTriggers(deps, readers)
    },
    atEnd: async () => {
      for (const reader of readers.values()) end(reader)
      await Promise.all([...readers.values()].map(({ done }) => done))
      for (const { lease } of readers.values()) await releaseLease(deps, lease)
    },
  }
}

async function renewAll(deps: Deps, readers: ReadonlyMap<string, Reader>): Promise<void> {
  const ours = await renewLeases(deps, { owner: deps.owner, prefix: leasePrefix, ttlMs: leaseMs })
  for (const reader of readers.values()) if (!ours.has(reader.lease.name)) end(reader)
}

/** Starts readers of tenants without one, ends those without triggers, and lets the others read changed triggers. */
async function followTriggers(deps: Deps, readers: Map<string, Reader>): Promise<void> {
  const states = new Map((await readerStates(deps)).map((state) => [state.tenant_id, state]))
  for (const [tenantId, reader] of readers) {
    const revision = states.get(tenantId)?.revision
    if (revision === undefined) end(reader)
    else if (Number(revision) !== reader.revision) {
      reader.revision = Number(revision)
      reader.round.abort()
    }
    if (reader.isEnded) await remove(deps, readers, tenantId)
  }
  const now = deps.clock.now().toISOString()
  const free = [...states.values()].filter(({ tenant_id: id, expires_at: until }) => !readers.has(id) && (until === null || until <= now))
  for (const { tenant_id: tenantId, revision } of free.slice(0, maxNew)) {
    const lease = await acquireLease(deps, { name: `${leasePrefix}${tenantId}`, owner: deps.owner, ttlMs: leaseMs })
    if (lease) readers.set(tenantId, begin(deps, { tenantId, lease, revision: Number(revision) }))
  }
}

async function remove(deps: Deps, readers: Map<string, Reader>, tenantId: string): Promise<void> {
  const reader = readers.get(tenantId)
  readers.delete(tenantId)
  await reader?.done
  if (reader) await releaseLease(deps, reader.lease)
}

function begin(deps: Deps, { tenantId, lease, revision }: Readonly<{ tenantId: string; lease: Lease; revision: number }>): Reader {
  const reader: Reader = { lease, revision, round: new AbortController(), isEnded: false, done: Promise.resolve() }
  reader.done = readUntilEnd(deps, tenantId, reader)
  return reader
}

function end(reader: Reader): void {
  reader.isEnded = true
  reader.round.abort()
}

async function readUntilEnd(deps: Deps, tenantId: string, reader: Reader): Promise<void> {
  while (!reader.isEnded) {
    reader.round = new AbortController()
    const { signal } = reader.round
    const waitMs = await readChatOnce(deps, { tenantId, lease: reader.lease, signal }).catch((err) => {
      deps.log.warn({ err, tenantId }, 'reading the messages of a tenant failed; retrying')
      return failureMs
    })
    if (waitMs > 0 && !signal.aborted) await deps.clock.sleep(waitMs, signal)
  }
}
