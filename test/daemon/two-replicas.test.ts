import { describe, expect, onTestFinished, test } from 'vitest'
import { createPostgresDatabase } from '../support/databases.ts'
import { aPlatformUser } from '../support/platform-user.ts'
import { aRedisServer, hasRedis } from '../support/redis-server.ts'
import { aKey, aRunningDaemon, clientOf, loggedIn, type RunningDaemon } from '../support/running-daemon.ts'

// Two whole daemons over one database and one Redis, by a clock that runs: what a user does at one counts at the other.

const bootstrapPath = '/api/platform/v1/bootstrap'
const streamPath = '/api/platform/v1/events/stream'

async function twoDaemons(more: Record<string, string> = {}): Promise<[RunningDaemon, RunningDaemon]> {
  const env = { TENANTRY_DATABASE: await createPostgresDatabase(), TENANTRY_SECRET_KEY: aKey(), ...more }
  const [one, other] = [await aRunningDaemon({ env }), await aRunningDaemon({ env })]
  onTestFinished(async () => void (await Promise.all([one.close(), other.close()])))
  return [one, other]
}

type Heard = { text: string; isOver: boolean }

/** What a client hears, until its stream ends. */
async function listen({ url }: RunningDaemon, authorization: string, lastEventId?: string): Promise<Heard> {
  const left = new AbortController()
  onTestFinished(() => left.abort())
  const headers = { authorization, ...(lastEventId ? { 'last-event-id': lastEventId } : {}) }
  const response = await fetch(url + streamPath, { headers, signal: left.signal })
  const heard: Heard = { text: '', isOver: false }
  const read = async () => {
    for await (const bytes of response.body ?? []) heard.text += Buffer.from(bytes as Uint8Array).toString()
  }
  read()
    .catch(() => undefined)
    .finally(() => {
      heard.isOver = true
    })
  return heard
}

const ask = ({ url }: RunningDaemon, authorization: string, etag = '') =>
  fetch(url + bootstrapPath, { headers: { authorization, connection: 'close', ...(etag ? { 'if-none-match': etag } : {}) } })

test('what is written at one is in the next document of the other, and its streams tell of it', async () => {
  const [one, other] = await twoDaemons()
  const anna = await aPlatformUser(one, { tenant: 'acme', roles: ['teacher'] })
  const heard = await listen(other, anna)
  let etag = ''
  // The marketplace publishes its seeds while the daemons start, which changes the document.
  const present = async () => {
    etag = (await ask(other, anna)).headers.get('etag') ?? ''
    return (await ask(one, anna, etag)).status
  }
  await expect.poll(present).toBe(304)
  const { spaces, profile } = clientOf(one.url, anna)
  await profile.changeProfile({ body: { displayName: 'Anna Berg' } })
  const { id } = await spaces.createSpace({ body: { name: '4b', type: 'CLASSROOM', visibility: 'PRIVATE' } })
  const after = await ask(other, anna, etag)
  expect([after.status, await after.json()]).toMatchObject([
    200,
    { profile: { displayName: 'Anna Berg' }, spaces: [{ id, role: 'owner' }] },
  ])
  await expect.poll(() => heard.text).toContain(id)
  const types = [...heard.text.matchAll(/^event: (.*)$/gm)]
    .map(([, type]) => type)
    .filter((type) => type !== 'marketplace.changed' && type !== 'position')
  expect(types).toEqual([...['contacts.changed', 'profile.changed', 'space.changed', 'membership.changed']])
  const [, first = ''] = /^id: (\d+)\nevent: contacts\.changed$/m.exec(heard.text) ?? []
  const again = await listen(one, anna, first)
  await expect.poll(() => again.text).toContain('event: membership.changed')
  expect(again.text).not.toMatch(/^event: (contacts\.changed|reset)$/m)
})

test('who is disabled at one is refused by the other, whose stream ends; nobody else’s does', async () => {
  const [one, other] = await twoDaemons()
  const anna = await aPlatformUser(one, { tenant: 'acme', roles: ['teacher'] })
  const ben = await aPlatformUser(one, { tenant: 'acme', localpart: 'ben' })
  const [hers, his] = [await listen(other, anna), await listen(other, ben)]
  expect((await ask(other, anna)).status).toBe(200)
  const { users } = clientOf(one.url, await loggedIn(one, 'operator'))
  await users.disableUser({ params: { slug: 'acme', localpart: 'anna' }, body: { reason: 'left' } })
  await expect.poll(async () => (await ask(other, anna)).status).toBe(401)
  await expect.poll(() => hers.isOver).toBe(true)
  expect([his.isOver, (await ask(other, ben)).status]).toEqual([false, 200])
})

describe.skipIf(!hasRedis)('with a Redis', () => {
  test('both together accept exactly the budget of a tenant, and each says so', async () => {
    const redis = await aRedisServer()
    const [one, other] = await twoDaemons({
      ...{ TENANTRY_REDIS: redis.url, TENANTRY_LIMITS_LIGHT: '30', TENANTRY_LIMITS_PER_ADDRESS: '1000' },
      TENANTRY_LIMITS_STORE_TIMEOUT_MS: '5000',
    })
    const anna = await aPlatformUser(one, { tenant: 'acme' })
    const answers = await Promise.all(Array.from({ length: 60 }, (_, n) => ask(n % 2 === 0 ? one : other, anna)))
    const accepted = answers.filter(({ status }) => status === 200)
    expect(accepted).toHaveLength(30)
    expect(new Set(accepted.map(({ headers }) => headers.get('x-ratelimit-remaining'))).size).toBe(30)
    const refused = answers.filter(({ status }) => status === 429)
    expect(refused).toHaveLength(30)
    for (const { headers } of refused) expect(Number(headers.get('retry-after'))).toBeGreaterThan(0)
    const { limits } = clientOf(other.url, await loggedIn(other, 'viewer'))
    expect(await limits.rateLimits({ query: {} })).toMatchObject({
      store: 'redis',
      tenants: [{ slug: 'acme', used: 30, remaining: 0, utilisation: 100 }],
    })
  })
})
