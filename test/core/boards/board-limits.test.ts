import { Environment } from '@marcbachmann/cel-js'
import { describe, expect, test, vi } from 'vitest'
import {
  checkBoard,
  checkInSteps,
  compileBoard,
  SimulationScript,
  simulateBoard,
  simulateInSteps,
  startRun,
} from '../../../src/core/boards/index.ts'
import { sketch } from './sketch.ts'

const context = { roles: new Set(['teacher']), rooms: new Set<string>() }
const now = '2026-11-23T08:00:00.000Z'
const startIn = (board: ReturnType<typeof sketch>) => startRun({ board: compileBoard(board), now }, { by: 'anna', variables: {} }).run

describe('variables', () => {
  const fieldsOf = (form: number) =>
    Array.from({ length: 200 }, (_, nth) => ({ name: `v${form}x${nth}`, label: 'V', kind: 'text', required: true }))

  const board = (forms: number) => {
    const ids = Array.from({ length: forms }, (_, nth) => `f${nth}`)
    const text = `s > d1 -1 > 2-> ${ids.join(' > ')} > e; d1 -else-> e`
    return sketch(text, Object.fromEntries(ids.map((id, nth) => [id, { fields: fieldsOf(nth) }])))
  }

  test('a board has at most 2,000: its conditions are not even read', () => {
    expect(checkBoard(board(10), context)).toEqual([])
    const [fault, ...others] = checkBoard(board(11), context)
    expect([fault?.code, fault?.message, others]).toEqual(['VARIABLE_LIMIT', expect.stringContaining('2200 variables; at most 2000'), []])
  })

  test('a stored board with more is neither simulated nor evaluated', () => {
    expect(() => simulateBoard(board(11), SimulationScript.parse({}), now)).toThrow(/2200 variables/)
    expect(startIn(board(10))).toMatchObject({ status: 'completed' })
    expect(startIn(board(11)).failure).toMatchObject({ code: 'EXPRESSION_FAILED', message: expect.stringContaining('2200 variables') })
  })

  test('all conditions of a board share one environment', () => {
    const edges = Array.from({ length: 50 }, (_, nth) => `d1 -${nth} > 50-> e`)
    const register = vi.spyOn(Environment.prototype, 'registerVariable')
    expect(startIn(sketch(`s > d1 -else-> e; ${edges.join(';')}`))).toMatchObject({ status: 'completed' })
    expect(register).toHaveBeenCalledTimes(1)
    register.mockRestore()
  })
})

test('the check reads each condition once, and pauses after it', () => {
  const edges = Array.from({ length: 50 }, (_, nth) => `d1 -${nth} > 50-> e`)
  const board = sketch(`s > d1 -else-> e; ${edges.join(';')}`)
  const reads = [vi.spyOn(Environment.prototype, 'parse'), vi.spyOn(Environment.prototype, 'check')]
  const check = checkInSteps(board, context)
  let pauses = 0
  while (!check.next().done) pauses += 1
  expect(pauses).toBeGreaterThanOrEqual(50)
  expect(reads.reduce((sum, { mock }) => sum + mock.calls.length, 0)).toBe(50)
  for (const one of reads) one.mockRestore()
})

describe('findings', () => {
  const variables = Array.from({ length: 200 }, (_, nth) => ({ name: `v${nth}`, type: 'number' }))
  const reads = Array.from({ length: 55 }, (_, nth) => `vars.v${nth} > 1.0`).join(' && ')
  const edges = Array.from({ length: 400 }, (_, nth) => `d1 -${reads} && ${nth} > 1-> e`)

  test('of each code the first 200 are listed, and the others counted', () => {
    const board = sketch(`s > d1 -else-> t1 > m1 > e; ${edges.join(';')}`, { m1: { body: '{other}' } }, { variables })
    const found = checkBoard(board, context)
    expect(found.map(({ code }) => code)).toEqual(['VARIABLE_UNKNOWN', ...Array.from({ length: 201 }, () => 'VARIABLE_UNGUARDED')])
    expect(found.at(-1)).toEqual({
      ...{ severity: 'error', code: 'VARIABLE_UNGUARDED', elementId: null },
      message: `and ${400 * 55 - 200} more with the code VARIABLE_UNGUARDED`,
    })
    for (const { message } of found) expect(message.length).toBeLessThan(400)
  })

  test('a long path is listed by its end', () => {
    const tasks = Array.from({ length: 1_000 }, (_, nth) => `t${nth}`)
    const found = checkBoard(sketch(`s > ${tasks.join(' > ')} > d1 -1 > 2-> t1a > j1 > e; d1 -else-> t1b > j1`), context)
    expect(found.map(({ code, path }) => [code, path?.length, path?.at(-1)])).toEqual([['DEADLOCK', 200, 'j1']])
  })
})

const looped = () => {
  const edges = Array.from({ length: 100 }, (_, nth) => `d1 -"${'x'.repeat(1_900)}" == "${nth}"-> e`).join(';')
  return sketch(`s > w1 > d1 -else-> w1; ${edges}`)
}

test('a simulation stops at ten times the work of one step: each of its 1,000 steps may do as much', () => {
  const { outcome, steps } = simulateBoard(looped(), SimulationScript.parse({}), now)
  expect([outcome, steps.length]).toEqual(['stopped', 22])
})

test('a simulation in steps pauses before each step, and ends with the same result', () => {
  const steps = simulateInSteps(looped(), SimulationScript.parse({}), now)
  let pauses = 0
  for (let step = steps.next(); ; step = steps.next()) {
    if (step.done) {
      expect([step.value.outcome, pauses]).toEqual(['stopped', 21])
      return
    }
    pauses += 1
  }
})
