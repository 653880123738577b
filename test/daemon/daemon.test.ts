import { subscribe, unsubscribe } from 'node:diagnostics_channel'
import { mkdtemp } from 'node:fs/promises'
import type { Server } from 'node:http'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, describe, expect, test } from 'vitest'
import { api } from '../../src/core/api.ts'
import { maxFileBytes } from '../../src/core/files/index.ts'
import { loadConfig } from '../../src/daemon/config/index.ts'
import { startDaemon } from '../../src/daemon/daemon.ts'
import { silentLogger, systemClock, systemRandom } from '../../src/node/index.ts'
import { composedDaemon } from '../support/composed-daemon.ts'

const closing: (() => Promise<void>)[] = []
afterEach(async () => {
  for (const close of closing.splice(0)) await close()
})

const base = { clock: systemClock, random: systemRandom, log: silentLogger() }

async function start(listen: string) {
  const config = loadConfig({ env: { TENANTRY_LISTEN: listen, TENANTRY_DATA_DIR: await mkdtemp(join(tmpdir(), 'tenantry-daemon-')) } })
  const daemon = await startDaemon({ ...base, config, validateAnswers: true })
  closing.push(daemon.close)
  return daemon
}

test('what is declared is mounted, and what is mounted is declared', async () => {
  const { served } = await composedDaemon()
  const name = ({ method, path }: { method: string; path: string }) => `${method} ${path}`
  const declared = Object.values(api).flatMap((contract) => Object.values(contract).map(name))
  expect(served.map(({ endpoint }) => name(endpoint)).sort()).toEqual(declared.sort())
})

describe('a daemon on embedded defaults', () => {
  test('is ready, tells its interface, and asks for a login', async () => {
    const { url } = await start('127.0.0.1:18471')
    expect((await fetch(`${url}/healthz`)).status).toBe(200)
    expect(await (await fetch(`${url}/readyz`)).json()).toMatchObject({ ready: true, checks: { database: { ok: true } } })
    expect(await (await fetch(`${url}/openapi.json`)).json()).toMatchObject({ openapi: '3.1.0' })
    expect(await (await fetch(`${url}/docs`)).text()).toContain('/admin/tenant-boxes/rollouts')
    const metrics = await (await fetch(`${url}/metrics`)).text()
    for (const line of ['tenantry_http_request_seconds', 'tenantry_hosts{state="online"} 0', 'tenantry_boxes'])
      expect(metrics).toContain(line)
    expect((await fetch(`${url}/api/admin/v1/hosts`)).status).toBe(401)
  })

  test('the largest file may come over a line of 256 kbit/s', async () => {
    const { url } = await start('127.0.0.1:18473')
    const servers: Server[] = []
    const began = (message: unknown) => void servers.push((message as { server: Server }).server)
    subscribe('http.server.request.start', began)
    closing.push(async () => void unsubscribe('http.server.request.start', began))
    await fetch(`${url}/healthz`)
    const bytesPerSecond = 256_000 / 8
    expect(servers[0]?.requestTimeout).toBeGreaterThan((1000 * maxFileBytes) / bytesPerSecond)
    expect(servers[0]?.headersTimeout).toBeLessThanOrEqual(60_000)
    expect(servers[0]?.maxConnections).toBe(20_000)
  })

  test('a port in use is a clear problem', async () => {
    await start('127.0.0.1:18472')
    await expect(start('127.0.0.1:18472')).rejects.toMatchObject({ code: 'PORT_TAKEN' })
  })
})
