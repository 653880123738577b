import { describe, expect, test } from 'vitest'
import { manualClock } from '../../../src/core/kit/index.ts'
import type { RolloutReport } from '../../../src/core/rollouts/index.ts'
import { tenantry } from '../../support/command-line.ts'
import { anAction, aReport, aRollout, aRolloutDetail, at, rolloutId } from '../../support/records.ts'

const path = `/admin/tenant-boxes/rollouts/${rolloutId}`
const clock = manualClock(at('04:00:00'))

/** A rollout of a day: a canary, a pause over lunch, a rolled back box, an end. */
const paused = { at: at('02:05:00'), by: 'system:rollouts', reason: 'free_5 stopped: kita-nord failed and was restored. Next: resume it.' }
const story = (): RolloutReport =>
  aReport(
    [
      anAction('kita-nord', {
        ...{ phase: 'free_5', status: 'rolled_back', attempt: 1, rolledBack: true, snapshotOk: true, updateOk: true, healthOk: false },
        ...{ startedAt: at('02:03:20'), finishedAt: at('02:05:00'), durationMs: 100_000, fencedMs: 80_000, snapshotId: 'f00dcafe' },
        error: { code: 'PROBE_FAILED', message: 'chat sync: the event that was sent did not come back within ten seconds \u001b[2J' },
      }),
      anAction('anna-schule', { status: 'succeeded', durationMs: 200_000, fencedMs: 60_000, snapshotId: 'c0ffee11' }),
    ],
    {
      rollout: {
        ...aRollout({ status: 'paused', previousStatus: 'free_5', pauseReason: paused.reason }),
        counts: { ...aRollout().counts, total: 3, pending: 1, succeeded: 1, rolledBack: 1 },
      },
      durationMs: 7_200_000,
      pausedMs: 6_900_000,
      fence: { boxes: 2, sumMs: 140_000, medianMs: 60_000, worstMs: 80_000, worstSlug: 'kita-nord', expectedMedianMs: 0 },
      timeline: [
        { at: at('01:59:00'), actor: 'admin:anna', action: 'rollout.created', phase: null, reason: 'weekly round' },
        { at: at('02:00:00'), actor: 'admin:anna', action: 'rollout.started', phase: 'canary', reason: null },
        { at: at('02:03:20'), actor: 'system:rollouts', action: 'rollout.phase', phase: 'free_5', reason: null },
        { at: paused.at, actor: paused.by, action: 'rollout.paused', phase: 'free_5', reason: paused.reason },
      ],
      phases: [
        {
          phase: 'canary',
          startedAt: at('02:00:00'),
          endedAt: at('02:03:20'),
          durationMs: 200_000,
          pausedMs: 0,
          boxes: 1,
          succeeded: 1,
          failed: 0,
        },
        {
          phase: 'free_5',
          startedAt: at('02:03:20'),
          endedAt: null,
          durationMs: 7_000_000,
          pausedMs: 6_900_000,
          boxes: 2,
          succeeded: 0,
          failed: 1,
        },
      ],
      pauses: [{ ...paused, phase: 'free_5', until: null, endedBy: null, durationMs: 6_900_000 }],
      steps: [
        { step: 'pull', boxes: 2, medianMs: 9000, worstMs: 12_000, worstSlug: 'anna-schule' },
        { step: 'snapshot', boxes: 2, medianMs: 20_000, worstMs: 41_000, worstSlug: 'kita-nord' },
        { step: 'restore-data', boxes: 1, medianMs: 30_000, worstMs: 30_000, worstSlug: 'kita-nord' },
      ],
    },
  )

const shown = async (report: RolloutReport, columns: number) =>
  (await tenantry(['rollouts', 'show', rolloutId], { answers: { [`GET ${path}/report`]: report }, columns, clock, env: { NO_COLOR: '1' } }))
    .stdout

