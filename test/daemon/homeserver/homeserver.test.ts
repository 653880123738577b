import { afterAll, beforeAll, beforeEach, describe, expect, onTestFinished, test } from 'vitest'
import { PlatformAddress } from '../../../src/core/homeserver/index.ts'
import { isoIn, secret } from '../../../src/core/kit/index.ts'
import { showBox } from '../../../src/daemon/boxes/show-boxes.ts'
import { homeserverProblem, makeChatClient, makeHomeservers, plainNetworks } from '../../../src/daemon/homeserver/index.ts'
import { listPlatformAddresses, setPlatformAddress } from '../../../src/daemon/homeserver/platform-address.ts'
import { anOperator } from '../../support/boxes-world.ts'
import { aChatServer, type ChatServer } from '../../support/chat-server.ts'
import { emptyDatabase } from '../../support/databases.ts'
import { aHomeserverWorld, type HomeserverWorld } from '../../support/homeserver-world.ts'
import { homeserverSuite } from './suite.ts'

let chat: ChatServer
let world: HomeserverWorld

beforeAll(async () => {
  chat = await aChatServer()
  const { db } = await emptyDatabase('sqlite')
  world = await aHomeserverWorld(db, chat)
})
afterAll(async () => {
  await world.close()
  await chat.close()
  await world.db.destroy()
})

describe('the simulated chat server', () => {
  homeserverSuite(() => ({
    homeserver: world.homeserver,
    chatDomain: chat.chatDomain,
    fence: async (on) => {
      chat.state.fence = on
    },
    restart: async () => chat.rooms.restart(),
    loseAdminToken: async () => {
      for (const [token, { userId }] of chat.sessions) if (userId === chat.id('tenantry.admin')) chat.sessions.delete(token)
      chat.accounts.delete(chat.id('tenantry.admin'))
    },
  }))
})

describe('invalid responses', () => {
  const login = () => world.homeserver.login({ localpart: 'anna', password: secret('a good password'), deviceName: 'Phone' })
  beforeEach(() => {
    chat.state.instead = undefined
  })

  test.each([
    [429, { errcode: 'M_LIMIT_EXCEEDED', retry_after_ms: 2500 }, { kind: 'limited', retryAfterSeconds: 3 }],
    [403, { errcode: 'M_RESOURCE_LIMIT_EXCEEDED' }, { kind: 'limited', retryAfterSeconds: 60 }],
    [503, { errcode: 'M_UNKNOWN', retry_after_ms: 10_000 }, { kind: 'fenced', retryAfterSeconds: 10 }],
    [502, { errcode: 'M_UNKNOWN', retry_after_ms: 5000 }, { kind: 'unreachable', retryAfterSeconds: 5 }],
    [500, { errcode: 'M_UNKNOWN' }, { kind: 'unreachable', retryAfterSeconds: 10 }],
    [404, { errcode: 'M_UNRECOGNIZED' }, { kind: 'unreachable', retryAfterSeconds: 60 }],
    [302, '', { kind: 'unreachable', retryAfterSeconds: 60 }],
    [200, '<html>', { kind: 'unreachable', retryAfterSeconds: 10 }],
    [200, {}, { kind: 'unreachable', retryAfterSeconds: 10 }],
    [403, { errcode: 'M_CONSENT_NOT_GIVEN' }, { kind: 'unreachable', retryAfterSeconds: 10 }],
    [403, { errcode: 'M_FORBIDDEN' }, { kind: 'refused' }],
    [403, { errcode: 'M_USER_DEACTIVATED' }, { kind: 'deactivated' }],
    [401, { errcode: 'M_USER_LOCKED', soft_logout: true }, { kind: 'locked' }],
    [429, { errcode: 'M_LIMIT_EXCEEDED', retry_after_ms: 9e12 }, { kind: 'limited', retryAfterSeconds: 300 }],
  ])('%i %j', async (status, body, expected) => {
    chat.state.instead = [status, body as never, status === 302 ? { location: 'http://127.0.0.1:1/' } : {}]
    expect(await login()).toMatchObject(expected)
  })

  test('a response of many megabytes is not read to its end', async () => {
    chat.state.instead = [200, JSON.stringify({ user_id: 'x'.repeat(5_000_000) })]
    expect(await login()).toMatchObject({ kind: 'unreachable' })
  })

  test('a token for another user than requested is ended and refused', async () => {
    await world.homeserver.createUser({ localpart: 'mallory', password: secret('a good password') })
    chat.state.instead = [200, { user_id: '@other:acme.example', access_token: 'syt_other', device_id: 'D' }]
    const before = chat.asked.length
    expect(await login()).toEqual({ kind: 'refused' })
    expect(chat.asked.slice(before).map(({ path, authorization }) => [path, authorization])).toEqual([
      ['/_matrix/client/v3/login', undefined],
      ['/_matrix/client/v3/logout', 'Bearer syt_other'],
    ])
  })
})

