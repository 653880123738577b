import { expect, test } from 'vitest'
import { type Asked, tenantry } from '../../support/command-line.ts'
import { at } from '../../support/records.ts'
import { typist } from '../../support/typist.ts'

const base = '/api/admin/v1/tenants/anna-schule/runs'
const ofTenant = ['--tenant', 'anna-schule']
const failed = {
  ...{ id: 'run_1', boardId: 'brd_1', boardName: 'Crisis', boardVersion: 1, spaceId: null, status: 'failed', trigger: 'chat' },
  ...{ activeColumnId: null, activeColumnIds: [], activeElementIds: [], seq: 3, completedAt: null, slaDeadline: null, slaWarningAt: null },
  ...{ failure: { code: 'EXPRESSION_FAILED', elementId: 'which', message: 'no value\u001b[31m' }, startedAt: at('00:00:00') },
}

test('list passes the search on and prints where each run is', async () => {
  const line = ['runs', 'list', ...ofTenant, '--status', 'failed', '--board', 'brd_1', '--element', 'which', '--older-than', '1h']
  const ran = await tenantry(line, { answers: { [`GET ${base}`]: { runs: [failed], nextCursor: null } } })
  expect(ran.asked[0]?.search).toMatch(/^\?status=failed&board=brd_1&element=which&startedBefore=2026/)
  const wrong = await tenantry(['runs', 'list', ...ofTenant, '--older-than', 'yesterday'])
  expect([wrong.exit, wrong.stderr]).toEqual([2, expect.stringContaining('--older-than yesterday is not a time')])
  const refused = {
    '5': 'is not a time',
    '2026-02-30': 'is not a time',
    '2026-01-05 02:00': 'is not a time',
    '2100-01-01': 'is in the future',
  }
  for (const [age, reason] of Object.entries(refused)) {
    const cancelled = await tenantry(['runs', 'cancel', ...ofTenant, '--older-than', age, '--yes'])
    expect([cancelled.exit, cancelled.asked, cancelled.stderr]).toEqual([2, [], expect.stringContaining(`--older-than ${age} ${reason}`)])
  }
  expect(ran.stdout).toMatch(/run_1 +Crisis +failed +which +2 h ago/)
  expect(ran.stdout).not.toContain('\u001b[31m')
})

test('show names the reason and whether a retry helps, history the steps', async () => {
  const shown = await tenantry(['runs', 'show', 'run_1', ...ofTenant], { answers: { [`GET ${base}/run_1`]: failed } })
  expect(shown.stdout).toContain('EXPRESSION_FAILED: no value')
  expect(shown.stdout.trim().split('\n').at(-1)).toBe(
    'A retry fails again. Once a corrected version of the board is published: tenantry runs retry run_1 --tenant anna-schule ' +
      '--board-version <version>. Or: tenantry runs cancel run_1 --tenant anna-schule, then start a new run',
  )
  const stopped = { ...failed, failure: { ...failed.failure, code: 'TOO_MANY_STEPS' } }
  const again = await tenantry(['runs', 'show', 'run_1', ...ofTenant], { answers: { [`GET ${base}/run_1`]: stopped } })
  expect(again.stdout.trim().split('\n').at(-1)).toBe('fix: tenantry runs retry run_1 --tenant anna-schule')
  const worked = { ...failed, failure: { ...failed.failure, code: 'TOO_MUCH_WORK' } }
  const useless = await tenantry(['runs', 'show', 'run_1', ...ofTenant], { answers: { [`GET ${base}/run_1`]: worked } })
  expect(useless.stdout.trim().split('\n').at(-1)).toContain('A retry fails again.')
  const lost = { ...stopped, undelivered: [{ type: 'message', elementId: 'inform', at: at('00:00:00') }] }
  const undelivered = await tenantry(['runs', 'show', 'run_1', ...ofTenant], { answers: { [`GET ${base}/run_1`]: lost } })
  expect(undelivered.stdout).toMatch(/NOT DELIVERED +ELEMENT +AT\s+message +inform +\d/)
  expect(undelivered.stdout.trim().split('\n').at(-1)).toBe('fix: tenantry runs retry run_1 --tenant anna-schule')
  const entries = [
    { seq: 1, at: at('00:00:00'), type: 'start', elementId: null, boardVersion: null },
    { seq: 2, at: at('00:00:00'), type: 'retry', elementId: null, boardVersion: 4 },
  ]
  const history = await tenantry(['runs', 'history', 'run_1', ...ofTenant], {
    answers: { [`GET ${base}/run_1/history`]: { entries, nextCursor: null } },
  })
  expect(history.stdout).toMatch(/1 +2026-\d\d-\d\d 00:00:00 +start +-\n[\s\S]*retry \(version 4\)/)
})

