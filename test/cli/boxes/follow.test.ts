import { expect, test } from 'vitest'
import { manualClock } from '../../../src/core/kit/index.ts'
import { type Answers, tenantry } from '../../support/command-line.ts'
import { aBoxDetail, aCommand, at } from '../../support/records.ts'

const box = 'GET /api/admin/v1/boxes/anna-schule'
const open = (commandId: string, status: 'running' | 'expired' = 'running', kind = 'tenant-box.restore') => ({
  ...{ commandId, kind, status, host: 'host-1' },
  ...{ since: at('02:00:00'), deadlineAt: at('04:00:00') },
})
const busy = (...commands: ReturnType<typeof open>[]) =>
  aBoxDetail({ slug: 'anna-schule', heldBy: 'restore:cmd_1', openCommands: commands })
const idle = aBoxDetail({ slug: 'anna-schule', heldBy: null, openCommands: [] })

const follow = (answers: Answers, ...more: string[]) => {
  const clock = manualClock()
  const sleep = async (ms: number) => void (await clock.advance(ms))
  return tenantry(['boxes', 'follow', 'anna-schule', ...more], { answers, clock: { ...clock, sleep } })
}

const running = aCommand({ id: 'cmd_1', status: 'running', progress: [{ step: 'load', at: at('02:00:01'), percent: 40 }] })
const restored = (outcome: string) => aCommand({ id: 'cmd_1', status: 'succeeded', result: { outcome } })

test('prints the present step at once, each further one, and the outcome', async () => {
  const probing = { ...running, revision: 9, progress: [{ step: 'start', at: at('02:00:09') }] }
  const answers = { [box]: [busy(open('cmd_1')), idle], 'GET /api/admin/v1/commands/cmd_1': [running, probing, restored('restored')] }
  const ran = await follow(answers)
  expect([ran.exit, ran.stdout]).toEqual([
    0,
    'anna-schule  restore: load snapshot: 40 %\nanna-schule  restore: start services\nanna-schule  restore: restored\n',
  ])
})

test('exits 1 where the restore failed, and continues with what follows while the box is on hold', async () => {
  const second = { ...aCommand({ id: 'cmd_2', status: 'succeeded', result: {} }) }
  const answers = {
    [box]: [busy(open('cmd_1')), busy(), busy(open('cmd_2', 'running', 'tenant-box.report_versions')), idle],
    'GET /api/admin/v1/commands/cmd_1': restored('restore_failed'),
    'GET /api/admin/v1/commands/cmd_2': second,
  }
  const ran = await follow(answers)
  expect([ran.exit, ran.stdout]).toEqual([1, 'anna-schule  restore: restore failed\nanna-schule  report versions: succeeded\n'])
})

test('says so where nothing runs, also where a command has expired', async () => {
  const ran = await follow({ [box]: aBoxDetail({ slug: 'anna-schule', heldBy: null, openCommands: [open('cmd_0', 'expired')] }) })
  expect([ran.exit, ran.stdout]).toEqual([0, 'Nothing runs on anna-schule. Its state: tenantry boxes show anna-schule\n'])
})

test('--command shows how it ended, also after it, and follows what still runs', async () => {
  const ended = { ...restored('restored'), kind: 'tenant-box.restore', boxId: idle.boxId }
  const ran = await follow({ [box]: idle, 'GET /api/admin/v1/commands/cmd_1': ended }, '--command', 'cmd_1')
  expect([ran.exit, ran.stdout]).toEqual([0, 'anna-schule  restore: restored\n'])
  const failed = await follow(
    { [box]: idle, 'GET /api/admin/v1/commands/cmd_1': { ...ended, result: { outcome: 'failed' } } },
    '--command',
    'cmd_1',
  )
  expect([failed.exit, failed.stdout]).toEqual([1, 'anna-schule  restore: failed\n'])
  const other = await follow({ [box]: idle, 'GET /api/admin/v1/commands/cmd_1': { ...ended, boxId: 'box_other' } }, '--command', 'cmd_1')
  expect([other.exit, other.stderr]).toEqual([3, expect.stringContaining('Command cmd_1 is not of anna-schule.')])
})

test('--json has the outcomes on stdout and the steps on stderr', async () => {
  const answers = { [box]: [busy(open('cmd_1')), idle], 'GET /api/admin/v1/commands/cmd_1': [running, restored('restored')] }
  const ran = await follow(answers, '--json')
  expect(JSON.parse(ran.stdout)).toEqual({
    slug: 'anna-schule',
    commands: [{ commandId: 'cmd_1', kind: 'restore', status: 'succeeded', outcome: 'restored', error: null }],
  })
  expect(ran.stderr).toContain('restore: load')
})

test('--url is asked, and repeated in every command that the steps and results name', async () => {
  const url = 'https://other.example'
  const held = aCommand({
    ...{ id: 'cmd_1', status: 'failed' },
    error: { code: 'BOX_HELD', message: 'box anna-schule is in maintenance. fix: `tenantry boxes maintenance off anna-schule`' },
  })
  const failed = await follow({ [box]: [busy(open('cmd_1')), idle], 'GET /api/admin/v1/commands/cmd_1': held }, '--url', url)
  expect(failed.stdout).toContain(`fix: \`tenantry --url ${url} boxes maintenance off anna-schule\``)
  expect([failed.exit, new Set(failed.asked.map(({ origin }) => origin))]).toEqual([1, new Set([url])])
  const { stdout } = await follow({ [box]: idle }, '--url', url)
  expect(stdout).toBe(`Nothing runs on anna-schule. Its state: tenantry --url ${url} boxes show anna-schule\n`)
})
