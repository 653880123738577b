import fc from 'fast-check'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { api } from '../../../src/core/api.ts'
import type { EndpointShape } from '../../../src/core/contract/index.ts'
import { type Db, openDatabase } from '../../../src/daemon/db/index.ts'
import { ask, type Request } from '../../support/ask.ts'
import { createPostgresDatabase, testedDialects } from '../../support/databases.ts'
import { like, schemaOf } from '../../support/fitting.ts'
import { aFurnishedTenant, dumpOf, type FurnishedTenant, pointersInto } from '../../support/furnished-tenant.ts'
import { hurriedClock } from '../../support/hurried-clock.ts'
import { aKey, aRunningDaemon, type RunningDaemon } from '../../support/running-daemon.ts'

// Users of one tenant call every endpoint with ids of another tenant in path, query and body: no response contains data of the other tenant,
// no data of it changes, and no own object refers to it. The same for an automation tool with the key of one tenant. Built from the contract, so new endpoints are included.

const endpoints = Object.values(api).flatMap((contract) => Object.entries(contract as Record<string, EndpointShape>))
const ofUsers = endpoints.filter(([, { auth }]) => auth.kind === 'platform')
const ofStrangers = endpoints.filter(([, { auth }]) => auth.kind === 'none')
const ofTools = endpoints.filter(([, { auth }]) => auth.kind === 'automation')
const isStream = ({ returns }: EndpointShape) => 'event' in returns

/** `spaces/:spaceId`: the resource that a path part names. */
const placesIn = (path: string) => [...path.matchAll(/([\w-]+)\/(:\w+)/g)].map(([place]) => place)

/** An upload is refused without the header: it names no resource, and a daemon that runs from its sources has no thread to scan in. */
const developerOf = ({ developerId }: FurnishedTenant, { multipart }: Partial<EndpointShape> = {}) =>
  multipart ? {} : { headers: { 'x-developer-id': developerId } }

/** Modules of the store are public to all tenants, whoever their developer is; ratings are public without their users. */
const isPublic = ({ method, path }: EndpointShape) => method === 'GET' && path.endsWith('/store/modules/:moduleId')

/** Reviewers belong to the operator tenant, which this daemon does not have: an own submission is refused too. */
const isOfReviewers = ({ auth }: EndpointShape) => auth.kind === 'platform' && auth.capability === 'reviewStore'

type Asked = Request & Readonly<{ asHead: boolean }>

