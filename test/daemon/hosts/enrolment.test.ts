import { importJWK, SignJWT } from 'jose'
import { expect, test, vi } from 'vitest'
import { connect, enrolAgent, newAgentKey, openConnection } from '../../../src/agent/channel/index.ts'
import { makeClient } from '../../../src/core/contract/index.ts'
import { hostsContract } from '../../../src/core/hosts/index.ts'
import { isProblem, type ProblemCode, secret } from '../../../src/core/kit/index.ts'
import { systemRandom } from '../../../src/node/index.ts'
import { onBothDialects } from '../../support/databases.ts'
import { hostWorld } from '../../support/host-world.ts'

const refused = (code: ProblemCode, text = /./) =>
  expect.toSatisfy((error: unknown) => isProblem(error, code) && text.test((error as Error).message), `${code} saying ${text}`)

const agentVersion = '0.1.0'
const silence = { protocolVersion: 1, agentVersion, engine: null, resources: null, reports: [], holding: [] }

onBothDialects('enrolment and identity of agents', (fresh) => {
  const setUp = async () => {
    const world = await hostWorld(await fresh())
    const admin = makeClient(hostsContract, { baseUrl: world.baseUrl, headers: () => ({ authorization: 'Bearer anna' }) })
    const enrol = async (token: string, key = newAgentKey()) => {
      await world.clock.advance(1000)
      return enrolAgent({ daemonUrl: world.baseUrl, agentVersion }, await key, secret(token))
    }
    const speak = (identity: Awaited<ReturnType<typeof enrol>>, clock = world.clock) => connect({ clock, random: systemRandom, identity })
    return { ...world, admin, enrolWith: enrol, speak }
  }

  test('an invitation enrols one host under its name, and the audit log has both', async () => {
    const { admin, enrolWith, speak, deps } = await setUp()
    const { token, expiresAt } = await admin.inviteHost({ body: { name: 'host-1' } })
    expect(expiresAt).toBe('2026-01-05T02:15:00.000Z')
    const identity = await enrolWith(token)
    expect(identity.name).toBe('host-1')
    await speak(identity).hello({ body: silence })
    expect(await admin.showHost({ params: { name: 'host-1' } })).toMatchObject({ status: 'online', agentVersion })
    const actions = await deps.db.selectFrom('audit').select(['action', 'actor']).orderBy('seq').execute()
    expect(actions).toEqual([
      { action: 'host.invited', actor: 'admin:anna' },
      { action: 'host.enrolled', actor: 'agent:host-1' },
    ])
    const kept = await deps.db.selectFrom('host_invites').selectAll().execute()
    expect(JSON.stringify(kept)).not.toContain(token)
  })

  test('a used, expired or unknown token enrols no host', async () => {
    const { admin, enrolWith, clock } = await setUp()
    const { token } = await admin.inviteHost({ body: { name: 'host-1' } })
    await enrolWith(token)
    await expect(enrolWith(token)).rejects.toEqual(refused('ENROLMENT_INVALID', /tenantry hosts invite/))
    const late = await admin.inviteHost({ body: { name: 'host-2' } })
    await clock.advance(15 * 60_000)
    await expect(enrolWith(late.token)).rejects.toEqual(refused('ENROLMENT_INVALID'))
    await expect(enrolWith('made-up')).rejects.toEqual(refused('ENROLMENT_INVALID'))
  })

  test('of many agents with one token exactly one is enrolled', async () => {
    const { admin, enrolWith, clock } = await setUp()
    const { token } = await admin.inviteHost({ body: { name: 'host-1' } })
    await clock.advance(1000)
    const tries = await Promise.allSettled([enrolWith(token), enrolWith(token)])
    expect(tries.filter(({ status }) => status === 'fulfilled')).toHaveLength(1)
  })

  test('an agent whose response was lost gets it again with the same key', async () => {
    const { admin, enrolWith } = await setUp()
    const { token } = await admin.inviteHost({ body: { name: 'host-1' } })
    const key = newAgentKey()
    const first = await enrolWith(token, key)
    expect(await enrolWith(token, key)).toEqual(first)
  })

  test('a newer invitation invalidates the older one, and an enrolled name is not reused', async () => {
    const { admin, enrolWith } = await setUp()
    const older = await admin.inviteHost({ body: { name: 'host-1' } })
    const newer = await admin.inviteHost({ body: { name: 'host-1' } })
    await expect(enrolWith(older.token)).rejects.toEqual(refused('ENROLMENT_INVALID'))
    await enrolWith(newer.token)
    await expect(admin.inviteHost({ body: { name: 'host-1' } })).rejects.toEqual(refused('ALREADY_EXISTS', /revoke/))
  })

  test('a new host cannot have a path word as name; an older one is shown by its id, revoked by its name, and can enrol again', async () => {
    const { admin, enrolWith, deps } = await setUp()
    const called = { name: 'invites' }
    await expect(admin.inviteHost({ body: called })).rejects.toEqual(refused('VALIDATION', /invites is reserved/))
    const { token } = await admin.inviteHost({ body: { name: 'host-1' } })
    const { hostId } = await enrolWith(token)
    await deps.db.updateTable('hosts').set(called).execute()
    expect((await admin.listHosts()).hosts.map(({ name }) => name)).toEqual(['invites'])
    expect(await admin.showHost({ params: { name: hostId } })).toMatchObject({ ...called, id: hostId })
    await expect(admin.showHost({ params: { name: `host_${'0'.repeat(20)}` } })).rejects.toEqual(refused('NOT_FOUND'))
    await admin.revokeHost({ params: called, body: { reason: 'sold' } })
    const anew = await enrolWith((await admin.inviteHost({ body: called })).token)
    expect(anew).toMatchObject({ ...called, hostId })
  })

  test('enrolling by another URL of the daemon is refused, with the right URL', async () => {
    const { admin, baseUrl, clock } = await setUp()
    const { token } = await admin.inviteHost({ body: { name: 'host-1' } })
    await clock.advance(1000)
    const other = baseUrl.replace('127.0.0.1', 'localhost')
    const fetch: typeof globalThis.fetch = (url, init) => globalThis.fetch(String(url).replace('localhost', '127.0.0.1'), init)
    const enrolling = enrolAgent({ daemonUrl: other, agentVersion, fetch }, await newAgentKey(), secret(token))
    await expect(enrolling).rejects.toEqual(refused('VALIDATION', new RegExp(`--url ${baseUrl}`)))
  })

  test('revoking a host disconnects its agent at once and expires its open commands; a new invitation keeps the host', async () => {
    const { admin, enrol, enrolWith, enqueue, speak } = await setUp()
    const identity = await enrol('host-1')
    const agent = speak(identity)
    await agent.hello({ body: silence })
    await enqueue({ id: 'r1.b1.1.report', hostId: identity.hostId })
    await admin.revokeHost({ params: { name: 'host-1' }, body: { reason: 'sold' } })
    await expect(agent.heartbeat({ body: { holding: [] } })).rejects.toEqual(
      refused('HOST_REVOKED', /sold.*fix: tenantry hosts invite host-1, then tenantry-agent enrol --anew/),
    )
    const command = await admin.showCommand({ params: { id: 'r1.b1.1.report' } })
    expect(command).toMatchObject({ status: 'expired', error: { code: 'HOST_REVOKED' } })
    await expect(admin.revokeHost({ params: { name: 'host-1' }, body: { reason: 'again' } })).rejects.toEqual(refused('CONFLICT'))
    const { token } = await admin.inviteHost({ body: { name: 'host-1' } })
    const anew = await enrolWith(token)
    expect(anew.hostId).toBe(identity.hostId)
    await speak(anew).hello({ body: silence })
    await expect(agent.hello({ body: silence })).rejects.toEqual(refused('UNAUTHENTICATED'))
  })

  test.each([-95_000, 95_000])('an agent with a clock that is %i ms off gets the server time', async (offMs) => {
    const { clock, enrol, speak } = await setUp()
    const identity = await enrol('host-1')
    const wrong = { ...clock, now: () => new Date(clock.now().getTime() + offMs) }
    const call = speak(identity, wrong).hello({ body: silence })
    await expect(call).rejects.toEqual(refused('CLOCK_SKEW', /95 s (ahead of|behind) the daemon \(2026-01-05T02:00:01.000Z\)/))
  })

  test('a small clock difference is accepted, and an old token is not', async () => {
    const { clock, enrol, speak } = await setUp()
    const identity = await enrol('host-1')
    for (const offMs of [-80_000, 25_000]) {
      const wrong = { ...clock, now: () => new Date(clock.now().getTime() + offMs) }
      await speak(identity, wrong).hello({ body: silence })
    }
  })

  test('tokens of another key, for another daemon, unsigned, or valid for an hour are refused', async () => {
    const { clock, enrol, baseUrl } = await setUp()
    const identity = await enrol('host-1')
    const at = Math.floor(clock.now().getTime() / 1000)
    const sign = async (change: { aud?: string; iat?: number; exp?: number; key?: Awaited<ReturnType<typeof newAgentKey>> }) =>
      new SignJWT({ iid: 'x' })
        .setProtectedHeader({ alg: 'EdDSA', kid: identity.keyId })
        .setAudience(change.aud ?? `${baseUrl}/agent`)
        .setIssuedAt(change.iat ?? at)
        .setExpirationTime(change.exp ?? at + 60)
        .sign(await importJWK(change.key ?? identity.privateKey, 'EdDSA'))
    const status = async (token: string) => {
      const response = await fetch(`${baseUrl}/api/agent/v1/hello`, {
        method: 'POST',
        headers: { authorization: `Bearer ${token}`, 'content-type': 'application/json' },
        body: JSON.stringify(silence),
      })
      return response.status
    }
    expect(await status(await sign({}))).toBe(200)
    expect(await status(await sign({ key: await newAgentKey() }))).toBe(401)
    expect(await status(await sign({ aud: 'https://other.example/agent' }))).toBe(401)
    expect(await status(await sign({ iat: at - 600, exp: at + 3600 }))).toBe(401)
    const [, payload] = (await sign({})).split('.')
    const none = Buffer.from(JSON.stringify({ alg: 'none', kid: identity.keyId })).toString('base64url')
    expect(await status(`${none}.${payload}.`)).toBe(401)
    // PostgreSQL takes neither as text.
    for (const kid of ['a\u0000b', '\ud800']) {
      const header = Buffer.from(JSON.stringify({ alg: 'EdDSA', kid })).toString('base64url')
      expect(await status(`${header}.${payload}.x`)).toBe(401)
    }
    expect(await status('nonsense')).toBe(401)
  })

  test('a second live agent with the same key freezes the host; both are refused until it enrols again', async () => {
    const { admin, clock, enrol, enrolWith, speak, deps } = await setUp()
    const error = vi.spyOn(deps.log, 'error')
    const identity = await enrol('host-1')
    const [ours, theirs] = [speak(identity), speak(identity)]
    await ours.hello({ body: silence })
    await theirs.hello({ body: silence })
    await expect(ours.heartbeat({ body: { holding: [] } })).rejects.toEqual(refused('UNAVAILABLE'))
    await clock.advance(10_000)
    await expect(ours.heartbeat({ body: { holding: [] } })).rejects.toEqual(refused('HOST_FROZEN'))
    await expect(theirs.heartbeat({ body: { holding: [] } })).rejects.toEqual(refused('HOST_FROZEN', /invite host-1/))
    expect(await admin.showHost({ params: { name: 'host-1' } })).toMatchObject({ status: 'frozen' })
    expect(error).toHaveBeenCalledOnce()
    const { token } = await admin.inviteHost({ body: { name: 'host-1' } })
    await speak(await enrolWith(token)).hello({ body: silence })
    expect(await admin.showHost({ params: { name: 'host-1' } })).toMatchObject({ status: 'online', reason: null })
  })

  test('an agent of another protocol is refused with the side to upgrade', async () => {
    const { enrol, speak } = await setUp()
    const agent = speak(await enrol('host-1'))
    await expect(agent.hello({ body: { ...silence, protocolVersion: 99 } })).rejects.toEqual(
      refused('PROTOCOL_VERSION', /upgrade tenantryd/),
    )
    await expect(agent.hello({ body: { ...silence, protocolVersion: 0 } })).rejects.toEqual(
      refused('PROTOCOL_VERSION', /upgrade tenantry-agent/),
    )
  })

  test.each([
    { daemon: [1], newest: 1, oldest: 1, agreed: 1 },
    { daemon: [1, 2, 3], newest: 2, oldest: 1, agreed: 2 },
    { daemon: [2, 3], newest: 7, oldest: 3, agreed: 3 },
    { daemon: [1, 3], newest: 2, oldest: 1, agreed: 1 },
    { daemon: [2, 3], newest: 1, oldest: 1, agreed: /upgrade tenantry-agent/ },
    { daemon: [1, 2], newest: 5, oldest: 3, agreed: /versions 3 to 5.*upgrade tenantryd/ },
  ])('a daemon of $daemon and an agent of $oldest to $newest speak $agreed', async ({ daemon, newest, oldest, agreed }) => {
    const { enrol, speak, deps, admin } = await setUp()
    const agent = speak(await enrol('host-1'))
    Object.assign(deps, { protocols: daemon })
    // A newer agent sends fields that this daemon does not know.
    const call = agent.hello({ body: { ...silence, protocolVersion: newest, oldestProtocol: oldest, mood: 'good' } as typeof silence })
    if (agreed instanceof RegExp) return expect(call).rejects.toEqual(refused('PROTOCOL_VERSION', agreed))
    expect((await call).protocol).toBe(agreed)
    expect((await admin.showHost({ params: { name: 'host-1' } })).protocolVersion).toBe(agreed)
  })

  test('the machine data of an agent is shown, with its clock offset', async () => {
    const { enrol, speak, admin, clock } = await setUp()
    const agent = speak(await enrol('host-1'))
    const machine = { cpus: 4, memoryBytes: 8e9, diskBytes: 1e11, freeDiskBytes: 5e10, boxes: 3 }
    await agent.hello({ body: { ...silence, resources: machine, clockOffsetMs: -12_000 } })
    const show = () => admin.showHost({ params: { name: 'host-1' } })
    expect(await show()).toMatchObject({ resources: machine, clockOffsetMs: -12_000, skewed: false, diskLow: false })
    await clock.advance(60_000)
    const fuller = { ...machine, freeDiskBytes: 9e9 }
    await agent.heartbeat({ body: { holding: [], resources: fuller, clockOffsetMs: 303_000.4 } })
    const told = { resources: fuller, resourcesAt: '2026-01-05T02:01:01.000Z', clockOffsetMs: 303_000, skewed: true, diskLow: true }
    expect(await show()).toMatchObject(told)
    await agent.heartbeat({ body: { holding: [], resources: null } })
    expect(await show()).toMatchObject(told)
  })

  test('an agent with a wrong clock gets the server time once, and signs with it from then on', async () => {
    const { clock, enrol } = await setUp()
    const identity = await enrol('host-1')
    let offMs = 303_000
    const wrong = { ...clock, now: () => new Date(clock.now().getTime() + offMs) }
    const { client, clockOffsetMs } = openConnection({ clock: wrong, random: systemRandom, identity })
    await expect(client.hello({ body: silence })).rejects.toEqual(refused('CLOCK_SKEW'))
    expect(clockOffsetMs()).toBe(303_000)
    await client.hello({ body: silence })
    offMs = 0 // it was set right: by the daemon's time of before it would be wrong now
    await expect(client.heartbeat({ body: { holding: [] } })).rejects.toEqual(refused('CLOCK_SKEW'))
    await client.heartbeat({ body: { holding: [] } })
    expect(clockOffsetMs()).toBe(0)
  })

  test.each(['revoked', 'frozen'] as const)('the long poll of an agent ends within a second when its host is %s', async (how) => {
    const { clock, enrol, speak, admin, deps } = await setUp()
    const identity = await enrol('host-1')
    const agent = speak(identity)
    await agent.hello({ body: silence })
    const waiting = agent.nextCommand({ body: { holding: [] } })
    const code = how === 'revoked' ? 'HOST_REVOKED' : 'HOST_FROZEN'
    const ended = expect(waiting).rejects.toEqual(refused(code))
    while (clock.sleepers() === 0) await new Promise((resolve) => setImmediate(resolve))
    if (how === 'revoked') await admin.revokeHost({ params: { name: 'host-1' }, body: { reason: 'sold' } })
    else await deps.db.updateTable('hosts').set({ status: how, reason: 'by another replica' }).execute()
    if (how === 'frozen') await deps.bus.poll(deps.db) // each second
    await ended
  })

  test('a host without contact for 90 s is offline', async () => {
    const { admin, clock, enrol, speak } = await setUp()
    const agent = speak(await enrol('host-1'))
    await agent.hello({ body: silence })
    await clock.advance(91_000)
    expect((await admin.listHosts()).hosts[0]?.status).toBe('offline')
    await agent.heartbeat({ body: { holding: [] } })
    expect((await admin.listHosts()).hosts[0]?.status).toBe('online')
  })
})
