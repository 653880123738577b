import { expect, test } from 'vitest'
import { manualClock, printable, type TenantId } from '../../../src/core/kit/index.ts'
import { agentRepository, snapshotRepository } from '../../../src/daemon/snapshots/index.ts'
import { sessionPolicy } from '../../../src/daemon/snapshots/store-session.ts'

const tenant = 'ten_a' as TenantId
const settings = {
  backupKey: Buffer.alloc(32, 7).toString('base64'),
  snapshotStore: 's3://s3.example/snapshots/fleet',
  snapshotStoreCredentials: { accessKeyId: 'the daemons own', secretAccessKey: 'hunter2' },
  snapshotSessions: { endpoint: 'https://sts.example', region: 'eu-central-1', hours: 12 },
}
const good = `<AssumeRoleResponse><AssumeRoleResult><Credentials><AccessKeyId>TEMP</AccessKeyId><SecretAccessKey>of this command</SecretAccessKey>
<SessionToken>a token</SessionToken><Expiration>2026-11-22T21:00:00Z</Expiration></Credentials></AssumeRoleResult></AssumeRoleResponse>`

const brokenOff = () => new ReadableStream({ pull: (body) => body.error(new TypeError('terminated')) })

/** Requests a session for a command's repository; `answer` is the response of the service. */
async function asked(answer: () => Response | Promise<Response>, change: object = {}) {
  const calls: { url: string; init: RequestInit }[] = []
  const fetch = (async (url: URL, init: RequestInit) => {
    calls.push({ url: String(url), init })
    return answer()
  }) as typeof globalThis.fetch
  const clock = manualClock('2026-11-22T09:00:00.000Z')
  const made = await agentRepository({ clock, fetch }, { ...settings, ...change }, tenant).catch((error) => error)
  return { made, calls }
}

test('a command gets its own session, never the daemon’s key', async () => {
  const { made, calls } = await asked(() => new Response(good))
  expect(made).toEqual({
    ...snapshotRepository(settings, tenant),
    env: { AWS_ACCESS_KEY_ID: 'TEMP', AWS_SECRET_ACCESS_KEY: 'of this command', AWS_SESSION_TOKEN: 'a token' },
  })
  const [call] = calls
  expect(call).toMatchObject({ url: 'https://sts.example/', init: { method: 'POST', redirect: 'manual' } })
  const form = new URLSearchParams(String(call?.init.body))
  expect(Object.fromEntries(form)).toMatchObject({ Action: 'AssumeRole', DurationSeconds: '43200' })
  expect(JSON.parse(form.get('Policy') ?? '')).toEqual(sessionPolicy('s3:https://s3.example/snapshots/fleet/ten_a/v1'))
  expect(JSON.stringify(calls)).not.toContain('hunter2')
  const { authorization } = (call?.init.headers ?? {}) as Record<string, string>
  expect(authorization).toMatch(
    /^AWS4-HMAC-SHA256 Credential=the daemons own\/20261122\/eu-central-1\/sts\/aws4_request, SignedHeaders=content-type;host;x-amz-date, Signature=[0-9a-f]{64}$/,
  )
})

test('a configured role is requested', async () => {
  const role = 'arn:aws:iam::123456789012:role/snapshots'
  const { calls } = await asked(() => new Response(good), { snapshotSessions: { ...settings.snapshotSessions, roleArn: role } })
  expect(new URLSearchParams(String(calls[0]?.init.body)).get('RoleArn')).toBe(role)
})

test('it reaches the repository of its tenant and no other, and deletes nothing but locks', () => {
  const { Statement } = sessionPolicy('s3:https://s3.example/snapshots/fleet/ten_a/v1') as {
    Statement: { Action: string[]; Resource: string[]; Condition?: object }[]
  }
  const own = 'arn:aws:s3:::snapshots/fleet/ten_a/v1/'
  const onBucket = Statement.filter(({ Resource }) => Resource.every((one) => one === 'arn:aws:s3:::snapshots'))
  expect(onBucket.flatMap(({ Action }) => Action).sort()).toEqual(['s3:GetBucketLocation', 's3:ListBucket'])
  expect(onBucket.find(({ Action }) => Action.includes('s3:ListBucket'))?.Condition).toEqual({
    StringLike: { 's3:prefix': ['fleet/ten_a/v1/*'] },
  })
  const onObjects = Statement.filter((one) => !onBucket.includes(one))
  expect(onObjects.flatMap(({ Resource }) => Resource).every((one) => one.startsWith(own))).toBe(true)
  const deleting = Statement.filter(({ Action }) => Action.some((one) => /Delete|\*/.test(one)))
  expect(deleting.map(({ Resource }) => Resource)).toEqual([[`${own}locks/*`]])
  expect(JSON.stringify(Statement).length).toBeLessThan(2_000) // the longest that a session may have
})

test.each([
  ['does not answer', () => Promise.reject(new TypeError('fetch failed')), 'SNAPSHOT_STORE_UNAVAILABLE', /does not answer/],
  ['breaks off', () => new Response(brokenOff()), 'SNAPSHOT_STORE_UNAVAILABLE', /does not answer/],
  ['is overloaded', () => new Response('<Code>SlowDown</Code>', { status: 503 }), 'SNAPSHOT_STORE_UNAVAILABLE', /503 SlowDown/],
  [
    'refuses the key',
    () => new Response('<Error><Code>AccessDenied</Code><Message>not yours\u001b[2J</Message></Error>', { status: 403 }),
    'CONFIG',
    /403 AccessDenied not yours.*TENANTRY_SNAPSHOT_SESSIONS/,
  ],
  ['leads elsewhere', () => new Response('', { status: 302, headers: { location: 'https://elsewhere.example' } }), 'CONFIG', /302/],
  ['answers something else', () => new Response('<html>welcome</html>'), 'CONFIG', /refused a session/],
])('a service that %s has its own error, and the key itself is never sent instead', async (_, answer, code, words) => {
  const { made } = await asked(answer as () => Response)
  expect(made).toMatchObject({ code, message: expect.stringMatching(words) })
  expect(made.message).not.toContain('hunter2')
  expect(made.message).toBe(printable(made.message))
})

test('a folder on the hosts needs no session, and neither does a store that gives none', async () => {
  for (const change of [{ snapshotStore: 'file:/srv/snapshots' }, { snapshotSessions: undefined }]) {
    const { made, calls } = await asked(() => new Response(good), change)
    expect(calls).toEqual([])
    expect(made).toEqual(snapshotRepository({ ...settings, ...change }, tenant))
  }
})