test.each([80, 120])('a report shows failures first and fits %i columns', async (columns) => {
  const text = await shown(story(), columns)
  const copied = /tenantry rollouts/ // a command is never broken
  expect(text.split('\n').filter((line) => line.length > columns && !copied.test(line))).toEqual([])
  expect(text.indexOf('Failures')).toBeLessThan(text.indexOf('Timeline'))
  expect(text).not.toContain('\u001b')
  const parts = [
    /^elapsed +2 h 00 min, of which paused 1 h 55 min$/m,
    /^downtime +median 1 min, max 1 min 20 s \(kita-nord\), total 2 min 20 s over 2\s+boxes$/m,
    /^ {4}rolled back to the previous version$/m,
    /^2026-01-05 02:00:00 {2}canary, for 3 min 20 s: 1 of 1 box updated$/m,
    /^2026-01-05 02:03:20 {2}free_5, 1 h 56 min elapsed: 0 of 2 boxes updated, 1 failed$/m,
    /^restore: load snapshot +1 +30 s +30 s +kita-nord$/m,
    /^anna-schule +canary +succeeded +synapse 1\.157\.1 → 1\.163\.2 +3 min 20 s +1 min/m,
    /^skip +tenantry rollouts resume ro_0123456789abcdefghjk --skip-failed$/m,
  ]
  expect(parts.filter((part) => !part.test(text))).toEqual([])
})

test('a report says each sentence once: in the reason, the failures or the timeline', async () => {
  const error = { code: 'PROBE_FAILED', message: 'no good probe' }
  const pauseReason = 'free_5 stopped: kita-nord failed and was rolled back (PROBE_FAILED: no good probe). Next: resume it.'
  const { rollout, timeline, boxes, ...rest } = story()
  const text = await shown(
    {
      ...rest,
      rollout: { ...rollout, pauseReason, reason: 'weekly round' },
      timeline: timeline.map((entry) => (entry.action === 'rollout.paused' ? { ...entry, reason: pauseReason } : entry)),
      boxes: boxes.map((action) => (action.error ? { ...action, error } : action)),
    },
    200,
  )
  for (const sentence of ['no good probe', 'free_5 stopped', 'weekly round']) expect(text.split(sentence)).toHaveLength(2)
  expect(text).toMatch(/^reason +free_5 stopped: kita-nord failed and was rolled back$/m)
})

test('after a rollback it names the manifest that still asks, and the command', async () => {
  const stillAsked = { revision: 4, versions: ['synapse 1.163.2'], formerRevision: 3 }
  const counts = { ...aRollout().counts, rollback: { total: 23, pending: 0, running: 0, done: 23, failed: 0 } }
  const text = await shown(aReport([], { rollout: aRollout({ status: 'done', counts }), stillAsked }), 120)
  expect(text).toMatch(/^status +rolled back$/m)
  expect(text).toMatch(/^boxes +23 of 23 boxes rolled back/m)
  expect(text).toContain('Manifest revision 4 still asks for synapse 1.163.2: the next rollout updates the boxes again.')
  expect(text).toMatch(/^manifest +tenantry manifest rollback 3$/m)
})

test('an empty phase is left out and a large rollout is cut', async () => {
  const many = Array.from({ length: 60 }, (_, n) => anAction(`box-${n}`, { status: 'succeeded', durationMs: 1000 * n }))
  const text = await shown(aReport(many, { boxesTotal: 5000 }), 100)
  expect(text).toContain(`4980 more: tenantry rollouts show ${rolloutId} --boxes`)
  expect(text.match(/^box-/gm)).toHaveLength(20)
})

test.each([
  ['none', 'rolled back by admin:anna, updated boxes kept: search is broken'],
  ['images', 'rolled back by admin:anna, boxes by their previous images: search is broken'],
  ['snapshot', 'rolled back by admin:anna, boxes by their previous snapshots: search is broken'],
  [undefined, 'rolled back by admin:anna: search is broken'],
] as const)('a rollback with boxes by %s is in the timeline', async (boxes, says) => {
  const end = {
    at: at('02:06:00'),
    actor: 'admin:anna',
    action: 'rollout.rolled_back',
    phase: 'free_5',
    reason: 'search is broken',
  } as const
  expect(await shown({ ...story(), timeline: [{ ...end, ...(boxes && { boxes }) }] }, 120)).toContain(says)
})

