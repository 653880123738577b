import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import {
  afterAnswer,
  type Bake,
  type GateState,
  gatesMs,
  gatesOf,
  gateText,
  gateTint,
  isBaking,
  isGateDue,
  limitsText,
  planSteps,
  unaskedGates,
} from '../../../src/core/rollouts/index.ts'
import { anEngineAction } from '../../support/rollouts.ts'

const startMs = Date.parse('2026-01-05T02:00:00.000Z')
const at = (seconds: number) => new Date(startMs + seconds * 1000).toISOString()

const aGate = (given: Partial<GateState> = {}): GateState => {
  const [gate] = unaskedGates([{ name: 'errors', query: 'errors', atMost: 0.5, atLeast: null, forMs: 600_000, onNoAnswer: 'pause' }])
  return { ...(gate as GateState), ...given }
}
const missing = { noAnswer: { code: 'UNREACHABLE', message: 'http://p does not answer (ECONNREFUSED)' } } as const
const answers = (gate: GateState, ...given: (readonly [seconds: number, answer: string | typeof missing])[]): GateState =>
  given.reduce((state, [seconds, answer]) => afterAnswer(state, typeof answer === 'string' ? { value: answer } : answer, at(seconds)), gate)

describe('the gates of a rollout', () => {
  const manifest = {
    gates: { errors: { query: 'a', atMost: 1, for: '10m' }, boxes: { query: 'b', atLeast: 3, onNoAnswer: 'continue' as const } },
  }

  test('are those of its manifest, with what was left out', () => {
    expect(gatesOf('staged', manifest)).toEqual([
      { name: 'errors', query: 'a', atMost: 1, atLeast: null, forMs: 600_000, onNoAnswer: 'pause' },
      { name: 'boxes', query: 'b', atMost: null, atLeast: 3, forMs: 0, onNoAnswer: 'continue' },
    ])
    expect(gatesOf('staged', {})).toEqual([])
  })

  test('do not delay an emergency', () => {
    expect(gatesOf('emergency_cve', manifest)).toEqual([])
  })

  test('take as long as the longest of them', () => {
    expect(gatesMs(gatesOf('staged', manifest))).toBe(600_000)
    expect(gatesMs([])).toBe(0)
  })
})

describe('a value', () => {
  test.each([
    ['0.5', { atMost: 0.5 }, 'holding'],
    ['0.50001', { atMost: 0.5 }, 'failed'],
    ['-7', { atMost: 0.5 }, 'holding'],
    ['+Inf', { atMost: 0.5 }, 'failed'],
    ['-Inf', { atMost: 0.5 }, 'holding'],
    ['1e-3', { atMost: 0.5 }, 'holding'],
    ['2', { atMost: null, atLeast: 3 }, 'failed'],
    ['3', { atMost: null, atLeast: 3 }, 'holding'],
    ['+Inf', { atMost: null, atLeast: 3 }, 'holding'],
    ['4', { atMost: 5, atLeast: 3 }, 'holding'],
    ['6', { atMost: 5, atLeast: 3 }, 'failed'],
    ['2', { atMost: 5, atLeast: 3 }, 'failed'],
  ] as const)('%s with the limits %o is %s', (value, limits, state) => {
    expect(answers(aGate(limits), [0, value])).toMatchObject({ state, value, at: at(0), noAnswer: null })
  })
})

