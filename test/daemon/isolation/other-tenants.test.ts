import fc from 'fast-check'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { api } from '../../../src/core/api.ts'
import type { EndpointShape } from '../../../src/core/contract/index.ts'
import { type Db, openDatabase } from '../../../src/daemon/db/index.ts'
import { ask, type Request } from '../../support/ask.ts'
import { createPostgresDatabase, testedDialects } from '../../support/databases.ts'
import { fitting, like, schemaOf } from '../../support/fitting.ts'
import { aFurnishedTenant, dumpOf, type FurnishedTenant, pointersInto } from '../../support/furnished-tenant.ts'
import { emptyTables, fillTables } from '../../support/generated-rows.ts'
import { hurriedClock } from '../../support/hurried-clock.ts'
import { aKey, aRunningDaemon, loggedIn, type RunningDaemon } from '../../support/running-daemon.ts'

// Two tenants in one database, with rows in every table that belongs to tenants. What one of them is answered is the same without the other,
// holds no marker of the other, and changes nothing of it: with ids of its own, and with ids of the other in path, query and body. Built from the
// contract and from `table-rules.ts`, so a new endpoint or table needs no line here.

type Endpoint = readonly [name: string, shape: EndpointShape]
type Call = Request & Readonly<{ as: string | undefined }>
type Filled = FurnishedTenant & Readonly<{ empty: readonly string[] }>
type Answer = Awaited<ReturnType<typeof ask>>

const isWhole = process.env.TENANTRY_TESTS === 'all'
const seed = 20261121
const samples = <Value>(of: fc.Arbitrary<Value>, count: number): Value[] => fc.sample(of, { seed, numRuns: count })

const endpoints: readonly Endpoint[] = Object.values(api).flatMap((contract) => Object.entries(contract as Record<string, EndpointShape>))
const isStream = ({ returns }: EndpointShape) => 'event' in returns
const ofKind = (kind: EndpointShape['auth']['kind']) => endpoints.filter(([, shape]) => shape.auth.kind === kind && !isStream(shape))
const [ofUsers, ofStrangers, ofTools] = [ofKind('platform'), ofKind('none'), ofKind('automation')]
const ofOperators = ofKind('admin').filter(([, { path }]) => path.includes(':slug'))

/** `spaces/:spaceId`: the resource that a path part names. */
const placesIn = (path: string) => [...path.matchAll(/([\w-]+)\/(:\w+)/g)].map(([place]) => place)

/** An upload is refused without the header: it names no resource, and a daemon that runs from its sources has no thread to scan in. */
const developerOf = ({ developerId }: FurnishedTenant, { multipart }: Partial<EndpointShape> = {}) =>
  multipart ? {} : { headers: { 'x-developer-id': developerId } }

/** Modules of the store are public to all tenants, whoever their developer is; ratings are public without their users. */
const isPublic = ({ method, path }: EndpointShape) => method === 'GET' && path.endsWith('/store/modules/:moduleId')

/** Catalogues of all tenants: a module or an item of another tenant's developer may appear in them. */
const isCatalogue = ({ path }: EndpointShape) => /\/(store|modules\/registry|marketplace\/items)\b/.test(path)

/** Reviewers belong to the operator tenant, which this daemon does not have: an own submission is refused too. */
const isOfReviewers = ({ auth }: EndpointShape) => auth.kind === 'platform' && auth.capability === 'reviewStore'

async function inPairs<Given, Result>(all: readonly Given[], run: (one: Given) => Promise<Result>): Promise<Result[]> {
  const results: Result[] = []
  for (let at = 0; at < all.length; at += 2) results.push(...(await Promise.all(all.slice(at, at + 2).map(run))))
  return results
}

const isRefused = (status: number) => [400, 403, 404].includes(status)
/** A generated secret cannot be opened. */
const isError = ({ status, content }: Answer) => status === 500 && !content.includes('SEALED_UNREADABLE')
const isNoError = (_: Endpoint, answer: Answer) => !isError(answer)

