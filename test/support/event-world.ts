import type { Audience, PayloadOf, TenantEventType } from '../../src/core/events/index.ts'
import { type Capability, type Clock, type PlatformPrincipal, problem, type TenantId, type UserId } from '../../src/core/kit/index.ts'
import type { Revocations, Revoked } from '../../src/daemon/auth/index.ts'
import type { Db, Tx } from '../../src/daemon/db/index.ts'
import { makeEventBus, makeEventStreams, recordEvent } from '../../src/daemon/events/index.ts'
import type { Channel, PushStream } from '../../src/daemon/http/index.ts'
import { silentLogger, systemRandom } from '../../src/node/index.ts'

// Replicas that publish events, and clients that record them.

export type Told = Readonly<{ id: number; event: string; data: Record<string, unknown> | undefined }>

const farMs = Date.parse('2100-01-01T00:00:00.000Z')

type Known = Readonly<{
  tenantId?: string
  userId?: string
  sessionId?: string
  capabilities?: readonly Capability[]
  expiresAtMs?: number
}>

const aPrincipal = ({ tenantId = 't1', userId = 'u1', sessionId = 's1', capabilities = [] }: Known = {}): PlatformPrincipal => ({
  kind: 'user',
  userId: userId as UserId,
  matrixUserId: `@${userId}:chat.example`,
  tenantId: tenantId as TenantId,
  tenantSlug: tenantId,
  sessionId,
  roles: [],
  capabilities,
})

/** A token for the guard of these tests: its principal and expiry. */
export const aToken = ({ expiresAtMs = farMs, ...known }: Known = {}): string =>
  `Bearer e30.${Buffer.from(JSON.stringify({ ...known, exp: expiresAtMs / 1000 })).toString('base64url')}.x`

export const principalOf = (token: string): PlatformPrincipal =>
  aPrincipal(JSON.parse(Buffer.from(token.split('.')[1] as string, 'base64url').toString()))

/** A client without a socket. `pause` stops its reads until `take`. */
export class HearingClient implements Pick<Channel, 'closed' | 'write' | 'drained' | 'end' | 'cut'> {
  closed = false
  text = ''
  #taken: Promise<void> = Promise.resolve()
  take: () => void = () => undefined
  readonly #stream: PushStream

  constructor(stream: PushStream) {
    this.#stream = stream
    stream.opened(this as unknown as Channel)
  }

  write(bytes: Uint8Array | string): void {
    if (!this.closed) this.text += typeof bytes === 'string' ? bytes : Buffer.from(bytes).toString()
  }

  pause(): void {
    this.#taken = new Promise((resolve) => {
      this.take = resolve
    })
  }

  drained(): Promise<void> {
    return this.#taken
  }

  keepAlive(): void {
    this.write(this.#stream.keepAlive())
  }

  end(): void {
    if (this.closed) return
    this.closed = true
    this.#stream.closed()
  }

  cut(): void {
    this.end()
  }

  get blocks(): string[] {
    return this.text.split('\n\n').filter(Boolean)
  }

  /** Received events, without positions and keep-alives. */
  get told(): Told[] {
    return this.blocks.filter((block) => /^data:/m.test(block) && !/^event: position$/m.test(block)).map(parseBlock)
  }

  get seqs(): number[] {
    return this.told.map(({ id }) => id)
  }

  /** Its current Last-Event-ID. */
  get lastEventId(): string | undefined {
    return [...this.text.matchAll(/^id: (.*)$/gm)].at(-1)?.[1]
  }
}

function parseBlock(block: string): Told {
  const field = (name: string) => new RegExp(`^${name}: (.*)$`, 'm').exec(block)?.[1]
  const data = field('data')
  return { id: Number(field('id')), event: field('event') ?? '', data: data === undefined ? undefined : JSON.parse(data) }
}

/** Members per space. */
export type Members = Map<string, Set<string>>

export type Revoking = Omit<Revocations, 'readNow'> & {
  readNow: Revocations['readNow']
  tell(revoked: Revoked | 'everything'): void
  isFresh: boolean
  readAgain: number
}

function revocationsByHand(): Revoking {
  const listeners: ((revoked: Revoked | 'everything') => void)[] = []
  let position = 0
  const revoking: Revoking = {
    isFresh: true,
    readAgain: 0,
    position: () => position,
    fresh: () => revoking.isFresh,
    readNow: async () => {
      revoking.readAgain += 1
      revoking.isFresh = true
    },
    onRevoked: (listener) => {
      listeners.push(listener)
      return () => undefined
    },
    tell: (revoked) => {
      position += 1
      for (const listener of listeners) listener(revoked)
    },
  }
  return revoking
}

/** A replica: its bus, its streams, and the sessions that its guard refuses. */
export function aReplica(db: Db, clock: Clock, members: Members = new Map()) {
  const revocations = revocationsByHand()
  const refused = new Set<string>()
  const rights = new Map<string, readonly Capability[]>()
  const membersOf = async (_: Db, spaceIds: readonly string[]) => new Map(spaceIds.map((id) => [id, new Set(members.get(id) ?? [])]))
  const authenticate = async (authorization: string | undefined) => {
    const principal = principalOf(authorization ?? '')
    if (refused.has(principal.sessionId)) throw problem('UNAUTHENTICATED', 'the session has ended')
    return { ...principal, capabilities: rights.get(principal.userId) ?? principal.capabilities }
  }
  const privateOf = async (_: Db, spaceIds: readonly string[]) => new Set(spaceIds.filter((id) => id !== 'open'))
  const bus = makeEventBus({ db, clock, log: silentLogger(), membersOf, privateOf, revocations })
  const deps = { db, clock, log: silentLogger(), membersOf, privateOf, revocations, random: systemRandom }
  const streams = makeEventStreams({ ...deps, bus, authenticate })
  const connect = async (token = aToken(), lastEventId?: string, address = '192.0.2.1') =>
    new HearingClient(await streams.open(principalOf(token), { authorization: token, address, lastEventId }))
  return { db, clock, bus, streams, revocations, refused, rights, connect }
}

export type Replica = ReturnType<typeof aReplica>

type Some = Readonly<{ tenantId?: string; audience?: Audience; type?: TenantEventType; payload?: Record<string, unknown> }>

/** Records one tenant event like a verb of the daemon. */
export const happen = (tx: Tx, clock: Clock, { tenantId = 't1', audience = 'tenant', type = 'space.created', payload = {} }: Some = {}) =>
  recordEvent(tx, clock, { tenantId, type, payload: { spaceId: 's1', ...payload } as unknown as PayloadOf<typeof type>, audience })

export const happened = ({ db, clock }: Pick<Replica, 'db' | 'clock'>, some: Some = {}) =>
  db.transaction().execute((tx) => happen(tx, clock, some))

/** Waits in real time for other connections. */
export async function until(what: string, isSo: () => boolean, ms = 10_000): Promise<void> {
  for (let waited = 0; !isSo(); waited += 5) {
    if (waited > ms) throw new Error(`waited in vain until ${what}`)
    await new Promise((next) => setTimeout(next, 5))
  }
}
