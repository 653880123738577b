import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { assignPhases, type Candidate, chooseCanaries } from '../../../src/core/rollouts/index.ts'

const aCandidate = (slug: string, changes: Partial<Candidate> = {}): Candidate => ({
  slug,
  tier: 'free',
  canary: false,
  databaseBytes: null,
  updates: true,
  ...changes,
})

const slugs = (count: number) => Array.from({ length: count }, (_, n) => `t${String(n).padStart(5, '0')}`)
const inPhase = (phases: ReadonlyMap<string, string>, phase: string) => [...phases].filter(([, p]) => p === phase).map(([slug]) => slug)

describe('canary', () => {
  test('is every box that is marked', () => {
    const boxes = [aCandidate('a', { canary: true }), aCandidate('b'), aCandidate('c', { canary: true, tier: 'pro' })]
    expect([...chooseCanaries(boxes)]).toEqual(['a', 'c'])
  })

  test('is otherwise the Light box of median database size, ties by slug', () => {
    const boxes = [
      aCandidate('big', { databaseBytes: 900 }),
      aCandidate('mid-b', { databaseBytes: 500 }),
      aCandidate('mid-a', { databaseBytes: 500 }),
      aCandidate('small', { databaseBytes: 10 }),
      aCandidate('huge-pro', { databaseBytes: 5, tier: 'pro' }),
    ]
    expect([...chooseCanaries(boxes)]).toEqual(['mid-a'])
  })

  test('is any box when none is Light', () => {
    expect([...chooseCanaries([aCandidate('p', { tier: 'pro' })])]).toEqual(['p'])
  })

  test('is chosen among boxes that have something to do', () => {
    const boxes = [aCandidate('a', { updates: false }), aCandidate('b'), aCandidate('c', { updates: false })]
    expect([...chooseCanaries(boxes)]).toEqual(['b'])
  })
})

describe('phases', () => {
  test.each([
    [1, 0],
    [2, 1],
    [20, 1],
    [21, 2],
    [140, 7],
    [1000, 50],
  ])('of %i Light boxes, %i go in free_5 beside the canary', (count, first) => {
    expect(
      inPhase(
        assignPhases(
          'ro_x',
          'staged',
          slugs(count).map((slug) => aCandidate(slug)),
        ),
        'free_5',
      ),
    ).toHaveLength(first)
  })

  test('another rollout draws other boxes, the same one always the same', () => {
    const boxes = slugs(200).map((slug) => aCandidate(slug))
    const first = (id: string) => inPhase(assignPhases(id, 'staged', boxes), 'free_5').sort()
    expect(first('ro_a')).toEqual(first('ro_a'))
    expect(first('ro_a')).not.toEqual(first('ro_b'))
  })

  test('in an emergency every box goes with its tier, canaries too', () => {
    const boxes = [aCandidate('a', { canary: true }), aCandidate('b', { tier: 'pro' }), aCandidate('c', { tier: 'enterprise' })]
    expect([...assignPhases('cve', 'emergency_cve', boxes).values()]).toEqual(['free_100', 'pro', 'enterprise'])
  })

  test('every box has exactly one phase, and outside canary it is one of its tier', () => {
    const tiers = { free: ['free_5', 'free_100'], pro: ['pro'], enterprise: ['enterprise'] }
    const aBox = fc.record({ tier: fc.constantFrom('free' as const, 'pro' as const, 'enterprise' as const), canary: fc.boolean() })
    fc.assert(
      fc.property(fc.array(aBox, { maxLength: 60 }), fc.string(), (list, id) => {
        const boxes = list.map((box, n) => aCandidate(`t${n}`, box))
        const phases = assignPhases(id, 'staged', boxes)
        expect(phases.size).toBe(boxes.length)
        for (const { slug, tier } of boxes) expect(['canary', ...tiers[tier]]).toContain(phases.get(slug))
      }),
    )
  })
})
