import { render } from 'ink-testing-library'
import { expect, test } from 'vitest'
import { Screen } from '../../../src/cli/rollouts/board/screen.tsx'
import { type BoardState, boardModel, openBoard, type RolloutAction, reduce } from '../../../src/core/rollouts/index.ts'
import { anAction, aRolloutDetail, at } from '../../support/records.ts'
import { fleet, fleetActions, pausedFleet } from './board-fleet.ts'

const now = Date.parse(at('02:07:00'))

function frame(state: BoardState, size = { columns: 80, rows: 24 }, keys = true): string {
  const { lastFrame, unmount } = render(<Screen model={boardModel(state, now)} size={size} colour={false} keys={keys} />)
  const text = lastFrame() ?? '' // read before the unmount: in CI, ink writes a bare line end there
  unmount()
  return text
}

test.each([
  [
    'a rollout in progress',
    fleet(),
    ['free_5', '✓ canary 1/1   ● free_5 0/2', '1 of 21 boxes updated', 'kita-nord  probing  2 of 3 good', 'q: quit'],
  ],
  [
    'a paused rollout, with its reason and the next commands',
    pausedFleet(),
    [
      '✗ free_5 1/2',
      '2 of 21 boxes updated, 1 failed',
      'kita-nord  rolled back  chat sync',
      'paused: phase free_5 stopped',
      'rollouts resume',
    ],
  ],
  ['a lost connection', reduce(fleet(), { kind: 'lost' }), ['connection lost, reconnecting', 'kita-nord  probing']],
])('%s', (_, state, parts) => {
  const text = frame(state)
  expect(parts.filter((part) => !text.includes(part))).toEqual([])
})

test('done: the last screen has no key help', () => {
  const actions = fleetActions().map((action): RolloutAction => ({ ...action, status: 'succeeded', progress: null }))
  const done = openBoard(aRolloutDetail(actions, { status: 'done', finishedAt: at('02:06:00') }))
  const text = frame(done, { columns: 80, rows: 24 }, false)
  expect(text).toMatch(/100 % {3}21 of 21 boxes updated$/)
  expect(text).not.toContain('q: quit')
})

test('a narrow terminal', () => {
  const rows = frame(fleet(), { columns: 60, rows: 24 }).split('\n')
  expect(rows).toContain('✓canary ●free_5 ○free_100 ○pro ·enterprise')
  expect(Math.max(...rows.map((row) => [...row].length))).toBeLessThanOrEqual(60)
})

test('many running and failed boxes stay within 80 × 24, the rest is counted', () => {
  const busy = Array.from({ length: 40 }, (_, n) =>
    anAction(`under-way-${String(n).padStart(2, '0')}`, { phase: 'free_100', status: 'updating', startedAt: at('02:06:00') }),
  )
  const gone = Array.from({ length: 30 }, (_, n) =>
    anAction(`failed-${String(n).padStart(2, '0')}`, {
      phase: 'free_100',
      status: 'rolled_back',
      startedAt: at('02:00:00'),
      finishedAt: at('02:05:00'),
      error: { code: 'PROBE_FAILED', message: 'object storage: the upload was refused\nsecond line' },
    }),
  )
  const text = frame(openBoard(aRolloutDetail([...busy, ...gone], { status: 'free_100' })))
  for (const part of ['under-way-06', 'and 33 more', 'failed-02', 'and 27 more']) expect(text).toContain(part)
  expect(text).not.toContain('under-way-07')
  expect(text.split('\n').length).toBeLessThan(24)
  expect(Math.max(...text.split('\n').map((line) => [...line].length))).toBeLessThanOrEqual(80)
})

test.each(['kita-nord', 'schulverbund-kueste', 'gymnasium-am-hohen-ufer', 'gemeinschaftsschule-am-hohen-ufer-ost-40'])(
  'the command for %s is on one line, or continued as shell syntax',
  (slug) => {
    const gone = anAction(slug, { status: 'rolled_back', error: { code: 'PROBE_FAILED', message: 'no' } })
    const paused = { status: 'paused', previousStatus: 'canary', pauseReason: `phase canary stopped: ${slug}` } as const
    const text = frame(openBoard(aRolloutDetail([gone], paused)))
    expect(text.replaceAll(/ \\\n +/g, ' ')).toContain(`tenantry rollouts show ro_0123456789abcdefghjk --box ${slug}`)
    expect(Math.max(...text.split('\n').map((line) => line.length))).toBeLessThanOrEqual(80)
  },
)

test('a reason takes the rows counted for it, however its words break', () => {
  const pauseReason = `${Array.from({ length: 7 }, (_, n) => `gymnasium-am-hohen-ufer-${n}`).join(', ')} were away for long`
  const paused = openBoard(aRolloutDetail([anAction('a')], { status: 'paused', previousStatus: 'canary', pauseReason }))
  const rows = frame(paused).split('\n')
  const first = rows.findIndex((row) => row.startsWith('paused: '))
  expect([rows[first + 1]?.endsWith('…'), rows[first + 2]]).toEqual([true, ''])
})