describe('the rollback of a rollout', () => {
  const counts = { ...aRollout().counts, rollback: { total: 5, pending: 0, running: 0, done: 4, failed: 1 } }
  const end = {
    at: at('02:10:00'),
    actor: 'admin:anna',
    action: 'rollout.rolled_back',
    phase: 'pro',
    reason: 'bad',
    boxes: 'images',
  } as const
  const boxes = { boxes: 5, medianMs: 180_000, worstMs: 300_000, worstSlug: 'kita-nord' }
  const rollback = { startedAt: at('02:10:00'), endedAt: at('02:22:03'), durationMs: 723_000, boxes }
  const of = (given: RolloutReport['rollback']) =>
    shown({ ...story(), rollout: { ...story().rollout, status: 'rolled_back', counts }, timeline: [end], rollback: given }, 160)

  test('is shown with its duration, its slowest box, and in the timeline', async () => {
    const text = await of(rollback)
    const span = 'from 2026-01-05 02:10:00 to 2026-01-05 02:22:03 UTC, 12 min 3 s'
    expect(text).toContain(`rollback  ${span}; per box: median 3 min, max 5 min (kita-nord)`)
    expect(text).toContain('2026-01-05 02:10:00  rollback, for 12 min 3 s: 4 of 5 boxes rolled back')
  })

  test('is shown with its elapsed time while it runs', async () => {
    const text = await of({ ...rollback, endedAt: null, boxes: null })
    expect(text).toMatch(/rollback\s+from 2026-01-05 02:10:00 UTC, 12 min 3 s elapsed$/m)
    expect(text).toContain('rollback, 12 min 3 s elapsed: 4 of 5 boxes rolled back')
  })

  test('is not shown without rolled back boxes', async () => {
    expect(await of(null)).not.toMatch(/^rollback /m)
  })
})

test.each([
  [1, 'aborted by admin:anna, 1 box cancelled: search is broken'],
  [9998, 'aborted by admin:anna, 9998 boxes cancelled: search is broken'],
])('%i cancelled boxes are in the timeline', async (cancelled, says) => {
  const end = {
    at: at('02:06:00'),
    actor: 'admin:anna',
    action: 'rollout.failed',
    phase: 'free_5',
    reason: 'search is broken',
    cancelled,
  } as const
  expect(await shown({ ...story(), timeline: [end] }, 120)).toContain(says)
})

test.each([
  ['admin:anna', 'aborted by admin:anna', '06:00  aborted by admin:anna\n'],
  ['system:rollouts', 'no box is left', '06:00  failed by the engine: no box is left\n'],
])('the end by %s with the reason "%s" is one line', async (actor, reason, says) => {
  const end = { at: at('02:06:00'), actor, action: 'rollout.failed', phase: 'free_5', reason } as const
  expect(await shown({ ...story(), timeline: [end] }, 120)).toContain(says)
})

test('a running rollout shows its phase, its settings and the next commands', async () => {
  const terms = { holdAfter: 'pro', failureThreshold: 3, ignoreWindows: true } as const
  const { rollout } = story()
  const text = await shown({ ...story(), boxes: [], rollout: { ...rollout, status: 'free_5', previousStatus: null, ...terms } }, 120)
  expect(text).toMatch(/^status +in progress \(free_5\)$/m)
  expect(text).toMatch(/^pause after +pro$/m)
  expect(text).toMatch(/^threshold +a phase stops after 3 failed boxes$/m)
  expect(text).toMatch(/^windows +ignored$/m)
  expect(text).toMatch(new RegExp(`^watch +tenantry rollouts watch ${rolloutId}$`, 'm'))
  expect(text).toMatch(new RegExp(`^pause +tenantry rollouts pause ${rolloutId} --reason '…'$`, 'm'))
})

