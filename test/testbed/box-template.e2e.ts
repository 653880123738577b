// The box template on real containers: what the public sees, what the platform may do, what an update does to a box.
// The boxes are laid out by hand, so nothing here depends on the agent.
import { randomBytes } from 'node:crypto'
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises'
import { request as httpRequest, type IncomingHttpHeaders } from 'node:http'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { execa } from 'execa'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { boxPorts } from '../e2e/support/ports.ts'
import * as chat from './matrix-client.ts'
import { type BoxByHand, compose, dockerEnvironment, readTestbed, renderBoxByHand, type TestbedImageKey, testbedExists } from './testbed.ts'

interface Answer {
  readonly status: number
  readonly headers: IncomingHttpHeaders
  readonly text: string
}

// fetch would tidy the path up before it is sent; here the point is what is not tidy.
const raw = (port: string, path: string, options: { method?: string; headers?: Record<string, string>; body?: string } = {}) =>
  new Promise<Answer>((resolve, reject) => {
    const call = httpRequest(
      { host: '127.0.0.1', port, path, method: options.method ?? 'GET', headers: options.headers ?? {} },
      (response) => {
        let text = ''
        response.setEncoding('utf8')
        response.on('data', (chunk: string) => {
          text += chunk
        })
        response.on('end', () => resolve({ status: response.statusCode ?? 0, headers: response.headers, text }))
      },
    )
    call.on('error', reject)
    call.end(options.body)
  })

async function eventually<T>(attempt: () => Promise<T>, seconds = 60): Promise<T> {
  const end = performance.now() + seconds * 1000
  for (;;) {
    try {
      return await attempt()
    } catch (error) {
      if (performance.now() > end) throw error
      await sleep(200)
    }
  }
}

