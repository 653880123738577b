import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { manualClock } from '../../../src/core/kit/index.ts'
import { problemAnswer, temporaryFolder, tenantry } from '../../support/command-line.ts'

const env = { TENANTRY_URL: 'http://127.0.0.1:8440', TENANTRY_TOKEN: 't' }

/** Hosts whose agent has the version once the command ran; `sick`: the box of that host does not come back. */
async function fleet({ sick }: Readonly<{ sick?: string }> = {}) {
  const folder = await temporaryFolder()
  const order = join(folder, 'order')
  const isDone = async (name: string) => (await readFile(order, 'utf8').catch(() => '')).split('\n').includes(name)
  const hostOf = async (name: string, boxes: number) => {
    const done = await isDone(name)
    const resources = {
      cpus: 2,
      memoryBytes: 1,
      diskBytes: 9,
      freeDiskBytes: 9,
      boxes,
      ...(done ? { checkedAt: '2026-01-05T02:01:00.000Z' } : {}),
    }
    return { name, status: 'online', agentVersion: done ? '0.2.1+b' : '0.2.0+a', resources, resourcesAt: done ? 'after' : 'before' }
  }
  const boxes = { 'host-1': 5, 'host-2': 2, 'host-3': 7 }
  const hosts = () => Promise.all(Object.entries(boxes).map(([name, count]) => hostOf(name, count)))
  const clock = manualClock()
  const options = {
    env,
    // Waiting passes at once.
    clock: { ...clock, sleep: (ms: number) => clock.advance(ms) },
    answers: {
      'GET /api/admin/v1/hosts': async () => ({ hosts: await hosts() }),
      ...Object.fromEntries(Object.entries(boxes).map(([name, count]) => [`GET /api/admin/v1/hosts/${name}`, () => hostOf(name, count)])),
      'GET /api/admin/v1/boxes': async ({ search }: { search: string }) => {
        const host = new URLSearchParams(search).get('host') ?? ''
        const state = host === sick && (await isDone(host)) ? 'down' : 'running'
        return {
          boxes: [{ slug: `box-of-${host}`, health: { state, why: state === 'down' ? 'chat server: stopped' : null } }],
          nextCursor: null,
        }
      },
    },
  }
  const run = `echo "$HOST" >> ${order}; echo installed`
  const ran = async () => (await readFile(order, 'utf8').catch(() => '')).trim().split('\n').filter(Boolean)
  const upgrade = (...more: string[]) => tenantry(['hosts', 'upgrade', '--to', '0.2.1', '--yes', '--json', ...more], options)
  return { upgrade, run, ran, options, clock }
}

const states = (stdout: string) =>
  Object.fromEntries(JSON.parse(stdout).hosts.map((one: { host: string; state: string }) => [one.host, one.state]))

test('the host with the fewest boxes is first and watched, then come the others', async () => {
  const { upgrade, run, ran, clock } = await fleet()
  const { exit, stdout, stderr } = await upgrade('--run', run, '--pause', '10m')
  expect(states(stdout)).toEqual({ 'host-1': 'upgraded', 'host-2': 'upgraded', 'host-3': 'upgraded' })
  expect(await ran()).toEqual(['host-2', 'host-1', 'host-3'])
  expect(clock.monotonicMs()).toBeGreaterThanOrEqual(600_000)
  expect(stderr).toContain('host-2: installed')
  expect(exit).toBe(0)
  const again = await upgrade('--run', run)
  expect(states(again.stdout)).toEqual({ 'host-1': 'up_to_date', 'host-2': 'up_to_date', 'host-3': 'up_to_date' })
  expect(await ran()).toHaveLength(3)
})

test('a box that does not come back on the first host stops the upgrade', async () => {
  const { upgrade, run, ran } = await fleet({ sick: 'host-2' })
  const { exit, stdout } = await upgrade('--run', run, '--timeout', '2m')
  expect(states(stdout)).toEqual({ 'host-1': 'not_started', 'host-2': 'failed', 'host-3': 'not_started' })
  expect(JSON.parse(stdout).hosts[0].why).toBe('box-of-host-2 is down: chat server: stopped')
  expect(await ran()).toEqual(['host-2'])
  expect(exit).toBe(1)
})

test.each([
  ['exit 3', 'its command ended with exit code 3'],
  ['kill -TERM $$', 'its command was ended by SIGTERM'],
  ['true', 'its agent is still 0.2.0+a'],
])('after %s the next hosts are not started', async (run, why) => {
  const { upgrade } = await fleet()
  const { exit, stdout } = await upgrade('--run', run, '--canary', 'host-3', '--timeout', '1m')
  expect(JSON.parse(stdout).hosts[0]).toMatchObject({ host: 'host-3', state: 'failed', why })
  expect(states(stdout)['host-1']).toBe('not_started')
  expect(exit).toBe(1)
})

test('a plan runs nothing, and without a command each host is named to the person', async () => {
  const { options, ran } = await fleet()
  const planned = await tenantry(['hosts', 'upgrade', '--to', '0.2.1', '--plan', '--run', 'exit 1'], options)
  expect(planned).toMatchObject({
    exit: 0,
    stdout: expect.stringMatching(/^HOST +PLANNED.*\nhost-2 +upgrade.*\nhost-1 +upgrade.*\nhost-3 +upgrade/),
  })
  const byHand = await tenantry(['hosts', 'upgrade', '--to', '0.2.1', '--yes', '--timeout', '1m'], options)
  expect(byHand.stderr).toContain('host-2: install 0.2.1 there now and restart its agent')
  expect(byHand.stdout).toMatch(/host-2 +failed +1 min +its agent is still 0\.2\.0\+a/)
  expect(await ran()).toEqual([])
})

test('a daemon that restarts meanwhile is asked again', async () => {
  const { options, run, ran } = await fleet()
  let calls = 0
  const key = 'GET /api/admin/v1/hosts/host-2'
  const host = (options.answers as Record<string, unknown>)[key] as () => unknown
  const answer = () => (++calls === 2 ? problemAnswer(503, { code: 'UNAVAILABLE', message: 'restarts' } as never) : host())
  const answers = { ...options.answers, [key]: answer }
  const { exit } = await tenantry(['hosts', 'upgrade', '--to', '0.2.1', '--yes', '--host', 'host-2', '--run', run], { ...options, answers })
  expect(exit).toBe(0)
  expect(await ran()).toEqual(['host-2'])
})

test('a host that was removed meanwhile has a row too, beside those that are done', async () => {
  const { options, run, ran } = await fleet()
  const gone = () => problemAnswer(404, { code: 'NOT_FOUND', message: 'host host-1 does not exist' } as never)
  const answers = { ...options.answers, 'GET /api/admin/v1/hosts/host-1': gone }
  const { exit, stdout } = await tenantry(['hosts', 'upgrade', '--to', '0.2.1', '--yes', '--json', '--run', run], { ...options, answers })
  expect(states(stdout)).toEqual({ 'host-1': 'failed', 'host-2': 'upgraded', 'host-3': 'not_started' })
  expect(JSON.parse(stdout).hosts[1].why).toContain('host host-1 does not exist')
  expect(await ran()).toEqual(['host-2'])
  expect(exit).toBe(1)
})
