import { execFile, spawn } from 'node:child_process'
import { copyFile } from 'node:fs/promises'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { freePort } from '../support/free-port.ts'
import { startPlatformEdge } from '../support/platform-edge.ts'
import { aPlatformSession } from '../support/platform-user.ts'
import { aFolder, aKey, aRunningDaemon, clientOf, loggedIn, type RunningDaemon } from '../support/running-daemon.ts'

// Event streams of real client libraries, the newest version and an older one of each, through the shipped nginx: their token expires during the
// stream, then the daemon restarts, then the network is away. docs/clients.md names these libraries.

/** `fetch`: the app gives the library a fetch that sends the current token. `header`: it opens the stream again with another header. */
const libraries = [
  ['eventsource-2', 'eventsource@2.0.2', 'header'],
  ['eventsource-3', 'eventsource@3.0.7', 'fetch'],
  ['eventsource-5', 'eventsource@5.1.5', 'fetch'],
  ['event-source-polyfill', 'event-source-polyfill@1.0.31', 'header'],
  ['event-source-polyfill-older', 'event-source-polyfill@1.0.25', 'header'],
  ['fetch-event-source', '@microsoft/fetch-event-source@2.0.1', 'fetch'],
  ['fetch-event-source-older', '@microsoft/fetch-event-source@2.0.0', 'fetch'],
  ['launchdarkly-eventsource', 'launchdarkly-eventsource@2.2.0', 'header'],
  ['launchdarkly-eventsource-older', 'launchdarkly-eventsource@2.0.3', 'header'],
  ['eventsource-client', 'eventsource-client@1.2.0', 'fetch'],
  ['eventsource-client-older', 'eventsource-client@1.1.4', 'fetch'],
  ['extended-eventsource', 'extended-eventsource@2.1.0', 'header'],
  ['extended-eventsource-older', 'extended-eventsource@1.7.0', 'header'],
] as const

const tokenMs = 20_000
const stops: (() => unknown)[] = []
const lines = new Map<string, string[]>()
/** Ids of the events of a library, in the order in which it reported them. */
const eventsOf = (name: string) => (lines.get(name) ?? []).filter((line) => line.startsWith('flag.changed ')).map((line) => line.slice(13))
const libraryNames = libraries.map(([name]) => name)

let daemon: RunningDaemon
let edge: Awaited<ReturnType<typeof startPlatformEdge>>
let closeEdge: () => Promise<void>
let operator: string
const env: Record<string, string> = { TENANTRY_SECRET_KEY: aKey(), TENANTRY_TRUSTED_PROXIES: '127.0.0.1' }

beforeAll(async () => {
  env.TENANTRY_LISTEN = `127.0.0.1:${await freePort()}`
  env.TENANTRY_DATA_DIR = await aFolder('event-clients')
  const folder = await aFolder('event-libraries')
  await copyFile(join(import.meta.dirname, 'support/event-client.js'), join(folder, 'client.mjs'))
  const packages = libraries.map(([name, version]) => `${name}@npm:${version}`)
  await promisify(execFile)('npm', ['install', '--ignore-scripts', '--no-audit', '--no-fund', '--no-save', '--prefix', folder, ...packages])
  daemon = await aRunningDaemon({ env })
  operator = await loggedIn(daemon, 'operator')
  edge = await startPlatformEdge(Number(env.TENANTRY_LISTEN.split(':')[1]), '', 'localhost')
  closeEdge = edge.close
  stops.push(() => closeEdge())
  const base = `https://${edge.serverName}:${edge.ports.secure}`
  for (const [name, , kind] of libraries) {
    const { token, refreshToken } = await aPlatformSession(daemon, { tenant: 'linden', localpart: name, tokenMs })
    const child = spawn(process.execPath, [join(folder, 'client.mjs'), name, kind, base], {
      cwd: folder,
      stdio: ['ignore', 'pipe', 'ignore'],
      env: { PATH: process.env.PATH, TOKEN: token, REFRESH_TOKEN: refreshToken, NODE_TLS_REJECT_UNAUTHORIZED: '0', NODE_NO_WARNINGS: '1' },
    })
    stops.push(() => child.kill('SIGKILL'))
    const printed: string[] = []
    lines.set(name, printed)
    // Some libraries write their own lines to stderr.
    child.stdout.setEncoding('utf8').on('data', (text: string) => printed.push(...text.split('\n').filter(Boolean)))
  }
})
afterAll(async () => {
  for (const stop of stops.reverse()) await stop()
  await daemon?.close()
})

let flags = 0
const publish = () =>
  clientOf(daemon.url, operator).tenants.changeTenant({
    params: { slug: 'linden' },
    body: { featureFlags: { [`flag${++flags}`]: true } },
  })
const allHeard = () =>
  expect.poll(() => libraryNames.filter((name) => eventsOf(name).length < flags), { timeout: 120_000, interval: 200 }).toEqual([])
const allConnected = () =>
  expect
    .poll(() => [...lines].filter(([, printed]) => !printed.some((line) => line.startsWith('position'))), { timeout: 60_000 })
    .toEqual([])
const clean = (name: string) => {
  const ids = eventsOf(name).map(Number)
  const isInOrder = ids.every((id, at) => at === 0 || id > (ids[at - 1] as number))
  return {
    events: ids.length,
    isInOrder,
    wrong: lines.get(name)?.filter((line) => !/^(flag\.changed|position) \d+$|^refreshed$/.test(line)),
  }
}

test('a token that expires during the stream costs no event: the app refreshes it and goes on behind the last one', async () => {
  await allConnected()
  while (libraryNames.some((name) => !lines.get(name)?.includes('refreshed'))) await publish()
  await publish()
  await allHeard()
  for (const name of libraryNames) expect({ name, ...clean(name) }).toEqual({ name, events: flags, isInOrder: true, wrong: [] })
})

test('nor does a restart of the daemon', async () => {
  await daemon.close()
  daemon = await aRunningDaemon({ env })
  await publish()
  await publish()
  await allHeard()
  for (const name of libraryNames) expect({ name, ...clean(name) }).toEqual({ name, events: flags, isInOrder: true, wrong: [] })
})

test('nor do lost connections while events happen', async () => {
  await closeEdge()
  await publish()
  await publish()
  closeEdge = await edge.start()
  await publish()
  await allHeard()
  for (const name of libraryNames) expect({ name, ...clean(name) }).toEqual({ name, events: flags, isInOrder: true, wrong: [] })
})