describe('a gate', () => {
  test.each<[string, GateState, GateState['state']]>([
    ['without a time passes with its first value', answers(aGate({ forMs: 0 }), [0, '0.1']), 'passed'],
    ['holds until its time is over', answers(aGate(), [0, '0.1'], [599, '0.2']), 'holding'],
    ['passes when it has held for its time', answers(aGate(), [0, '0.1'], [300, '0.2'], [600, '0.3']), 'passed'],
    ['fails by one value', answers(aGate(), [0, '0.1'], [300, '0.6']), 'failed'],
    ['counts its time from the first value', answers(aGate(), [0, missing], [10, '0.1'], [600, '0.1']), 'holding'],
    ['waits while nothing is answered yet', answers(aGate(), [0, missing], [10, missing]), 'waiting'],
    ['is given up after three questions without an answer', answers(aGate(), [0, missing], [10, missing], [20, missing]), 'unanswered'],
    ['is given up also when it held before', answers(aGate(), [0, '0.1'], [30, missing], [40, missing], [50, missing]), 'unanswered'],
    ['outlives a restart of Prometheus', answers(aGate(), [0, '0.1'], [30, missing], [40, missing], [50, '0.1'], [600, '0.1']), 'passed'],
    ['counts only questions one after the other', answers(aGate(), [0, missing], [10, '0.1'], [40, missing], [50, missing]), 'holding'],
  ])('%s', (_, gate, state) => {
    expect(gate.state).toBe(state)
  })

  test.each<[string, GateState, readonly [seconds: number, due: boolean][]]>([
    ['at once', aGate(), [[0, true]]],
    [
      'twenty times over its time',
      answers(aGate(), [0, '0']),
      [
        [29, false],
        [30, true],
      ],
    ],
    [
      'at most every ten seconds',
      answers(aGate({ forMs: 60_000 }), [0, '0']),
      [
        [9, false],
        [10, true],
      ],
    ],
    [
      'at the end of a short time',
      answers(aGate({ forMs: 3000 }), [0, '0']),
      [
        [2, false],
        [3, true],
      ],
    ],
    [
      'at the end of its time',
      answers(aGate(), [0, '0'], [595, '0']),
      [
        [599, false],
        [600, true],
      ],
    ],
    [
      'again ten seconds after no answer',
      answers(aGate(), [0, '0'], [30, missing]),
      [
        [39, false],
        [40, true],
      ],
    ],
    [
      'again ten seconds after no answer at its end',
      answers(aGate(), [0, '0'], [601, missing]),
      [
        [610, false],
        [611, true],
      ],
    ],
    ['never again once it passed', answers(aGate({ forMs: 0 }), [0, '0']), [[9999, false]]],
    ['never again once it failed', answers(aGate(), [0, '9']), [[9999, false]]],
    ['never again once it was given up', answers(aGate(), [0, missing], [10, missing], [20, missing]), [[9999, false]]],
  ])('is asked %s', (_, gate, times) => {
    expect(times.map(([seconds]) => [seconds, isGateDue(gate, at(seconds))])).toEqual(times)
  })

  test('passes only if every value of its time was within the limits, however it was asked', () => {
    const answer = fc.oneof(fc.double({ min: 0, max: 1, noNaN: true }), fc.constant(undefined))
    fc.assert(
      fc.property(fc.array(answer, { minLength: 1, maxLength: 60 }), fc.integer({ min: 0, max: 3_600_000 }), (values, forMs) => {
        let gate = aGate({ forMs })
        let seconds = 0
        let taken: (number | undefined)[] = []
        for (const value of values) {
          while (!isGateDue(gate, at(seconds)) && (gate.state === 'waiting' || gate.state === 'holding')) seconds += 1
          if (gate.state !== 'waiting' && gate.state !== 'holding') break
          gate = answers(gate, [seconds, value === undefined ? missing : String(value)])
          taken = [...taken, value]
        }
        if (gate.state === 'passed') {
          expect(taken.every((value) => value === undefined || value <= 0.5)).toBe(true)
          expect(Date.parse(gate.at as string) - Date.parse(gate.since as string)).toBeGreaterThanOrEqual(forMs)
        }
        if (gate.state === 'failed') expect(taken.at(-1)).toBeGreaterThan(0.5)
        if (gate.state === 'unanswered') expect(taken.slice(-3)).toEqual([undefined, undefined, undefined])
      }),
    )
  })
})

