import { connect } from 'node:net'
import { expect, test } from 'vitest'
import { openDatabase } from '../../src/daemon/db/index.ts'
import { type Api, anAgent, aRunningDaemon, clientOf, loggedIn, type RunningDaemon } from '../support/running-daemon.ts'

test('a daemon with a stream and a long poll open ends at once: both are told to go elsewhere, and its leases are handed back', async () => {
  const daemon = await aRunningDaemon()
  const operator = await loggedIn(daemon, 'operator')
  const { agent } = await anAgent(daemon, operator, 'host-1')
  const api = clientOf(daemon.url, operator)
  const { id } = await api.rollouts.createRollout({ body: {} })
  const story = (await api.rollouts.rolloutEvents({ params: { id } }))[Symbol.asyncIterator]()
  expect((await story.next()).value.event).toBe('rollout.created')
  const streamEnded = story.next().then(({ done }) => done)
  const poll = agent.nextCommand({ body: { holding: [] } })
  await heardAllBefore(api)
  await expect.poll(() => leasesHeld(daemon)).toContain('hosts.sweep')

  const started = performance.now()
  await daemon.close()
  expect(performance.now() - started).toBeLessThan(12_500) // half of what the long poll lasts
  // Who was not told would have been cut off: these are answers.
  expect(await poll).toEqual({ command: null })
  expect(await streamEnded).toBe(true)
  expect(await leasesHeld(daemon)).toEqual([])
  await expect(api.service.readyz()).rejects.toMatchObject({ code: 'UNREACHABLE' })
})

test('a client that never sends the rest of its request is not waited for', async () => {
  const daemon = await aRunningDaemon()
  const { hostname, port } = new URL(daemon.url)
  const socket = connect(Number(port), hostname).on('error', () => undefined)
  const cutOff = new Promise((resolve) => socket.once('close', resolve))
  socket
    .resume()
    .write('POST /api/admin/v1/login HTTP/1.1\r\nhost: x\r\ncontent-type: application/json\r\ncontent-length: 100\r\n\r\n{"name":')
  await heardAllBefore(clientOf(daemon.url))
  const started = performance.now()
  await daemon.close()
  expect(performance.now() - started).toBeLessThan(30_000)
  await cutOff
})

test('a request that a proxy sends on an idle connection while the daemon stops is answered, and the connection closed', async () => {
  const daemon = await aRunningDaemon({ env: { TENANTRY_TRUSTED_PROXIES: '127.0.0.1' } })
  const { hostname, port } = new URL(daemon.url)
  let heard = ''
  const socket = connect(Number(port), hostname).on('data', (data) => {
    heard += data
  })
  const ask = () => socket.write('GET /healthz HTTP/1.1\r\nhost: x\r\n\r\n')
  ask()
  await expect.poll(() => heard).toContain('200 OK')
  const closed = daemon.close()
  heard = ''
  ask()
  await closed
  expect(heard).toMatch(/^HTTP\/1\.1 200 OK[\s\S]*connection: close/i)
})

/** Calls are taken in turn: when these were answered, those before them have arrived. */
async function heardAllBefore({ service }: Api): Promise<void> {
  for (let n = 0; n < 20; n++) await service.readyz()
}

async function leasesHeld({ config }: RunningDaemon): Promise<string[]> {
  const { db, close } = openDatabase(config.databaseUrl)
  const rows = await db.selectFrom('leases').select('name').where('expires_at', '>', new Date().toISOString()).execute()
  await close()
  return rows.map(({ name }) => name)
}
