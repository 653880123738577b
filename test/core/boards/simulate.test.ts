import { describe, expect, test } from 'vitest'
import { SimulationScript, simulateBoard } from '../../../src/core/boards/index.ts'
import { sketch } from './sketch.ts'

const now = '2026-11-23T08:00:00.000Z'
const play = (board: Parameters<typeof simulateBoard>[0], script: object = {}) => simulateBoard(board, SimulationScript.parse(script), now)
const inputs = ({ steps }: ReturnType<typeof play>) =>
  steps.map(({ at, input, elementId, refused }) =>
    `${at.slice(8, 16)} ${input} ${elementId ?? ''}${refused ? ` ${refused.code}` : ''}`.trim(),
  )

const alarm = sketch(
  `s > f1 > p1 > m1 > j1; p1 > c1 > j1; p1 > t1 > m3 > j1; j1 > d1; d1 -vars.people > 10-> w1 > r1 > e; d1 -else-> r1
   t1 -timed_out-> m2 > m3`,
  {
    c1: { assignedRole: 'principal', requiredApprovals: 2 },
    t1: { assignedRole: 'teacher', dueAt: 'PT4H' },
    m1: { room: 'space', body: 'Alarm: {people} people' },
    r1: { title: 'Report', template: '{people} people, {other}' },
  },
)