describe.each(testedDialects())('on %s', { timeout: 300_000 }, (dialect) => {
  let daemon: RunningDaemon
  let db: Db
  let operator: string
  let [mine, theirs] = [] as unknown as [Filled, Filled]
  let close: () => Promise<void>
  let alone: ReadonlyMap<string, string>

  beforeAll(async () => {
    const own: Record<string, string> =
      dialect === 'postgres' ? { TENANTRY_DATABASE: await createPostgresDatabase(), TENANTRY_SECRET_KEY: aKey() } : {}
    daemon = await aRunningDaemon({ env: own, clock: hurriedClock })
    operator = await loggedIn(daemon, 'admin')
    ;({ db, close } = openDatabase(daemon.config.databaseUrl))
    mine = { ...(await aFurnishedTenant(daemon, 'ahorn', 'amarelle')), empty: [] }
    alone = await settledAnswers()
    theirs = await filled(await aFurnishedTenant(daemon, 'zeder', 'zwetschge'), 'zwetschge')
  })
  afterAll(async () => {
    await close()
    await daemon.close()
  })

  test('an answer to a tenant is the same whether another tenant exists or not', async () => {
    const beside = await answers()
    const wrong = [...alone].filter(([call, text]) => beside.get(call) !== text)
    expect(wrong.map(([call, text]) => `${call} answered ${text} alone, and ${beside.get(call)} beside another tenant`)).toEqual([])
  })

  test('both tenants have a row in every table of tenants', async () => {
    mine = await filled(mine, 'amarelle')
    expect([mine, theirs].map(({ empty }) => empty)).toEqual([[], []])
  })

  test('with ids of its own: no answer has a marker of another tenant', async () => {
    const wrong: string[] = []
    for (const [endpoint, calls] of ownReads()) {
      // A generated row of its own may be one that no answer can show.
      wrong.push(...(await inPairs(calls, (call) => leaksOf(endpoint, call, () => true))).flat())
    }
    expect(wrong).toEqual([])
  })

  test('a resource in the path is found by users of its tenant only', async () => {
    const wrong = await eachWithoutChange(
      ofUsers.filter(([, { path }]) => path.includes(':')),
      ([, shape]) =>
        pathsOf(shape, [theirs]).flatMap((path) =>
          [mine.head, mine.member].map((as) => ({ path, as, ...(shape.method === 'GET' ? {} : { body: {} }), ...developerOf(mine) })),
        ),
      ([, shape], { status }) => (isPublic(shape) ? status === 200 : isRefused(status)),
    )
    expect(wrong).toEqual([])
  })

  test('the owner gets a response on the same paths: otherwise the refusals would prove nothing', async () => {
    const refused: string[] = []
    for (const [name, shape] of ofUsers) {
      if (shape.method !== 'GET' || !shape.path.includes(':') || isOfReviewers(shape)) continue
      const path = String(pathsOf(shape, [theirs])[0])
      const { status } = await ask(daemon.url, shape, { path, ...developerOf(theirs) }, theirs.head)
      if (status !== 200) refused.push(`${name} ${path}: ${status}`)
    }
    expect(refused).toEqual([])
  })

  test('with ids of another tenant in path, query and body: nothing of it is returned or changed', async () => {
    const wrong = await eachWithoutChange(
      ofUsers,
      ([, shape]) =>
        samples(requests(shape, mixedPaths(shape)), isWhole ? 12 : 6).map(({ asHead, ...request }) => ({
          ...request,
          as: asHead ? mine.head : mine.member,
          ...developerOf(mine, shape),
        })),
      // Such a path always contains an id of the other tenant.
      ([, shape], answer) => !isError(answer) && (!shape.path.includes(':') || isPublic(shape) || isRefused(answer.status)),
    )
    expect(wrong).toEqual([])
    expect(await pointersInto(db, mine, theirs)).toEqual([])
  })

  test('an unauthenticated caller learns nothing of a tenant', async () => {
    const wrong = await eachWithoutChange(
      ofStrangers,
      ([, shape]) =>
        samples(requests(shape, mixedPaths(shape)), isWhole ? 8 : 4).map(({ asHead, ...request }) => ({
          ...request,
          as: asHead ? mine.head : undefined,
        })),
      isNoError,
    )
    expect(wrong).toEqual([])
  })

  test('the key of one tenant returns and changes nothing of another', async () => {
    const wrong = await eachWithoutChange(
      ofTools,
      ([, shape]) =>
        samples(fc.tuple(requests(shape, mixedPaths(shape)), fc.constantFrom(mine.tenantId, theirs.tenantId)), isWhole ? 12 : 6).map(
          ([{ asHead: _, ...request }, tenantId]) => ({ ...request, ...toolOf(mine, shape, { tenantId, with: request }), as: undefined }),
        ),
      // The id of an event is the tool's own; every other id in a path is the other tenant's.
      ([, shape], answer, call) =>
        !isError(answer) && (!(tenantNamedBy(call) === theirs.tenantId || /:(?!eventId)/.test(shape.path)) || isRefused(answer.status)),
    )
    expect(wrong).toEqual([])
    expect(await pointersInto(db, mine, theirs)).toEqual([])
    for (const [name, shape] of ofTools.filter(([, { method, path }]) => method === 'GET' && !path.endsWith('/credentials'))) {
      const call = { path: String(pathsOf(shape, [theirs])[0]), ...toolOf(theirs, shape, { tenantId: theirs.tenantId }) }
      expect((await ask(daemon.url, shape, call)).status, name).toBe(200)
    }
  })

  test('an operator who names one tenant reads and changes nothing of another, with its ids either', async () => {
    const deeper = ofOperators.filter(([, { path }]) => /:slug\/.*:/.test(path))
    const wrong = await eachWithoutChange(
      deeper,
      ([, shape]) =>
        pathsOf(shape, [theirs]).map((path) => ({ path: path.replace(`/${theirs.slug}/`, `/${mine.slug}/`), body: {}, as: operator })),
      (_, { status }) => isRefused(status) || status === 409,
    )
    expect(wrong).toEqual([])
  })

  test('with ids of its own: no change reaches another tenant', async () => {
    const changing = [...ofUsers, ...ofTools].filter(([, { method }]) => method !== 'GET')
    const lastDeletes = changing.toSorted(([, a], [, b]) => Number(a.method === 'DELETE') - Number(b.method === 'DELETE'))
    const wrong = await eachWithoutChange(
      lastDeletes,
      ([, shape]) =>
        samples(ownRequests(shape), isWhole ? 8 : 4).map((request) => ({
          ...request,
          ...(shape.auth.kind === 'automation'
            ? { ...toolOf(mine, shape, { tenantId: mine.tenantId, with: request }), as: undefined }
            : { ...developerOf(mine, shape), as: mine.head }),
        })),
      isNoError,
    )
    expect(wrong).toEqual([])
    expect(await pointersInto(db, mine, theirs)).toEqual([])
  })

  /** Adds generated rows in the tables that have none of the tenant, and their ids as parts of a path. */
  async function filled(tenant: FurnishedTenant, word: string): Promise<Filled> {
    const rows = await fillTables(db, { ...tenant, word })
    const generated = [...rows].flatMap(([table, { id }]) => (typeof id === 'string' ? [[table.replaceAll('_', '-'), [id]] as const] : []))
    // Read now: jobs may delete a row later.
    return { ...tenant, empty: await emptyTables(db, tenant.tenantId), keys: { ...Object.fromEntries(generated), ...tenant.keys } }
  }

  /** Sends the calls of each endpoint at once. Returns what is wrong: an answer that is not `right`, has a marker, or changed the other tenant. */
  async function eachWithoutChange(
    some: readonly Endpoint[],
    callsOf: (endpoint: Endpoint) => readonly Call[],
    right: (endpoint: Endpoint, answer: Answer, call: Call) => boolean,
  ): Promise<readonly string[]> {
    const wrong: string[] = []
    let before = await dumpOf(db, theirs)
    for (const endpoint of some) {
      wrong.push(...(await inPairs(callsOf(endpoint), (call) => leaksOf(endpoint, call, right))).flat())
      if (endpoint[1].method === 'GET') continue
      const after = await dumpOf(db, theirs)
      const changed = [...before.filter((line) => !after.includes(line)), ...after.filter((line) => !before.includes(line))]
      wrong.push(...changed.map((line) => `${endpoint[0]} changed ${line}`))
      before = after
    }
    const changed = (await dumpOf(db, theirs)).filter((line) => !before.includes(line))
    return [...wrong, ...changed.map((line) => `a GET changed ${line}`)]
  }

  async function leaksOf(
    endpoint: Endpoint,
    call: Call,
    right: (endpoint: Endpoint, answer: Answer, call: Call) => boolean,
  ): Promise<readonly string[]> {
    const [name, shape] = endpoint
    const answer = await send(shape, call)
    const marks = isPublic(shape) ? [] : theirs.marks.filter((mark) => answer.text.includes(mark))
    if (marks.length === 0 && right(endpoint, answer, call)) return []
    const { as: _, headers: __, ...request } = call
    const excerpt = marks[0] ? answer.text.slice(Math.max(0, answer.text.indexOf(marks[0]) - 200)) : answer.content
    return [`${name} ${JSON.stringify(request)} as ${callerOf(call)} answered ${answer.status} ${excerpt.slice(0, 400)}`]
  }

  /** A caller may have two open calls of a kind; the end of one may reach the daemon after the start of the next. */
  async function send(shape: EndpointShape, { as, ...request }: Call): Promise<Answer> {
    for (;;) {
      const answer = await ask(daemon.url, shape, request, as)
      if (answer.status !== 429 || !answer.content.includes('open calls')) return answer
    }
  }

  const callerOf = ({ as }: Call) =>
    ['head', 'member'].find((name) => mine[name as 'head'] === as) ?? (as === operator ? 'operator' : 'nobody or a tool')

  /** Reads of users, tools and operators with ids of the own tenant alone. */
  function ownReads(): readonly (readonly [Endpoint, readonly Call[]])[] {
    const reads = [...ofUsers, ...ofTools, ...ofOperators].filter(([, { method }]) => method === 'GET')
    const callers = ({ auth }: EndpointShape) =>
      auth.kind === 'platform' ? [mine.head, mine.member] : auth.kind === 'admin' ? [operator] : [undefined]
    return reads.map((endpoint) => {
      const [, shape] = endpoint
      const calls = pathsOf(shape, [mine], { orNone: true }).flatMap((path) =>
        callers(shape).map((as) => ({ path, as, ...developerOf(mine) })),
      )
      const asTool = shape.auth.kind === 'automation' ? toolOf(mine, shape, { tenantId: mine.tenantId }) : {}
      return [endpoint, calls.map((call) => ({ ...call, ...asTool }))]
    })
  }

  /** What a tenant reads of itself, by call. */
  async function answers(): Promise<ReadonlyMap<string, string>> {
    const found = new Map<string, string>()
    for (const [[name, shape], calls] of ownReads().filter(([[, shape]]) => !isCatalogue(shape))) {
      await inPairs(calls, async (call) => {
        const { status, content } = await send(shape, call)
        found.set(`${name} ${call.path} as ${callerOf(call)}`, `${status} ${content}`)
      })
    }
    return found
  }

  /** Reads until two readings agree: work in the background is done then. */
  async function settledAnswers(): Promise<ReadonlyMap<string, string>> {
    let before = await answers()
    for (let reading = 0; reading < 5; reading++) {
      const after = await answers()
      if ([...after].every(([call, text]) => before.get(call) === text)) return after
      before = after
    }
    throw new Error('answers to a tenant change without a request')
  }

  /** The path with every id of these tenants for its parts; throws if the test does not know a new part. */
  function pathsOf({ path }: EndpointShape, owners: readonly FurnishedTenant[], { orNone = false } = {}): string[] {
    const idsOf = ({ keys, slug }: FurnishedTenant, place: string): readonly string[] | undefined =>
      place.endsWith('/:slug') ? [slug] : (keys[place] ?? keys[place.split('/')[0] as string])
    const unknown = placesIn(path).filter((place) => !owners.every((owner) => idsOf(owner, place)))
    if (unknown.length > 0 && !orNone)
      throw new Error(`${path}: a furnished tenant has nothing for ${unknown.join(', ')} (test/support/furnished-tenant.ts)`)
    const filledIn = (at: string, place: string) =>
      owners.flatMap((owner) => idsOf(owner, place) ?? []).map((key) => at.replace(place, `${place.split('/')[0]}/${key}`))
    return placesIn(path).reduce((paths, place) => paths.flatMap((at) => filledIn(at, place)), [path])
  }

  /** With ids of both tenants where possible, but never of the own tenant alone. */
  function mixedPaths(shape: EndpointShape): string[] {
    const own = shape.path.includes(':') ? pathsOf(shape, [mine]) : []
    return pathsOf(shape, [mine, theirs]).filter((path) => !own.includes(path))
  }

  const idsOf = ({ keys }: FurnishedTenant) => Object.values(keys).flat()

  /** Query and body per the contract, with ids of both tenants in every text field. */
  function requests(shape: EndpointShape, paths: readonly string[]) {
    const text = fc.constantFrom(...idsOf(theirs), theirs.tenantId, theirs.slug, ...idsOf(mine), 'me', 'text')
    const leaves = { text, anything: text }
    const query = schemaOf(shape.query)
    const body = schemaOf(shape.body ?? shape.multipart?.fields)
    return fc.record({
      path: fc.constantFrom(...paths),
      query: query ? like(leaves, query) : fc.constant({}),
      body: body ? like(leaves, body) : fc.constant(undefined),
      asHead: fc.boolean(),
    })
  }

  /** As the contract wants them, with ids of the own tenant. */
  function ownRequests(shape: EndpointShape) {
    const text = fc.constantFrom(...idsOf(mine), 'text', 'another text')
    const leaves = { text, anything: text }
    const query = schemaOf(shape.query)
    const body = schemaOf(shape.body ?? shape.multipart?.fields)
    return fc.record({
      path: fc.constantFrom(...pathsOf(shape, [mine])),
      query: query ? fitting(leaves, query) : fc.constant({}),
      body: body ? fitting(leaves, body) : fc.constant(undefined),
    })
  }

  /** A call with the key of a tenant that names one in its query or body. */
  function toolOf(
    { automationKey }: FurnishedTenant,
    { method }: EndpointShape,
    { tenantId, with: request }: Readonly<{ tenantId: string; with?: Readonly<{ query?: unknown; body?: unknown }> }>,
  ) {
    const part = method === 'GET' ? 'query' : 'body'
    return { headers: { 'x-automation-key': automationKey }, [part]: { ...(request?.[part] as object), tenantId } }
  }

  const tenantNamedBy = ({ query, body }: Call) =>
    (body as { tenantId?: string } | undefined)?.tenantId ?? (query as { tenantId?: string } | undefined)?.tenantId
})