describe('a fenced or unreachable box', () => {
  const login = () => world.homeserver.login({ localpart: 'anna', password: secret('a good password'), deviceName: 'Phone' })
  const set = (change: { internal_url?: string | null; fenced?: number; live?: number }) =>
    world.db.updateTable('boxes').set(change).where('id', '=', world.box.id).execute()

  test('a box known to be fenced gets no write', async () => {
    chat.state.instead = undefined
    await set({ fenced: 1 })
    const before = chat.asked.length
    expect(await login()).toMatchObject({ kind: 'fenced', retryAfterSeconds: 10 })
    expect(await world.homeserver.send({ method: 'POST', path: '/_matrix/client/v3/createRoom', body: {} })).toMatchObject({
      kind: 'fenced',
    })
    expect(chat.asked).toHaveLength(before)
    expect(await world.homeserver.whoami(secret('syt_none'))).toEqual({ kind: 'unknown_token' })
    await set({ fenced: 0 })
  })

  test.each([
    ['http://192.0.2.1:18001', /privateNetworks/],
    ['http://chat.internal:18001', /privateNetworks/],
    ['http://10.0.0.1:18001', /privateNetworks/],
    ['http://127.0.0.1:1', /^no server accepts connections at its address$/],
    [null, /no platform listener/],
  ])('%s', async (internal_url, reason) => {
    await set({ internal_url })
    expect(await login()).toMatchObject({ kind: 'unreachable', reason: expect.stringMatching(reason) })
    await set({ internal_url: chat.origin })
  })

  test('of a simulated host is named so, and no retry is advised', async () => {
    await set({ internal_url: 'http://127.0.0.1:1' })
    const engine = (one: string | null) => world.db.updateTable('hosts').set({ engine: one }).execute()
    await engine('{"engine":"simulated","compose":"simulated"}')
    const fault = (await login()) as Parameters<typeof homeserverProblem>[0]
    expect(homeserverProblem(fault, 'acme').message).toBe(
      'The chat server of acme is unavailable: its box is simulated and has no chat server. fix: npm run demo -- --docker has real boxes',
    )
    await engine(null)
    await set({ internal_url: chat.origin })
  })

  test('on another host uses the operator’s address from the next call on, and never an unlisted network', async () => {
    const origins: string[] = []
    const networks = plainNetworks(['10.20.0.0/16'])
    const ask = async (origin: string) => {
      origins.push(origin)
      return { status: 403, json: { errcode: 'M_FORBIDDEN' } }
    }
    const elsewhere = makeHomeservers({ ...world, networks, ask, readAsk: ask }).of(world.tenantId)
    const say = (address: string | null) => setPlatformAddress({ ...world, networks }, anOperator, { name: 'host-1', address })
    const asked = () => elsewhere.login({ localpart: 'anna', password: secret('a good password'), deviceName: 'Phone' })
    await say('http://10.20.3.7:{port}')
    expect(await asked()).toEqual({ kind: 'refused' })
    await say('https://{slug}.boxes.example')
    await asked()
    expect((await showBox(world, 'acme')).internalUrl).toBe('https://acme.boxes.example')
    expect(await listPlatformAddresses({ ...world, networks })).toMatchObject({
      addresses: [{ host: 'host-1', address: 'https://{slug}.boxes.example' }],
    })
    await say(null)
    await asked()
    expect(origins).toEqual(['http://10.20.3.7:18001', 'https://acme.boxes.example', chat.origin])
    await expect(say('http://10.21.3.7:{port}')).rejects.toThrow(/privateNetworks/)
    await expect(say('http://boxes.internal:{port}')).rejects.toThrow(/privateNetworks/)
  })

  test.each([
    'http://10.0.0.1:18001',
    'ftp://10.0.0.1:{port}',
    'https://{slug}.example/path',
    'https://user@{slug}.example',
    '{slug}',
    'https://{slug}.Example',
  ])('the address %s is invalid', (address) => expect(PlatformAddress.safeParse(address).success).toBe(false))

  test('a tenant without a live box has no chat server', async () => {
    await set({ live: 0 })
    expect(await login()).toMatchObject({ kind: 'unreachable', reason: 'the tenant has no live box' })
    await set({ live: 1 })
  })

  test('a box whose edge does not know the platform gets no secret', async () => {
    const other = makeHomeservers({
      ...world,
      networks: plainNetworks([]),
      ask: async (_, { headers }) => {
        expect(headers['x-tenantry-edge-secret']).toBe(chat.secrets.edgeSecret)
        return { status: 404, json: { errcode: 'M_UNRECOGNIZED' } }
      },
      readAsk: () => Promise.reject(new Error('not needed here')),
    })
    expect(await other.of(world.tenantId).whoami(secret('t'))).toMatchObject({ kind: 'unreachable' })
  })
})