test('cancel and retry take ids or a filter, after a confirmation, and name refused runs', async () => {
  const refused = [{ id: 'run_2', code: 'RUN_ENDED', message: 'Run run_2 has ended.' }]
  const answers = {
    [`POST ${base}/cancel`]: { changed: ['run_1'], refused, more: false },
    [`POST ${base}/retry`]: { changed: [], refused: [], more: true },
  }
  const ran = await tenantry(['runs', 'cancel', 'run_1', 'run_2', ...ofTenant, '--yes'], { answers })
  expect(ran.asked[0]?.body).toEqual({ ids: ['run_1', 'run_2'] })
  expect([ran.exit, ran.stdout]).toEqual([5, '1 run cancelled.\n\nRun run_2 has ended.\n'])
  const retried = await tenantry(['runs', 'retry', ...ofTenant, '--element', 'which', '--yes'], { answers })
  expect(retried.asked[0]?.body).toEqual({ element: 'which' })
  expect(retried.stdout).toContain('run the same command again')
  const unasked = await tenantry(['runs', 'cancel', 'run_1', ...ofTenant], { answers: { ...answers, [`GET ${base}/run_1`]: {} } })
  expect([unasked.exit, unasked.asked.map(({ method }) => method)]).toEqual([2, ['GET']])
  expect((await tenantry(['runs', 'cancel', ...ofTenant, '--yes'], { answers })).stderr).toContain('pass run ids, or a filter')
  const moved = await tenantry(['runs', 'retry', 'run_1', ...ofTenant, '--board-version', '4', '--yes'], { answers })
  expect(moved.asked[0]?.body).toEqual({ ids: ['run_1'], boardVersion: 4 })
  expect((await tenantry(['runs', 'retry', 'run_1', '--status', 'failed', ...ofTenant, '--yes'], { answers })).exit).toBe(2)
})

test('the prompt names how many runs match, and by which filter', async () => {
  const page = (runs: readonly unknown[]) => ({ runs, nextCursor: null })
  const ended = { ...failed, failure: { ...failed.failure, code: 'CANCELLED' } }
  const waiting = { ...failed, status: 'waiting', failure: null }
  const answers = {
    [`GET ${base}`]: ({ search }: Asked) =>
      page(search.includes('status=failed') ? [failed, ended] : search.includes('status=waiting') ? [waiting, waiting] : []),
    [`POST ${base}/cancel`]: { changed: ['run_1'], refused: [], more: false },
  }
  const prompt = async (...line: string[]) => {
    const person = typist([['(y/N)', 'n']])
    const ran = await tenantry(['runs', ...line, ...ofTenant], { answers, typist: person })
    expect(ran.asked.filter(({ method }) => method !== 'GET')).toEqual([])
    return person.shown()
  }
  expect(await prompt('cancel', '--board', 'brd_1')).toContain('Cancel the 3 unfinished runs of board Crisis of anna-schule?')
  expect(await prompt('cancel', '--older-than', '2026-01-01')).toContain('the 3 unfinished runs started before 2026-01-01 00:00 UTC of')
  expect(await prompt('retry', '--element', 'which')).toContain('Retry the 0 failed runs at element which of anna-schule?')
})

test('read prints variables, steps with their users and values, and reports', async () => {
  const steps = [{ seq: 1, at: at('00:00:00'), type: 'submit', elementId: 'form', by: 'usr_1', values: { place: 'Hall' } }]
  const reports = [{ id: 'rep_1', title: 'Report', markdown: 'It was in\u001b[31m the Hall' }]
  const content = {
    ...failed,
    startedBy: 'usr_2',
    users: { usr_1: 'Tim\u001b[31m' },
    messages: [{ elementId: 'm1', status: 'failed' }],
    context: { place: 'Hall' },
    open: [
      {
        ...{
          checkpointId: 'run_1.t1',
          runId: 'run_1',
          elementId: 'alarm',
          kind: 'form',
          label: 'Alarm',
          assignedRole: 'teacher',
          taskId: null,
        },
        ...{ since: at('00:00:00'), dueAt: null, requiredApprovals: null, approvals: null, skippable: true },
        fields: [{ name: 'place', label: 'Place', kind: 'choice', required: true, options: ['hall', 'yard'] }],
      },
    ],
    steps,
    moreSteps: false,
    reports,
  }
  const ran = await tenantry(['runs', 'read', 'run_1', ...ofTenant], { answers: { [`POST ${base}/run_1/read`]: content } })
  expect(ran.stdout).toMatch(/started by usr_2[\s\S]*place +Hall[\s\S]*submit +form +Tim.*[\s\S]*It was in/)
  expect(ran.stdout).toContain('Message of m1: failed')
  expect(ran.stdout).toMatch(/alarm +form +Alarm +teacher +yes[\s\S]*place +choice +yes +hall, yard/)
  expect(ran.stdout).not.toContain('\u001b[31m')
})