describe.each(testedDialects())('on %s', (dialect) => {
  let daemon: RunningDaemon
  let db: Db
  let [mine, theirs] = [] as unknown as [FurnishedTenant, FurnishedTenant]
  let close: () => Promise<void>

  beforeAll(async () => {
    const own: Record<string, string> =
      dialect === 'postgres' ? { TENANTRY_DATABASE: await createPostgresDatabase(), TENANTRY_SECRET_KEY: aKey() } : {}
    daemon = await aRunningDaemon({ env: own, clock: hurriedClock })
    mine = await aFurnishedTenant(daemon, 'ahorn', 'amarelle')
    theirs = await aFurnishedTenant(daemon, 'zeder', 'zwetschge')
    const opened = openDatabase(daemon.config.databaseUrl)
    db = opened.db
    close = opened.close
  })
  afterAll(async () => {
    await close()
    await daemon.close()
  })

  test.each(ofUsers.filter(([, { path }]) => path.includes(':')))(
    '%s: a resource in the path is found by users of its tenant only',
    async (_, endpoint) => {
      const before = await dumpOf(db, theirs)
      const paths = pathsOf(endpoint, [theirs])
      for (const path of paths) {
        for (const authorization of [mine.head, mine.member]) {
          const { status } = await ask(daemon.url, endpoint, { path, body: {}, ...developerOf(mine) }, authorization)
          expect(isPublic(endpoint) ? [200] : [400, 403, 404]).toContain(status)
        }
      }
      expect(await dumpOf(db, theirs)).toEqual(before)
      if (endpoint.method !== 'GET' || isStream(endpoint) || isOfReviewers(endpoint)) return
      // The owner gets a response on the same path; otherwise the refusal would prove nothing.
      expect((await ask(daemon.url, endpoint, { path: String(paths[0]), ...developerOf(theirs) }, theirs.head)).status).toBe(200)
    },
  )

  test.each(ofUsers.filter(([, endpoint]) => !isStream(endpoint)))(
    '%s: no input returns or changes data of another tenant',
    async (_, endpoint) => {
      const before = await dumpOf(db, theirs)
      await fc.assert(
        fc.asyncProperty(requests(endpoint), async ({ asHead, ...request }) => {
          const { status, text } = await ask(
            daemon.url,
            endpoint,
            { ...request, ...developerOf(mine, endpoint) },
            asHead ? mine.head : mine.member,
          )
          // Such a path always contains an id of the other tenant.
          if (endpoint.path.includes(':') && !isPublic(endpoint)) expect([400, 403, 404]).toContain(status)
          expect(status).not.toBe(500)
          const told = theirs.marks.filter((mark) => text.includes(mark))
          expect(told, `${endpoint.method} ${JSON.stringify(request)} answered ${text}`).toEqual([])
        }),
        { numRuns: 12, seed: 20261121 },
      )
      expect(await dumpOf(db, theirs)).toEqual(before)
      expect(await pointersInto(db, mine, theirs)).toEqual([])
    },
  )

  test.each(ofStrangers)('%s: an unauthenticated caller learns nothing of a tenant', async (_, endpoint) => {
    const before = await dumpOf(db, theirs)
    await fc.assert(
      fc.asyncProperty(requests(endpoint), async ({ asHead, ...request }) => {
        const { text } = await ask(daemon.url, endpoint, request, asHead ? mine.head : undefined)
        expect(theirs.marks.filter((mark) => text.includes(mark))).toEqual([])
      }),
      { numRuns: 8, seed: 20261121 },
    )
    expect(await dumpOf(db, theirs)).toEqual(before)
  })

  test.each(ofTools)('%s: the key of one tenant returns and changes nothing of another', async (_, endpoint) => {
    const before = await dumpOf(db, theirs)
    const withKey = ({ automationKey }: FurnishedTenant) => ({ headers: { 'x-automation-key': automationKey } })
    await fc.assert(
      fc.asyncProperty(requests(endpoint), fc.constantFrom(mine.tenantId, theirs.tenantId), async (request, tenantId) => {
        const part = endpoint.method === 'GET' ? 'query' : 'body'
        const named = { ...request, [part]: { ...(request[part] as object), tenantId }, ...withKey(mine) }
        const { status, text } = await ask(daemon.url, endpoint, named)
        if (tenantId === theirs.tenantId) expect([400, 403]).toContain(status)
        // The id of an event is the tool's own; every other id in a path is the other tenant's.
        if (/:(?!eventId)/.test(endpoint.path)) expect([400, 403, 404]).toContain(status)
        expect(status).not.toBe(500)
        expect(theirs.marks.filter((mark) => text.includes(mark))).toEqual([])
      }),
      { numRuns: 12, seed: 20261121 },
    )
    expect(await dumpOf(db, theirs)).toEqual(before)
    expect(await pointersInto(db, mine, theirs)).toEqual([])
    if (endpoint.method !== 'GET' || endpoint.path.endsWith('/credentials')) return
    const own = { path: String(pathsOf(endpoint, [theirs])[0]), query: { tenantId: theirs.tenantId }, ...withKey(theirs) }
    expect((await ask(daemon.url, endpoint, own)).status).toBe(200)
  })

  /** The path with every id of these tenants for its parts; throws if the test does not know a new part. */
  function pathsOf({ path }: EndpointShape, owners: readonly FurnishedTenant[]): string[] {
    const unknown = placesIn(path).filter((place) => !owners.every(({ keys }) => place in keys))
    if (unknown.length > 0)
      throw new Error(`${path}: a furnished tenant has nothing for ${unknown.join(', ')} (test/support/furnished-tenant.ts)`)
    const filled = (at: string, place: string) =>
      owners.flatMap(({ keys }) => keys[place] ?? []).map((key) => at.replace(place, `${place.split('/')[0]}/${key}`))
    return placesIn(path).reduce((paths, place) => paths.flatMap((at) => filled(at, place)), [path])
  }

  /** With ids of both tenants where possible, but never of the own tenant alone. */
  function mixedPaths(endpoint: EndpointShape): string[] {
    const own = endpoint.path.includes(':') ? pathsOf(endpoint, [mine]) : []
    return pathsOf(endpoint, [mine, theirs]).filter((path) => !own.includes(path))
  }

  /** Query and body per the contract, with those ids in every text field. */
  function requests(endpoint: EndpointShape): fc.Arbitrary<Asked> {
    const theirIds = [...Object.values(theirs.keys).flat(), theirs.tenantId, theirs.slug]
    const text = fc.constantFrom(...theirIds, ...Object.values(mine.keys).flat(), 'me', 'text')
    const leaves = { text, anything: text }
    const query = schemaOf(endpoint.query)
    const body = endpoint.body ?? endpoint.multipart?.fields
    return fc.record({
      path: fc.constantFrom(...mixedPaths(endpoint)),
      query: query ? like(leaves, query) : fc.constant({}),
      body: body ? like(leaves, schemaOf(body)) : fc.constant(undefined),
      asHead: fc.boolean(),
    })
  }
})
