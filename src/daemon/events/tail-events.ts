import type { StreamMessage } from '../../core/contract/index.ts'
import { type Audience, type EventRecord, idsOf, progressOf } from '../../core/events/index.ts'
import { type Clock, problem } from '../../core/kit/index.ts'
import { type Db, eventsAfter, type StoredEvent, toEvent } from '../db/index.ts'
import { streamOf } from './record-event.ts'

/** Finds the id of a tenant by slug; composed by the app. */
export type TenantIdOf = (db: Db, slug: string) => Promise<string | undefined>

type Deps = Readonly<{ db: Db; clock: Clock; tenantIdOf: TenantIdOf }>

type TailInput = Readonly<{
  tenant?: string | undefined
  type?: string | undefined
  last: number
  since?: string | undefined
  /** False: the stream ends after the earlier events. */
  follow: boolean
  signal: AbortSignal
}>

const pollMs = 1000
const pageOf = 500

/** Streams stored events of all streams or of one tenant, beginning with earlier ones on request. Throws NOT_FOUND for an unknown tenant. */
export async function tailEvents(deps: Deps, input: TailInput): Promise<AsyncIterable<StreamMessage<EventRecord>>> {
  const stream = input.tenant === undefined ? undefined : await streamOfSlug(deps, input.tenant)
  return messages(deps, input, stream)
}

async function streamOfSlug({ db, tenantIdOf }: Deps, slug: string): Promise<string> {
  const tenantId = await tenantIdOf(db, slug)
  if (tenantId === undefined) throw problem('NOT_FOUND', `tenant ${slug} does not exist. fix: \`tenantry tenants list\``)
  return streamOf(tenantId)
}

async function* messages(
  { db, clock }: Omit<Deps, 'tenantIdOf'>,
  input: TailInput,
  stream: string | undefined,
): AsyncGenerator<StreamMessage<EventRecord>> {
  const { signal } = input
  const describe = describer(db)
  const fits = typeFilter(input.type)
  // Positions are read first: events up to them come from the history, later ones from polling.
  const positions = await headsOf(db, stream)
  for await (const event of eventsBefore(db, positions, { ...input, stream }))
    if (fits(event) && !signal.aborted) yield await describe(event)
  while (input.follow && !signal.aborted) {
    await clock.sleep(pollMs, signal)
    for (const [name, head] of await headsOf(db, stream)) {
      for (let after = positions.get(name) ?? 0; after < head && !signal.aborted; positions.set(name, after)) {
        const page = await eventsAfter(db, { stream: name, after })
        for (const event of page) if (fits(event)) yield await describe(event)
        after = page.at(-1)?.seq ?? head
      }
    }
  }
}

/** Number of the newest event per event stream. */
async function headsOf(db: Db, stream: string | undefined): Promise<Map<string, number>> {
  const all = db.selectFrom('streams').selectAll()
  const rows = await (stream === undefined
    ? all.where(({ eb, or }) => or([eb('stream', '=', 'admin'), eb('stream', 'like', 'tenant:%'), eb('stream', 'like', 'rollout:%')]))
    : all.where('stream', '=', stream)
  ).execute()
  return new Map(rows.map((row) => [row.stream, Number(row.seq)]))
}

/** The newest, or all since then, page by page: a client that lost its connection in a burst is to miss nothing. */
async function* eventsBefore(
  db: Db,
  positions: ReadonlyMap<string, number>,
  { last, since, type, signal, stream }: TailInput & Pick<Filter, 'stream'>,
): AsyncGenerator<StoredEvent> {
  const isTold = ({ stream: name, seq }: StoredEvent) => seq <= (positions.get(name) ?? 0)
  if (since === undefined) return yield* (await newestOf(db, last, { stream, type })).filter(isTold)
  for (let from: Place | undefined = { createdAt: since, stream: '', seq: 0 }; from && !signal.aborted; ) {
    const page: StoredEvent[] = await pageFrom(db, from, { stream, type })
    yield* page.filter(isTold)
    const end: StoredEvent | undefined = page[pageOf - 1]
    from = end && { createdAt: end.createdAt, stream: end.stream, seq: end.seq }
  }
}
type Filter = Readonly<{ stream: string | undefined; type: string | undefined }>
/** Behind which event a page begins. */
type Place = Readonly<{ createdAt: string; stream: string; seq: number }>

const filtered = (db: Db, { stream, type }: Filter) => {
  let query = db.selectFrom('events').selectAll()
  if (stream !== undefined) query = query.where('stream', '=', stream)
  if (type !== undefined) query = query.where('event_type', 'like', type.replace('*', '%'))
  return query
}

async function newestOf(db: Db, limit: number, filter: Filter): Promise<StoredEvent[]> {
  if (limit === 0) return []
  const rows = await filtered(db, filter).orderBy('created_at', 'desc').orderBy('seq', 'desc').limit(limit).execute()
  return rows.map(toEvent).reverse()
}

async function pageFrom(db: Db, { createdAt, stream, seq }: Place, filter: Filter): Promise<StoredEvent[]> {
  const behind = filtered(db, filter)
    .where('created_at', '>=', createdAt)
    .where(({ eb, or, and }) =>
      or([eb('created_at', '>', createdAt), eb('stream', '>', stream), and([eb('stream', '=', stream), eb('seq', '>', seq)])]),
    )
  const rows = await behind.orderBy('created_at').orderBy('stream').orderBy('seq').limit(pageOf).execute()
  return rows.map(toEvent)
}

const typeFilter =
  (type: string | undefined) =>
  ({ eventType }: StoredEvent): boolean =>
    type === undefined || (type.endsWith('*') ? eventType.startsWith(type.slice(0, -1)) : eventType === type)

/** Converts events to records for operators; slugs are cached. */
function describer(db: Db): (event: StoredEvent) => Promise<StreamMessage<EventRecord>> {
  const slugs = new Map<string, string | null>()
  const slugOf = async (tenantId: string | null): Promise<string | null> => {
    if (tenantId === null) return null
    if (!slugs.has(tenantId)) {
      const row = await db.selectFrom('tenants').select('slug').where('id', '=', tenantId).executeTakeFirst()
      slugs.set(tenantId, row?.slug ?? null)
    }
    return slugs.get(tenantId) ?? null
  }
  return async ({ stream, seq, source, eventType, payload, createdAt, tenantId, audience }) => {
    const tenant = await slugOf(tenantId)
    const ids = idsOf(eventType, payload)
    return {
      event: eventType,
      data: {
        ...{ stream, seq, tenant, source, type: eventType, at: createdAt, ids },
        ...progressOf(eventType, payload),
        audience: audienceWords(audience),
      },
    }
  }
}

const audienceWords = (audience: Audience | null): string => {
  if (audience === null) return 'none'
  if (audience === 'tenant') return 'tenant'
  const { spaces, users, capability, within, roles } = audience
  return [
    spaces && 'spaces',
    users && 'users',
    capability && `capability:${capability}${within ? ' (of private spaces: members)' : ''}`,
    roles && 'roles',
  ]
    .filter(Boolean)
    .join('+')
}