describe('a complete phase with gates', () => {
  const baked = { until: at(0), now: at(1), failing: [], isRestarting: false }
  const steps = (gates: readonly GateState[], change: Partial<Bake> = {}) =>
    planSteps(
      {
        rollout: { kind: 'staged', status: 'canary', failureThreshold: 1 },
        bake: { ...baked, ...change, gates },
        actions: [anEngineAction('a', { status: 'succeeded' })],
        commands: new Map(),
      },
      { parallel: 3, perHost: 1 },
    )
  const passed = answers(aGate({ forMs: 0 }), [0, '0'])
  const failed = answers(aGate({ name: 'latency' }), [0, '0.73219'])
  const given = (onNoAnswer: 'pause' | 'continue') => answers(aGate({ onNoAnswer }), [0, missing], [10, missing], [20, missing])

  test.each<[string, GateState[], unknown[]]>([
    ['advances when all passed', [passed, passed], [{ do: 'advance', from: 'canary' }]],
    ['waits for one that holding', [passed, answers(aGate(), [0, '0'])], []],
    ['waits for one that was not asked', [passed, aGate()], []],
    ['advances without an answer where the gate says so', [passed, given('continue')], [{ do: 'advance', from: 'canary' }]],
    [
      'pauses for one that failed, also while others hold',
      [answers(aGate(), [0, '0']), failed],
      [
        {
          do: 'stop-bake',
          from: 'canary',
          reason:
            'gates after canary stopped: latency must be at most 0.5 for 10 min and is 0.73219. Next: resume the rollout, which bakes and asks ' +
            'again, promote it to continue without, or abort it.',
        },
      ],
    ],
    [
      'pauses without an answer',
      [given('pause')],
      [
        expect.objectContaining({
          do: 'stop-bake',
          reason: expect.stringContaining(
            'errors must be at most 0.5 for 10 min but has no answer (UNREACHABLE: http://p does not answer (ECONNREFUSED)).',
          ),
        }),
      ],
    ],
  ])('%s', (_, gates, expected) => {
    expect(steps(gates)).toEqual(expected)
  })

  test('waits for its bake, and for the restart of a box, whatever its gates say', () => {
    expect(steps([passed], { until: at(60) })).toEqual([])
    expect(steps([passed], { isRestarting: true })).toEqual([])
    expect(steps([passed], { until: null })).toEqual([{ do: 'begin-bake', from: 'canary' }])
  })

  test('may be promoted when a gate stopped it', () => {
    const [stop] = steps([failed])
    expect(isBaking({ bakeUntil: at(0), pauseReason: stop?.do === 'stop-bake' ? stop.reason : '' })).toBe(true)
  })
})

test.each<[GateState, string, string]>([
  [aGate(), 'errors: at most 0.5 for 10 min', 'dim'],
  [answers(aGate(), [0, '0.012345678']), 'errors: 0.01235 at 02:00:00 UTC, holding (at most 0.5 for 10 min)', 'cyan'],
  [answers(aGate(), [0, '0.500001']), 'errors: 0.500001 at 02:00:00 UTC, failed (at most 0.5 for 10 min)', 'red'],
  [answers(aGate({ forMs: 0 }), [0, '0']), 'errors: 0 at 02:00:00 UTC, passed (at most 0.5)', 'green'],
  [answers(aGate(), [0, '+Inf']), 'errors: +Inf at 02:00:00 UTC, failed (at most 0.5 for 10 min)', 'red'],
  [
    answers(aGate({ onNoAnswer: 'continue' }), [0, missing], [10, missing], [20, missing]),
    'errors: no answer (UNREACHABLE: http://p does not answer (ECONNREFUSED)) at 02:00:20 UTC, not answered (at most 0.5 for 10 min)',
    'yellow',
  ],
])('a gate in a line %#', (gate, text, tint) => {
  expect(gateText(gate)).toBe(text)
  expect(gateTint(gate)).toBe(tint)
})

test('limits in words', () => {
  expect(limitsText(aGate({ atLeast: 3, atMost: null, forMs: 0 }))).toBe('at least 3')
  expect(limitsText(aGate({ atLeast: 3, atMost: 5 }))).toBe('at least 3 and at most 5 for 10 min')
})