describe('networks without encryption', () => {
  test('are loopback and the listed ones', () => {
    const networks = plainNetworks(['10.20.0.0/16', 'fd00:1::/64'])
    for (const there of ['127.0.0.1', '127.9.9.9', 'localhost', '[::1]', '10.20.255.1', '[fd00:1::5]'])
      expect(networks.allows(there)).toBe(true)
    for (const there of ['10.21.0.1', '192.168.0.1', 'box.internal', '[fd00:2::1]', '8.8.8.8', ''])
      expect(networks.allows(there)).toBe(false)
  })

  test.each([['0.0.0.0/0'], ['8.8.8.0/24'], ['10.0.0.0/7'], ['::/0'], ['ten'], ['10.0.0.0'], ['10.0.0.0/33'], ['2001:db8::/32']])(
    '%s cannot be listed',
    (network) => expect(() => plainNetworks([network])).toThrow(/homeservers\.privateNetworks/),
  )
})

test('daemons that find a token refused log in once: the others use the token that the first one stored', async () => {
  const { db } = await emptyDatabase('sqlite')
  const here = await aChatServer()
  const room = await aHomeserverWorld(db, here)
  const clients = [1, 2, 3].map(() => makeChatClient())
  onTestFinished(async () => {
    await Promise.all([room.close(), ...clients.map((client) => client.close())])
    await here.close()
    await db.destroy()
  })
  const daemons = clients.map(({ ask }) => makeHomeservers({ ...room, networks: plainNetworks([]), ask, readAsk: ask }).of(room.tenantId))
  const whoAmI = (by: (typeof daemons)[number]) => by.send({ method: 'GET', path: '/_matrix/client/v3/account/whoami', by: 'admin' })
  const logins = () => here.asked.filter(({ path }) => path === '/_matrix/client/v3/login').length
  await whoAmI(daemons[0] as (typeof daemons)[number])
  for (const token of [...here.sessions.keys()]) here.sessions.delete(token)
  const before = logins()
  const asked = Promise.all([...daemons, ...daemons].map(whoAmI))
  let isOver = false
  void asked.finally(() => {
    isOver = true
  })
  // Those without the lease wait by this clock.
  await expect.poll(() => room.clock.advance(250).then(() => isOver), { timeout: 10_000, interval: 5 }).toBe(true)
  expect((await asked).map(({ kind }) => kind)).toEqual(Array(6).fill('ok'))
  expect(logins() - before).toBe(1)
  expect(await db.selectFrom('chat_token_renewals').selectAll().execute()).toEqual([])
})

test('the lease of a daemon that died while it logged in expires', async () => {
  const { db } = await emptyDatabase('sqlite')
  const here = await aChatServer()
  const room = await aHomeserverWorld(db, here)
  onTestFinished(async () => {
    await room.close()
    await here.close()
    await db.destroy()
  })
  const dead = { box_id: room.box.id, token_of: 'admin', owner: 'dead', lease_until: isoIn(room.clock, 5000) } as const
  await db.insertInto('chat_token_renewals').values(dead).execute()
  const asked = room.homeserver.send({ method: 'GET', path: '/_matrix/client/v3/account/whoami', by: 'admin' })
  let result: string | undefined
  void asked.then(({ kind }) => {
    result = kind
  })
  await expect.poll(() => room.clock.advance(250).then(() => result), { timeout: 10_000, interval: 5 }).toBe('ok')
})
