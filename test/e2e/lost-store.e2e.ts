import { readdir, rename } from 'node:fs/promises'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { converse, type ReachableBox } from './support/conversation.ts'
import { type Fleet, logOnFailure, startFleet } from './support/fleet.ts'
import { eventually } from './support/programs.ts'

// The disk of the snapshots is not mounted: nothing is created in its place, no box is updated, and all is found again once it is back.

let fleet: Fleet
let box: ReachableBox
beforeAll(async () => {
  fleet = await startFleet()
  await fleet.applySynapse('1.157.1')
  box = await fleet.provision('kita', 'light')
})
logOnFailure(() => fleet)
afterAll(() => fleet?.end())

const statuses = async () => (await fleet.api.snapshots.listSnapshots({})).snapshots.map(({ status }) => status)
const alerts = async () =>
  (await fleet.api.alerts.listAlerts({})).alerts
    .filter(({ kind }) => kind === 'snapshot_store_lost')
    .map(({ subject, severity, status }) => `${subject} ${severity} ${status}`)
const takes = () => fleet.tenantry('snapshots', 'take', 'kita', '--wait')

test('a store that is away is reported at once, and used again once it is back', async () => {
  const [store, away] = [join(fleet.folder, 'snapshots'), join(fleet.folder, 'snapshots.away')]
  const settled = () => fleet.api.boxes.showBox({ params: { slug: 'kita' } }).then(({ heldBy }) => heldBy === null)
  await eventually('the box is settled', settled)
  expect(await takes()).toMatchObject({ exitCode: 0, stdout: expect.stringContaining('1 snapshot taken') })
  await rename(store, away)

  const refused = await takes()
  expect(refused.exitCode).not.toBe(0)
  expect(`${refused.stdout}${refused.stderr}`).toMatch(/SNAPSHOT_STORE_LOST/)
  await expect(readdir(store)).rejects.toMatchObject({ code: 'ENOENT' })
  expect((await fleet.must('snapshots', 'list')).stdout).toMatch(/missing/)
  expect([await statuses(), await alerts()]).toEqual([['missing'], ['host-1 critical open']])

  const talk = await converse(box, 2)
  await fleet.applySynapse('1.163.2')
  const update = await fleet.tenantry('rollouts', 'create', '--target', 'kita', '--start', '--wait', '--json')
  expect(update.exitCode).toBe(8)
  const [action] = update.json<{ actions: { status: string; error: { code: string } }[] }>().actions
  expect(action).toMatchObject({ status: 'failed', error: { code: 'SNAPSHOT_STORE_LOST' } })
  expect((await fleet.api.boxes.showBox({ params: { slug: 'kita' } })).installed.synapse).toBe('1.157.1')
  await talk.expectComplete()

  await rename(away, store)
  await fleet.must('crons', 'run', 'snapshot-check')
  await eventually('the snapshots are found again', async () => (await statuses()).every((status) => status === 'present'))
  expect(await alerts()).toEqual(['host-1 critical closed'])
  expect(await takes()).toMatchObject({ exitCode: 0, stdout: expect.stringContaining('1 snapshot taken') })
})
