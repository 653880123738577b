import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import {
  type Board,
  type BoardDefinition,
  checkBoard,
  compileBoard,
  type RunEffect,
  type RunInput,
  type RunState,
  startRun,
  stepRun,
} from '../../../src/core/boards/index.ts'
import { boardText } from './random-board.ts'
import { sketch } from './sketch.ts'

const context = { roles: new Set(['teacher', 'principal']), rooms: new Set<string>() }
const now = '2026-11-23T08:00:00.000Z'

const variables = [{ name: 'pick', type: 'number', required: true }]
const soundBoard = boardText.map((text) => sketch(text, {}, { variables }))

const inputsOf = ({ graph }: Board, { tokens }: RunState): RunInput[] =>
  tokens.flatMap(({ id, elementId }): RunInput[] => {
    const kind = graph.elements.get(elementId)?.kind
    if (kind === 'task') return [{ type: 'complete', elementId, by: 'ben' }]
    if (kind === 'form') return [{ type: 'submit', elementId, by: 'carl', values: { people: 1 } }]
    if (kind === 'timer') return [{ type: 'timer', tokenId: id, name: 'elapsed' }]
    const approve = { type: 'approve', elementId, by: 'ben', eligible: ['ben'] } as const
    const rejects = graph.out(elementId).some(({ condition }) => condition.type === 'rejected')
    return rejects ? [approve, approve, { type: 'reject', elementId, by: 'ben' }] : [approve]
  })

describe('a sound board', () => {
  test('passes the check', () => {
    fc.assert(
      fc.property(soundBoard, (board) => {
        expect(checkBoard(board, context)).toEqual([])
      }),
      { numRuns: 300 },
    )
  })

  test('ends in every play, each of its works opened and closed once, and its history gives the same run again', () => {
    const chances = fc.infiniteStream(fc.nat(1_000))
    fc.assert(
      fc.property(soundBoard, fc.nat(2), chances, (definition, pick, chance) => {
        const board = compileBoard(definition)
        const begin = () => startRun({ board, now }, { by: 'anna', variables: { pick } })
        let { run, effects } = begin()
        const history: RunInput[] = []
        const all: RunEffect[] = [...effects]
        for (let n = 0; run.status !== 'completed'; n++) {
          const possible = inputsOf(board, run).filter(({ type }) => type !== 'reject' || n < 50)
          const input = possible[(chance.next().value as number) % possible.length] as RunInput
          history.push(input)
          ;({ run, effects } = stepRun({ board, now }, run, input))
          all.push(...effects)
          expect(run.status).not.toBe('failed')
        }
        expect([run.tokens, run.joins, run.pending]).toEqual([[], {}, []])
        const closed = all.flatMap((effect) => (effect.type === 'closed' ? [effect.token.id] : []))
        const opened = all.flatMap((effect) => (effect.type === 'opened' ? [effect.token.id] : []))
        expect(new Set(closed).size).toBe(closed.length)
        expect(opened.filter((id) => !closed.includes(id))).toEqual([])
        expect(all.filter(({ type }) => type === 'ended')).toHaveLength(1)
        expect(history.reduce((at, input) => stepRun({ board, now }, at, input).run, begin().run)).toEqual(run)
      }),
      { numRuns: 200 },
    )
  })
})

/** Where tokens lie, by a token game of its own: on edges, moved one element at a time, every choice open. */
function playBlindly({ edges, elements }: BoardDefinition, chance: () => number): 'ended' | 'stuck' | 'endless' {
  const kindOf = new Map(elements.map(({ id, kind }) => [id, kind]))
  const out = (id: string) => edges.filter(({ source }) => source === id)
  const into = (id: string) => edges.filter(({ target }) => target === id)
  let tokens = out('s').map(({ id }) => id)
  for (let moves = 0; moves < 2_000; moves++) {
    if (tokens.length === 0) return 'ended'
    const enabled = elements.filter(({ id, kind }) =>
      kind === 'parallel_join' ? into(id).every((edge) => tokens.includes(edge.id)) : into(id).some((edge) => tokens.includes(edge.id)),
    )
    const next = enabled[chance() % Math.max(1, enabled.length)]
    if (!next) return 'stuck'
    const kind = kindOf.get(next.id)
    const taken =
      kind === 'parallel_join' ? into(next.id).map(({ id }) => id) : [into(next.id).find(({ id }) => tokens.includes(id))?.id as string]
    for (const id of taken) tokens.splice(tokens.indexOf(id), 1)
    const leaving = out(next.id)
    const chosen =
      kind === 'parallel_split' ? leaving : leaving.length > 0 ? [leaving[chance() % leaving.length] as (typeof leaving)[number]] : []
    tokens = [...tokens, ...chosen.map(({ id }) => id)]
  }
  return 'endless'
}

/** Whether a run of the board ever waits twice at one element. */
function waitsTwice(definition: BoardDefinition, chance: () => number): boolean {
  const board = compileBoard(definition)
  let { run } = startRun({ board, now }, { by: 'anna', variables: { pick: chance() % 3 } })
  for (let moves = 0; run.tokens.length > 0 && !run.failure && moves < 200; moves++) {
    if (new Set(run.tokens.map(({ elementId }) => elementId)).size < run.tokens.length) return true
    const possible = inputsOf(board, run)
    run = stepRun({ board, now }, run, possible[chance() % possible.length] as RunInput).run
  }
  return false
}

/** A sound board of which some edges lead elsewhere. */
const anyBoard = fc.tuple(soundBoard, fc.array(fc.tuple(fc.nat(), fc.nat()), { minLength: 1, maxLength: 3 })).map(([board, changes]) => {
  const edges = [...board.edges]
  for (const [which, where] of changes) {
    const nth = which % edges.length
    const targets = board.elements.filter(({ kind }) => kind !== 'start')
    edges[nth] = { ...(edges[nth] as (typeof edges)[number]), target: (targets[where % targets.length] as { id: string }).id }
  }
  return { ...board, edges }
})

describe('a board that somebody changed at random', () => {
  test('is never stuck in any play if the check finds nothing, and really gets stuck if it finds a deadlock alone', () => {
    const verdicts = { sound: 0, deadlock: 0 }
    fc.assert(
      fc.property(anyBoard, fc.infiniteStream(fc.nat(10_000)), (board, chances) => {
        const findings = checkBoard(board, context)
        const chance = () => chances.next().value as number
        const plays = () => Array.from({ length: 60 }, () => playBlindly(board, chance))
        if (findings.length === 0) {
          verdicts.sound += 1
          expect(plays().filter((end) => end === 'stuck')).toEqual([])
          expect(Array.from({ length: 20 }, () => waitsTwice(board, chance))).not.toContain(true)
        } else if (findings.every(({ code }) => code === 'DEADLOCK')) {
          verdicts.deadlock += 1
          expect(Array.from({ length: 20 }, plays).flat()).toContain('stuck')
        }
      }),
      { numRuns: 2_000 },
    )
    expect(verdicts.sound).toBeGreaterThan(5)
    expect(verdicts.deadlock).toBeGreaterThan(5)
  })
})
