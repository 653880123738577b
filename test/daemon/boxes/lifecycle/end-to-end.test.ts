import { expect, onTestFinished, test } from 'vitest'
import type { BoxCommandResult } from '../../../../src/core/boxes/index.ts'
import { type Clock, isProblem } from '../../../../src/core/kit/index.ts'
import { before, manifestWith } from '../../../../src/demo/fleet.ts'
import { runSimulatedAgent } from '../../../../src/demo/simulated-agent.ts'
import { systemClock } from '../../../../src/node/index.ts'
import { aFolder, aRunningDaemon, clientOf, loggedIn } from '../../../support/running-daemon.ts'

/** Shortens the sleeps of the daemon's loops, so that queued work runs at once. */
const restless: Clock = { ...systemClock, sleep: (ms, signal) => systemClock.sleep(Math.min(ms, 300), signal) }
const north = { params: { slug: 'north' } }

/** A whole daemon, whole agents on two simulated hosts with a shared snapshot store, one box. */
async function setUp() {
  const daemon = await aRunningDaemon({ clock: restless, env: { TENANTRY_PROBE_SPACING_MS: '1000' } })
  const api = clientOf(daemon.url, await loggedIn(daemon, 'admin'))
  const leaving = new AbortController()
  const vaults = new Map()
  const agents = await Promise.all(
    ['amsel', 'drossel'].map(async (name) => {
      const { token } = await api.hosts.inviteHost({ body: { name } })
      return { name, daemonUrl: daemon.url, token, folder: await aFolder(name), faults: [], vaults, signal: leaving.signal }
    }),
  )
  const running = agents.map(runSimulatedAgent)
  onTestFinished(async () => {
    leaving.abort()
    await Promise.all(running)
    await daemon.close()
  })
  await expect.poll(async () => (await api.hosts.listHosts()).hosts.map(({ status }) => status)).toEqual(['online', 'online'])
  await api.boxes.applyManifest({ body: { manifest: manifestWith(before) } })
  const wanted = { slug: 'north', name: 'North School', plan: 'light', chatDomain: 'north.example', host: 'amsel' } as const
  await done((await api.boxes.provisionBox({ body: wanted })).commandId)
  async function done<Result>(commandId: string): Promise<Result> {
    const command = () => api.hosts.showCommand({ params: { id: commandId }, query: { waitMs: 5000 } })
    await expect.poll(async () => (await command()).status).toMatch(/succeeded|failed|expired/)
    const { error, result } = await command()
    expect(error).toBe(null)
    return result as Result
  }
  const box = () => api.boxes.showBox(north)
  return { api, done, box }
}

test('logs, maintenance, moves, removal, restore and erasing work end to end with agents', async () => {
  const { api, done, box } = await setUp()
  const logs = await done<BoxCommandResult<'tenant-box.logs'>>((await api.boxes.readLogs({ ...north, body: {} })).commandId)
  expect(logs.lines).toBeInstanceOf(Array)
  for (const on of [true, false]) {
    await done((await api.boxes.maintainBox({ ...north, body: { on, reason: 'looking at its disk' } })).commandId)
    expect(await box()).toMatchObject({ fenced: on, heldBy: on ? 'maintenance' : null })
  }

  for (const [to, from, epoch] of [
    ['drossel', 'amsel', 2],
    ['amsel', 'drossel', 3],
  ] as const) {
    await api.boxes.moveBox({ ...north, body: { to, reason: `${from} is full` } })
    await expect.poll(async () => (await box()).move, { timeout: 120_000 }).toMatchObject({ state: 'confirming', error: null })
    expect(await box()).toMatchObject({ host: to, ownershipEpoch: epoch, fenced: false, heldBy: null, managed: true })
    await api.boxes.confirmMove(north)
    await expect.poll(async () => (await box()).move).toMatchObject({ state: 'done', error: null })
    await done((await api.boxes.checkBox(north)).commandId)
  }

  const wish = { confirm: 'north', reason: 'the school has left' }
  await api.boxes.removeBox({ ...north, body: wish })
  await expect.poll(async () => (await box()).removal).toMatchObject({ state: 'kept', error: null })
  await api.boxes.undoRemoval(north)
  await expect.poll(async () => (await box()).removal).toMatchObject({ state: 'undone', error: null })
  expect(await box()).toMatchObject({ status: 'ready', fenced: false, ownershipEpoch: 4 })
  await api.boxes.removeBox({ ...north, body: { ...wish, now: true } })
  const gone = () =>
    box().then(
      ({ removal }) => removal?.error ?? removal?.state,
      (error) => isProblem(error, 'NOT_FOUND') && 'erased',
    )
  await expect.poll(gone).toBe('erased')
})