describe.skipIf(!testbedExists())('the box template', () => {
  const testbed = testbedExists() ? readTestbed() : undefined
  let root: string
  const boxes: BoxByHand[] = []

  const on = (box: BoxByHand) => compose(testbed!, box.folder)
  const listeners = (box: BoxByHand) => {
    const headers = { 'x-tenantry-edge-secret': box.edgeSecret }
    return {
      open: { baseUrl: box.publicUrl },
      platform: { baseUrl: `http://127.0.0.1:${box.platformPort}`, headers },
      probe: { baseUrl: `http://127.0.0.1:${box.probePort}`, headers },
    }
  }
  const secret = (box: BoxByHand) => ({ 'x-tenantry-edge-secret': box.edgeSecret })
  // A cold start takes seconds, on a busy disk minutes: until the new database is written, the engine restarts Synapse, at ever longer intervals.
  const serves = async (box: BoxByHand) => {
    const isHealthy = async () => expect((await raw(box.platformPort, '/health', { headers: secret(box) })).status).toBe(200)
    await eventually(isHealthy, 180).catch(async (cause) => {
      const { stdout } = await on(box)('logs', '--timestamps', '--tail', '15')
      throw new Error(`${box.folder} does not serve:\n${stdout}`, { cause })
    })
  }
  const up = async (box: BoxByHand) => {
    await on(box)('up', '--detach')
    await serves(box)
  }
  const startBox = async (slug: string, synapse: TestbedImageKey) => {
    const box = await renderBoxByHand({ folder: join(root, slug), slug, firstPort: boxPorts().public, synapse })
    boxes.push(box)
    await up(box)
    return box
  }
  const engine = (...args: string[]) => execa(testbed!.docker, args, { env: dockerEnvironment(testbed!), extendEnv: false })
  const containerOf = async (box: BoxByHand, service: string) => (await on(box)('ps', '--all', '--quiet', service)).stdout
  const isCrashLooping = (box: BoxByHand) =>
    eventually(async () => {
      // Not its exit code: while it runs again, which takes long on a busy machine, that is 0.
      const { stdout } = await engine('inspect', '--format', '{{.RestartCount}}', await containerOf(box, 'synapse'))
      expect(Number(stdout)).toBeGreaterThan(1)
    })
  const setSynapse = async (box: BoxByHand, image: TestbedImageKey) => {
    const file = join(box.folder, 'compose.yaml')
    const text = await readFile(file, 'utf8')
    await writeFile(file, text.replace(/image: \S+\/synapse:\S+/, `image: ${testbed!.images[image].ref}`))
  }
  const register = (box: BoxByHand, username: string) =>
    chat.registerUser(listeners(box).platform, { username, password: `${username}-secret`, sharedSecret: box.registrationSharedSecret })
  const talk = async (box: BoxByHand) => {
    const anna = { ...(await register(box, 'anna')), ...listeners(box).open, headers: {} }
    const bert = { ...(await register(box, 'bert')), ...listeners(box).open, headers: {} }
    const room = await chat.createRoom(anna, { name: 'Class 3b', invite: [bert.userId] })
    await chat.joinRoom(bert, room)
    for (let i = 0; i < 5; i++) await chat.sendMessage(i % 2 ? anna : bert, room, `message ${i}`)
    const picture = new Uint8Array(randomBytes(200_000))
    const mxc = await chat.uploadMedia(anna, picture, 'image/png')
    const read = async () => ({
      messages: (await chat.readMessages(bert, room, 2)).map((message) => message.body),
      picture: Buffer.compare(await chat.downloadMedia(bert, mxc), picture) === 0,
    })
    return { anna, bert, room, read }
  }
  const said = { messages: [0, 1, 2, 3, 4].map((i) => `message ${i}`), picture: true }

  beforeAll(async () => {
    root = await mkdtemp(join(tmpdir(), 'box-template-'))
  })
  afterAll(async () => {
    for (const box of boxes) await on(box)('down', '--volumes', '--timeout', '5')
    await rm(root, { recursive: true, force: true })
  })

  describe('a box on Synapse 1.157.1', () => {
    let box: BoxByHand
    let talked: Awaited<ReturnType<typeof talk>>
    beforeAll(async () => {
      box = await startBox('tpl-new', 'synapse-1.157.1')
      talked = await talk(box)
    })

    test('people of a box exchange messages and media through the public listener', async () => {
      expect(await talked.read()).toEqual(said)
    })

    test('the platform logs people in, as often as it likes', async () => {
      for (let i = 0; i < 12; i++) {
        const wrong = chat.logIn(listeners(box).platform, { username: 'anna', password: 'wrong' })
        await expect(wrong).rejects.toMatchObject({ status: 403, errcode: 'M_FORBIDDEN' })
      }
      const session = await chat.logIn(listeners(box).platform, { username: 'anna', password: 'anna-secret' })
      expect(session.userId).toBe(`@anna:${box.chatDomain}`)
    })

    const families = ['login', 'register', 'refresh', 'account/password', 'account/deactivate']
    const prefixes = ['api/v1', 'r0', 'v3', 'unstable']
    const ways: [string, (path: string) => string][] = [
      ['as it is', (path) => path],
      ['with a slash at the end', (path) => `${path}/`],
      ['with a query', (path) => `${path}?a=b`],
      ['with an encoded letter', (path) => path.replace(/([a-z])$/, (letter) => `%${letter.charCodeAt(0).toString(16)}`)],
      ['with an encoded slash', (path) => path.replace('/client/', '%2Fclient/')],
      ['with two slashes', (path) => path.replace('/client/', '//client/')],
      ['with a dot', (path) => path.replace('/client/', '/./client/')],
      ['with a way round', (path) => path.replace('/client/', '/x/../client/')],
      ['with an encoded way round', (path) => path.replace('/client/', '/x/%2e%2e/client/')],
      ['with something below it', (path) => `${path}/email/requestToken`],
      ['in capitals', (path) => path.replace(/[^/]+$/, (word) => word.toUpperCase())],
      ['with a host in front', (path) => `http://elsewhere${path}`],
    ]
    test.each(ways)('the public cannot reach logins and their kin written %s', async (_, write) => {
      for (const family of families)
        for (const prefix of prefixes) {
          const path = write(`/_matrix/client/${prefix}/${family}`)
          for (const method of ['GET', 'POST']) {
            const answer = await raw(box.publicPort, path, { method, ...(method === 'POST' ? { body: '{}' } : {}) })
            expect({ path, status: answer.status, cors: answer.headers['access-control-allow-origin'] }).toEqual({
              path,
              status: 403,
              cors: '*',
            })
            expect(JSON.parse(answer.text)).toMatchObject({ errcode: 'M_FORBIDDEN' })
          }
          const preflight = await raw(box.publicPort, path, { method: 'OPTIONS' })
          expect({ path, status: preflight.status, cors: preflight.headers['access-control-allow-origin'] }).toEqual({
            path,
            status: 204,
            cors: '*',
          })
        }
    })

    test.each([
      '/_synapse/admin/v1/register',
      '/_synapse/admin/v1/server_version',
      '/%5fsynapse/admin/v1/server_version',
      '//_synapse/admin',
      '/health',
      '/',
    ])('the public gets 404 for %s', async (path) => {
      const answer = await raw(box.publicPort, path)
      expect(answer.status).toBe(404)
      expect(JSON.parse(answer.text)).toMatchObject({ errcode: 'M_UNRECOGNIZED' })
    })

    test('the public finds the chat server by .well-known', async () => {
      const answer = await raw(box.publicPort, '/.well-known/matrix/client')
      expect(JSON.parse(answer.text)).toEqual({ 'm.homeserver': { base_url: box.publicUrl } })
      expect(answer.headers).toMatchObject({ 'content-type': 'application/json', 'access-control-allow-origin': '*' })
    })

    test('platform and probe listener answer 404 without the secret or with another', async () => {
      for (const port of [box.platformPort, box.probePort])
        for (const headers of [{}, { 'x-tenantry-edge-secret': 'x' }, { 'x-tenantry-edge-secret': box.edgeSecret.toUpperCase() }])
          expect((await raw(port, '/_matrix/client/versions', { headers: headers as Record<string, string> })).status).toBe(404)
    })

    test('the probe listener reaches the object store', async () => {
      expect((await raw(box.probePort, '/minio/health/cluster', { headers: secret(box) })).status).toBe(200)
      expect((await raw(box.publicPort, '/minio/health/cluster')).status).toBe(404)
    })

    test('an upload that is too large is refused in words a browser app can read', async () => {
      const headers = { authorization: `Bearer ${talked.anna.accessToken}`, 'content-length': String(51 * 1024 * 1024) }
      const answer = await raw(box.publicPort, '/_matrix/media/v3/upload', { method: 'POST', headers })
      expect(answer).toMatchObject({ status: 413, headers: { 'access-control-allow-origin': '*' } })
      expect(JSON.parse(answer.text)).toMatchObject({ errcode: 'M_TOO_LARGE' })
    })

    test('a fence answers in place of Synapse for everyone but the probe, and is gone as soon as it is lifted', async () => {
      const fence = join(box.folder, 'edge/fence/on')
      await writeFile(fence, '')
      for (const [port, headers] of [[box.publicPort, {}] as const, [box.platformPort, secret(box)] as const])
        for (const path of ['/_matrix/client/versions', '/_matrix/client/v3/login', '/_synapse/admin/v1/server_version', '/nowhere']) {
          const answer = await raw(port, path, { headers })
          expect({ port, path, status: answer.status }).toEqual({ port, path, status: 503 })
          expect(answer.headers).toMatchObject({
            'access-control-allow-origin': '*',
            'retry-after': '10',
            'content-type': 'application/json',
          })
          expect(JSON.parse(answer.text)).toMatchObject({
            errcode: 'M_UNKNOWN',
            error: expect.stringContaining('being updated'),
            retry_after_ms: 10_000,
          })
          expect(await raw(port, path, { method: 'OPTIONS', headers })).toMatchObject({
            status: 204,
            headers: { 'access-control-allow-origin': '*' },
          })
        }
      expect((await raw(box.platformPort, '/_matrix/client/versions')).status).toBe(404)
      const probe = await chat.logIn(listeners(box).probe, { username: 'anna', password: 'anna-secret' })
      expect(await chat.whoAmI(probe)).toBe(probe.userId)
      await rm(fence)
      expect(await talked.read()).toEqual(said)
    })

    test('while Synapse is down the edge says so itself', async () => {
      await on(box)('stop', 'synapse')
      for (const [port, headers] of [
        [box.publicPort, {}] as const,
        [box.platformPort, secret(box)] as const,
        [box.probePort, secret(box)] as const,
      ]) {
        const answer = await raw(port, '/_matrix/client/versions', { headers })
        expect(answer).toMatchObject({ status: 502, headers: { 'access-control-allow-origin': '*', 'content-type': 'application/json' } })
        expect(JSON.parse(answer.text)).toMatchObject({ errcode: 'M_UNKNOWN' })
        expect(await raw(port, '/_matrix/client/versions', { method: 'OPTIONS', headers })).toMatchObject({ status: 204 })
      }
      await up(box)
      expect(await talked.read()).toEqual(said)
    })

    test("the platform's own users are out of anyone else's reach, and need no password", async () => {
      await expect(register(box, 'tenantry-probe')).rejects.toMatchObject({ errcode: 'M_EXCLUSIVE' })
      const answer = await fetch(`${listeners(box).platform.baseUrl}/_matrix/client/v3/register`, {
        method: 'POST',
        headers: { ...secret(box), authorization: `Bearer ${box.appserviceToken}` },
        body: JSON.stringify({ type: 'm.login.application_service', username: 'tenantry-probe' }),
      })
      expect(await answer.json()).toMatchObject({ user_id: `@tenantry-probe:${box.chatDomain}`, access_token: expect.any(String) })
    })

    test('a stop of PostgreSQL is a clean shutdown', async () => {
      await on(box)('restart', 'postgres')
      await up(box)
      const log = (await on(box)('logs', 'postgres')).stdout
      expect(log).toContain('database system is shut down')
      expect(log).not.toContain('was interrupted')
      expect(log).not.toContain('not properly shut down')
    })

    // So it is after a reboot of the host, where the engine starts containers in no order, and after a start by hand, which waits for no health.
    test('a Synapse that is there before PostgreSQL ends, and the engine starts it again until it serves', async () => {
      await on(box)('stop', 'synapse', 'postgres')
      await engine('start', await containerOf(box, 'synapse'))
      await isCrashLooping(box)
      await engine('start', await containerOf(box, 'postgres'))
      await serves(box)
      expect(await talked.read()).toEqual(said)
    })

    test('the database is UTF8 and sorts by C', async () => {
      const query = "select pg_encoding_to_char(encoding), datcollate, datctype from pg_database where datname = 'synapse'"
      expect((await on(box)('exec', '-T', 'postgres', 'psql', '-U', 'synapse', '-Atc', query)).stdout).toBe('UTF8|C|C')
    })

    test('1.163.2 and back: nothing is lost, and people stay logged in', async () => {
      for (const image of ['synapse-1.163.2', 'synapse-1.157.1'] as const) {
        await setSynapse(box, image)
        await up(box)
        const version = await raw(box.platformPort, '/_synapse/admin/v1/server_version', { headers: secret(box) })
        expect(JSON.parse(version.text)).toMatchObject({ server_version: image.replace('synapse-', '') })
        expect(await talked.read()).toEqual(said)
      }
    })

    test('a release that dies at its start never listens', async () => {
      await setSynapse(box, 'synapse-dies')
      await on(box)('up', '--detach')
      await isCrashLooping(box)
    })
  })

  describe('a box on Synapse 1.97.0', () => {
    test('a broken release looks well, fails sync and send, and locks 1.97.0 out of the database', async () => {
      const box = await startBox('tpl-old', 'synapse-1.97.0')
      const { anna, room, read } = await talk(box)
      expect(await read()).toEqual(said)

      await setSynapse(box, 'synapse-broken')
      await up(box)
      expect((await raw(box.publicPort, '/_matrix/client/versions')).status).toBe(200)
      await expect(chat.sync(anna)).rejects.toMatchObject({ status: 500 })
      await expect(chat.sendMessage(anna, room, 'lost')).rejects.toMatchObject({ status: 500 })
      expect(await read()).toEqual(said)

      await setSynapse(box, 'synapse-1.97.0')
      await on(box)('up', '--detach')
      await isCrashLooping(box)
      expect((await on(box)('logs', 'synapse')).stdout).toContain('too new for the server to understand')
    })
  })
})
