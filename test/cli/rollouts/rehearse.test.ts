import { expect, test } from 'vitest'
import type { Rehearsal, RehearsedBox } from '../../../src/core/rollouts/index.ts'
import { tenantry } from '../../support/command-line.ts'
import { at } from '../../support/records.ts'

const endpoint = 'POST /admin/tenant-boxes/rollouts/rehearse'

const aRehearsedBox = (tenantSlug: string, given: Partial<RehearsedBox> = {}): RehearsedBox => ({
  tenantSlug,
  hostName: 'host-1',
  phase: 'canary',
  status: 'succeeded',
  beginsMs: 0,
  endsMs: 240_000,
  fenceMs: 180_000,
  fenceP50Ms: 180_000,
  fenceP95Ms: 190_000,
  expectedFenceMs: 175_000,
  worstFenceMs: 3_720_000,
  error: null,
  waits: null,
  ...given,
})

const aRehearsal = (given: Partial<Rehearsal> = {}): Rehearsal => ({
  seed: 1,
  runs: 1,
  startedAt: at('02:00:00'),
  manifestRevision: 2,
  ended: 'done',
  updates: 1,
  refused: 0,
  skipped: 0,
  makespanMs: 240_000,
  worstMs: 3_780_000,
  phases: [
    { phase: 'canary', boxes: 1, beginsMs: 0, endsMs: 240_000 },
    { phase: 'free_5', boxes: 0, beginsMs: null, endsMs: null },
  ],
  boxes: [aRehearsedBox('oak')],
  pauses: [],
  gates: [],
  findings: [],
  ...given,
})

test('faults are sent as typed, and --json prints the response', async () => {
  const result = aRehearsal({ seed: 7 })
  const line = ['rollouts', 'rehearse', '--target', 'oak,elm', '--seed', '7', '--fail', 'oak', '--fail-rate', '0.02', '--offline', 'host-3']
  const ran = await tenantry([...line, '--json'], { answers: { [endpoint]: result } })
  expect([ran.exit, JSON.parse(ran.stdout)]).toEqual([0, result])
  expect(ran.asked.at(-1)?.body).toMatchObject({
    targetSlugs: ['oak', 'elm'],
    seed: 7,
    faults: { probeFailRate: 0.02, failProbes: ['oak'], failPulls: [], offlineHosts: ['host-3'] },
  })
})

test('gates are shown as not asked', async () => {
  const gates = [
    { name: 'errors', query: 'sum(errors)\u001b[2J', atMost: 0.5, atLeast: null, forMs: 600_000, onNoAnswer: 'pause' as const },
  ]
  const { stdout } = await tenantry(['rollouts', 'rehearse'], { answers: { [endpoint]: aRehearsal({ gates }) } })
  expect(stdout).toContain(
    'Gates (not asked in a rehearsal, which takes them as passed after their time)\n' +
      '  errors: at most 0.5 for 10 min; pauses without an answer\n    sum(errors)\ufffd[2J\n',
  )
})

test('pauses come first, without the commands of a paused rollout', async () => {
  const reason = 'canary stopped: oak failed and was restored (PROBE_FAILED: \u001b[2Jsick). Next: resume the rollout to try it again.'
  const played = aRehearsal({
    pauses: [{ atMs: 2_000_000, phase: 'canary', reason }],
    boxes: [aRehearsedBox('oak', { status: 'rolled_back' })],
  })
  const { stdout } = await tenantry(['rollouts', 'rehearse'], { answers: { [endpoint]: played }, columns: 120 })
  const [first, second] = stdout.split('\n')
  expect(first).toContain('The rollout would pause 1 time')
  expect(second).toContain('canary stopped: oak failed and was restored (PROBE_FAILED:')
  expect(stdout).not.toContain('\u001b[2J')
  expect(stdout).not.toContain('Next:')
  expect(stdout).toMatch(/oak +canary +immediately +rolled back +3 min/)
  expect(stdout).toContain('1 box to update, seed 1. Expected duration: 4 min (pauses resumed immediately)')
})

test('waiting boxes are named, empty phases are not', async () => {
  const waits = 'held by maintenance; it begins when it is free'
  const played = aRehearsal({ ended: 'stuck', boxes: [aRehearsedBox('oak', { status: 'pending', beginsMs: null, fenceMs: null, waits })] })
  const { stdout } = await tenantry(['rollouts', 'rehearse'], { answers: { [endpoint]: played }, columns: 120 })
  expect(stdout).toContain('The rollout would never finish')
  expect(stdout).toContain(`oak: ${waits}`)
  expect(stdout).not.toContain('free_5')
})

test('a fraction above 1 is a usage error', async () => {
  const ran = await tenantry(['rollouts', 'rehearse', '--fail-rate', '2'], { answers: {} })
  expect(ran.exit).toBe(2)
  expect(ran.stderr).toContain('from 0 to 1')
})

test('slugs stay whole on 80 columns', async () => {
  const times = { beginsMs: 620_000, fenceMs: 155_000 }
  const played = aRehearsal({ boxes: [aRehearsedBox('schulverbund-kueste', { phase: 'enterprise', ...times })] })
  const { stdout } = await tenantry(['rollouts', 'rehearse'], { answers: { [endpoint]: played }, columns: 80 })
  expect(stdout).toMatch(/^schulverbund-kueste +enterprise +after 10 min 20 s +succeeded +2 min 35 s/m)
})

test.each([1, 20])('the longest slug stays whole with %i runs', async (runs) => {
  const slug = 'gemeinschaftsschule-am-hohen-ufer-ost-40'
  const times = { beginsMs: 620_000, fenceMs: 155_000, fenceP50Ms: 155_000, fenceP95Ms: 155_000 }
  const played = aRehearsal({ runs, boxes: [aRehearsedBox(slug, { phase: 'enterprise', ...times })] })
  const { stdout } = await tenantry(['rollouts', 'rehearse'], { answers: { [endpoint]: played }, columns: 80 })
  expect(stdout).toMatch(new RegExp(`^${slug} .*2 min 35 s`, 'm'))
})
