import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import type { HostView } from '../../../src/core/hosts/index.ts'
import { temporaryFolder, tenantry } from '../../support/command-line.ts'

const aHost = (change: Partial<HostView> = {}): HostView => ({
  id: 'host_1',
  name: 'host-1',
  status: 'online',
  enrolledAt: '2025-12-05T02:00:00.000Z',
  lastSeenAt: '2026-01-05T01:59:58.000Z',
  agentVersion: '0.1.0',
  protocolVersion: 1,
  engine: { engine: '27.1', compose: '2.29', restic: '0.18.0' },
  resources: {
    cpus: 4,
    memoryBytes: 16 * 2 ** 30,
    memoryAvailableBytes: 5 * 2 ** 30,
    load: [1.25, 0.5, 0.25],
    diskBytes: 100 * 2 ** 30,
    freeDiskBytes: 40 * 2 ** 30,
    boxes: 12,
    diskReserve: 'kept',
    agentRssBytes: 70 * 2 ** 20,
    uptimeMs: 3_600_000,
  },
  resourcesAt: '2026-01-05T01:59:30.000Z',
  diskLow: false,
  clockOffsetMs: 200,
  skewed: false,
  keySince: '2025-12-20T02:00:00.000Z',
  reason: null,
  ...change,
})

const env = { TENANTRY_URL: 'http://127.0.0.1:8440', TENANTRY_TOKEN: 't' }
const shown = async (host: HostView) =>
  (await tenantry(['hosts', 'show', 'host-1'], { env, answers: { 'GET /api/admin/v1/hosts/host-1': host } })).stdout
const listed = async (host: HostView) =>
  (await tenantry(['hosts', 'list'], { env, columns: 160, answers: { 'GET /api/admin/v1/hosts': { hosts: [host] } } })).stdout

describe('a host', () => {
  test('is shown with its resource use and the age of its key', async () => {
    const text = await shown(aHost())
    expect(text).toMatch(/cpus +4, load 1\.25 0\.50 0\.25/)
    expect(text).toMatch(/memory +17\.2 GB, 5\.4 GB available/)
    expect(text).toMatch(/disk +42\.9 GB of 107 GB free$/m)
    expect(text).toMatch(/boxes +12/)
    expect(text).toMatch(/disk reserve +intact/)
    expect(text).toMatch(/agent uses +73\.4 MB/)
    expect(text).toMatch(/key since +2025-12-20 02:00:00 UTC \(16 d ago\)/)
    expect(text).not.toContain('skewed')
  })

  test.each([
    [303_000, 'skewed +5m 3s'],
    [-303_000, 'skewed -5m 3s'],
  ])('whose clock is %i ms off is marked, with the fix', async (clockOffsetMs, words) => {
    for (const text of [await shown(aHost({ clockOffsetMs, skewed: true })), await listed(aHost({ clockOffsetMs, skewed: true }))]) {
      expect(text).toContain(words)
      expect(text).toContain('timedatectl')
    }
  })

  test('with less than 10 % free disk is marked', async () => {
    const { resources } = aHost()
    const full = aHost({ diskLow: true, resources: resources && { ...resources, freeDiskBytes: 9 * 2 ** 30 } })
    expect(await listed(full)).toMatch(/9\.7 GB !/)
    expect(await shown(full)).toMatch(/less than 10 % free disk/)
    expect(await listed(aHost())).not.toContain('!')
  })

  test('that is frozen shows the fix', async () => {
    expect(await listed(aHost({ status: 'frozen', reason: 'two agents used its key' }))).toMatch(
      /stop the other agent, .*tenantry hosts invite host-1/,
    )
  })

  test('of an older agent with few fields is shown', async () => {
    const resources = { cpus: 2, memoryBytes: 2 ** 30, diskBytes: 2 ** 33, freeDiskBytes: 2 ** 32 }
    expect(await shown(aHost({ resources, resourcesAt: null, clockOffsetMs: null }))).toMatch(/cpus +2$/m)
  })
})

describe('registries', () => {
  const entry = { registry: 'docker.io', host: null, mirror: 'mirror.example:5000', username: null, hasPassword: false }
  const answers = {
    'PUT /api/admin/v1/registries': (asked: { body: unknown }) => ({ ...entry, ...(asked.body as object), updatedAt: '', updatedBy: 'x' }),
    'POST /api/admin/v1/registries/remove': new Response(null, { status: 204 }),
    'GET /api/admin/v1/registries': { registries: [] },
  }
  const type = (...line: string[]) => tenantry(['hosts', 'registries', ...line], { env, answers, stdin: 'a long password\n' })

  test('a mirror for all hosts', async () => {
    const { exit, asked } = await type('set', 'docker.io', '--all-hosts', '--mirror', 'mirror.example:5000')
    expect(exit).toBe(0)
    expect(asked.at(-1)?.body).toEqual({ registry: 'docker.io', host: null, mirror: 'mirror.example:5000' })
  })

  test('an account of one host: the password comes from stdin or a file and is not printed', async () => {
    const file = join(await temporaryFolder(), 'password')
    await writeFile(file, 'a long password\n')
    for (const from of ['-', file]) {
      const ran = await type('set', 'registry.example', '--host', 'host-1', '--username', 'puller', '--password-file', from)
      const body = { registry: 'registry.example', host: 'host-1', username: 'puller', password: 'a long password' }
      expect(ran.asked.at(-1)?.body).toEqual(body)
      expect(ran.stdout).not.toContain('a long password')
    }
  })

  test('without a terminal a missing password is a usage error', async () => {
    const ran = await type('set', 'registry.example', '--host', 'host-1', '--username', 'puller')
    expect(ran.exit).toBe(2)
    expect(ran.stderr).toContain('--password-file')
  })

  test.each([
    [['set', 'docker.io', '--mirror', 'm.example']],
    [['set', 'docker.io', '--host', 'host-1', '--all-hosts', '--mirror', 'm.example']],
    [['remove', 'docker.io']],
    [['remove', '--all-hosts']],
    [['forget', 'docker.io', '--all-hosts']],
  ])('%j is a usage error', async (line) => {
    expect((await type(...line)).exit).toBe(2)
  })

  test('list and remove', async () => {
    expect((await type('list')).stdout).toContain('No registry settings.')
    const { exit, asked } = await type('remove', 'docker.io', '--all-hosts')
    expect([exit, asked.at(-1)?.body]).toEqual([0, { registry: 'docker.io', host: null }])
  })
})

test('a host named like a path word is read from the list', async () => {
  const ask = (hosts: HostView[]) =>
    tenantry(['hosts', 'show', 'invites', '--json'], { env, answers: { 'GET /api/admin/v1/hosts': { hosts } } })
  const ran = await ask([aHost(), aHost({ name: 'invites', id: 'host_2' })])
  expect(JSON.parse(ran.stdout)).toMatchObject({ id: 'host_2', name: 'invites' })
  const none = await ask([aHost()])
  expect([none.exit, none.stderr]).toEqual([3, expect.stringContaining('host invites does not exist')])
})