describe('a simulation', () => {
  test('plays answers and timers in the order of their times and shows each step', () => {
    const answers = { f1: [{ data: { people: 12 } }], c1: [{ by: 'anna' }, { by: 'anna' }, { by: 'ben', after: 'PT5H' }] }
    const played = play({ ...alarm, variables: [] }, { answers })
    expect(inputs(played)).toEqual([
      '23T08:00 start',
      '23T08:00 submit f1',
      '23T08:00 approve c1',
      '23T08:00 approve c1',
      '23T11:12 warn t1',
      '23T12:00 due t1',
      '23T13:00 approve c1',
      '23T14:00 elapsed w1',
    ])
    expect(played).toMatchObject({
      outcome: 'completed',
      failure: null,
      startedAt: now,
      waitsAt: [],
      unused: [],
      variables: { people: 12 },
    })
    expect(played.endedAt).toBe('2026-11-23T14:00:00.000Z')
    expect(played.steps[1]?.effects).toEqual([
      { type: 'closed', elementId: 'f1', outcome: 'done' },
      { type: 'message', elementId: 'm1', room: 'space', body: 'Alarm: 12 people' },
      { type: 'opened', elementId: 'c1', role: 'principal', dueAt: null },
      { type: 'opened', elementId: 't1', role: 'teacher', dueAt: '2026-11-23T12:00:00.000Z' },
    ])
    expect(played.steps[1]?.activeElementIds).toEqual(['c1', 't1'])
    expect(played.steps.at(-1)?.effects).toContainEqual({
      ...{ type: 'report', elementId: 'r1', title: 'Report', markdown: '12 people, (none)', missing: ['other'] },
    })
  })

  test('fires timers of the same time in the order of a run', () => {
    const t1 = { assignedRole: 'teacher', dueAt: 'PT1H' }
    const board = sketch('s > p1 > t1 > e; t1 -timed_out-> e2; p1 > w1 > m1 > e; p1 > w2 > e', { t1, e2: { terminate: true } })
    expect(inputs(play(board))).toEqual([
      '23T08:00 start',
      '23T08:48 warn t1',
      '23T09:00 elapsed w1',
      '23T09:00 elapsed w2',
      '23T09:00 due t1',
    ])
  })

  test('shows a refused answer and goes on with the next', () => {
    const played = play(alarm, { answers: { f1: [{ data: { persons: 1 } }, { data: { people: 1 } }], t1: [{ action: 'approve' }] } })
    expect(inputs(played).slice(0, 4)).toEqual([
      '23T08:00 start',
      '23T08:00 submit f1 VALIDATION',
      '23T08:00 submit f1',
      '23T08:00 approve t1 INVALID_TRANSITION',
    ])
  })

  test('ends where an element has no answer, and names answers that were not given', () => {
    expect(play(sketch('s > t1 > t2 > e'), { answers: { t2: [{}] } })).toMatchObject({
      outcome: 'waiting',
      waitsAt: ['t1'],
      unused: ['t2'],
    })
  })

  test('of a board with a deadlock fails there', () => {
    const board = sketch('s > d1; d1 -1 > 2-> t1 > j1; d1 -else-> t2 > j1; j1 > e')
    expect(play(board, { answers: { t2: [{}] } })).toMatchObject({ outcome: 'failed', failure: { code: 'DEADLOCK', elementId: 'j1' } })
  })

  test('fails where one input would write too much, before it has', () => {
    const reports = Array.from({ length: 40 }, (_, nth) => `r${nth}`)
    const long = Object.fromEntries(reports.map((id) => [id, { title: 'R', template: '{text}'.repeat(1_000) }]))
    const board = sketch(`s > ${reports.join(' > ')} > e`, long, { variables: [{ name: 'text', type: 'text' }] })
    const played = play(board, { variables: { text: 'x'.repeat(100_000) } })
    expect(played).toMatchObject({ outcome: 'failed', failure: { code: 'TOO_MANY_STEPS' } })
    expect(JSON.stringify(played).length).toBeLessThan(6_000_000)
  })

  test('starts at the time of the script, as the user of the script', () => {
    const board = sketch('s > c1 > e')
    const script = { startedBy: 'anna', startAt: '2026-12-01T00:00:00Z', answers: { c1: [{ by: 'anna' }, { by: 'ben' }] } }
    expect(inputs(play(board, script))).toEqual(['01T00:00 start', '01T00:00 approve c1 FORBIDDEN', '01T00:00 approve c1'])
  })

  test('has an end also if the board has none', () => {
    const loop = sketch('s > w1 > d1; d1 -1 > 2-> e; d1 -else-> w1')
    const played = play(loop)
    expect(played.outcome).toBe('stopped')
    expect(played.steps.length).toBe(1_000)
  })

  test('counts each whole step, so that a wide board has no large answer', () => {
    const ids = Array.from({ length: 400 }, (_, n) => `t${n}`.padEnd(70, 'x'))
    const timed = Object.fromEntries(ids.map((id) => [id, { assignedRole: 'teacher', dueAt: 'PT1H' }]))
    const played = play(sketch(['s > p1', ...ids.map((id) => `p1 > ${id} > e1`)].join('; '), timed))
    expect(played.outcome).toBe('stopped')
    expect(played.steps.length).toBeGreaterThan(100)
    expect(JSON.stringify(played).length).toBeLessThan(4_200_000)
  })

  test('stops before its answer grows large', () => {
    const long = { m1: { body: 'x'.repeat(4_000) }, r1: { title: 'R', template: '{text}'.repeat(16_000) } }
    const loop = sketch('s > w1 > r1 > d1; d1 -1 > 2-> e; d1 -else-> w1', long, { variables: [{ name: 'text', type: 'text' }] })
    const played = play(loop, { variables: { text: 'x'.repeat(100_000) } })
    expect(played.outcome).toBe('stopped')
    expect(JSON.stringify(played).length).toBeLessThan(6_000_000)
  })

  test.each([
    ['a loop without a wait', sketch('s > d1; d1 -1 > 2-> m1 > d1; d1 -else-> e'), {}, 'BOARD_INVALID'],
    ['a board without a start', { ...sketch('s > e'), elements: [], edges: [] }, {}, 'BOARD_INVALID'],
    ['an answer at an element without work', sketch('s > t1 > e'), { answers: { s: [{}], nowhere: [{}] } }, 'VALIDATION'],
  ])('%s is refused', (_, board, script, code) => {
    expect(() => play(board, script)).toThrow(expect.objectContaining({ code }))
  })
})