test('a running rollback suggests watch, a finished one a drift check', async () => {
  const { rollout } = story()
  const of = (done: number) => {
    const rollback = { total: 2, pending: 0, running: 2 - done, done, failed: 0 }
    return shown({ ...story(), boxes: [], rollout: { ...rollout, status: 'rolled_back', counts: { ...rollout.counts, rollback } } }, 120)
  }
  expect(await of(1)).toContain(`watch  tenantry rollouts watch ${rolloutId}`)
  expect(await of(2)).toContain('check drift  tenantry boxes scan')
})

test.each([
  ['PROBE_FAILED', 'unchanged, maintenance ended'],
  ['DIGEST_MISMATCH', 'runs an unexpected image; check it before you resume'],
] as const)('a box that failed with %s after its snapshot shows its state', async (code, says) => {
  const failed = { status: 'failed', rolledBack: false, updateOk: false, error: { code, message: 'as the agent said' } } as const
  const report = story()
  expect(await shown({ ...report, boxes: report.boxes.map((box) => ({ ...box, ...failed })) }, 120)).toContain(says)
})

test.each([
  ['succeeded', 'serving on the new version', true],
  ['failed', 'reported as rolled back, but its images do not match; check it', false],
] as const)('a box whose rollback failed and is %s shows its state and the next commands', async (status, says, again) => {
  const error = { code: 'DIGEST_MISMATCH', message: 'as the agent said' }
  const box = anAction('kita-nord', { status, rollback: { mode: 'images', status: 'failed', error }, error })
  const counts = { ...aRollout().counts, rollback: { total: 1, pending: 0, running: 0, done: 0, failed: 1 } }
  const text = await shown({ ...story(), rollout: { ...story().rollout, status: 'rolled_back', counts }, boxes: [box] }, 120)
  expect(text).toContain(says)
  expect(text).toContain(`tenantry rollouts show ${rolloutId} --box kita-nord`)
  expect(text.includes(`tenantry rollouts rollback ${rolloutId} --resume`)).toBe(again)
})

test('a queued rollout shows its plan', async () => {
  const queued = aReport([anAction('a')], { rollout: { ...story().rollout, status: 'queued', previousStatus: null, pauseReason: null } })
  const answers = { [`GET ${path}/report`]: queued, [`GET ${path}`]: aRolloutDetail([anAction('a')]) }
  const { stdout } = await tenantry(['rollouts', 'show', rolloutId], { answers, columns: 100, clock })
  expect(stdout).toContain('canary')
  expect(stdout).toContain(`tenantry rollouts start ${rolloutId} --watch`)
})

test('the list filters by time, and reports an empty result', async () => {
  const answers = { 'GET /admin/tenant-boxes/rollouts': { rollouts: [], nextCursor: null } }
  const ran = await tenantry(['rollouts', 'list', '--since', '2h', '--status', 'paused'], { answers, clock, columns: 80 })
  expect(new URLSearchParams(ran.asked[0]?.search)).toEqual(new URLSearchParams({ status: 'paused', since: at('02:00:00') }))
  expect(ran.stdout).toContain('No rollouts match')
  expect((await tenantry(['rollouts', 'list', '--since', 'lunch'], { answers, clock })).exit).toBe(2)
})

test('a skipped box shows its findings, one that is up to date none', async () => {
  const finding = { severity: 'refuse', code: 'HOST_OFFLINE', message: 'start its agent' } as const
  const detail = aRolloutDetail([
    anAction('kita-nord', { status: 'skipped', findings: [finding] }),
    anAction('anna-schule', { status: 'skipped' }),
  ])
  const ran = await tenantry(['rollouts', 'show', rolloutId, '--boxes'], { answers: { [`GET ${path}`]: detail }, clock })
  expect(ran.stdout).toMatch(/^kita-nord .*skipped .*HOST_OFFLINE/m)
  expect(ran.stdout).toMatch(/^anna-schule .*skipped .*-/m)
})
