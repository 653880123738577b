import { expect, test } from 'vitest'
import { classifyInstance, isOffline, noInstances, withNewInstance } from '../../../src/core/hosts/index.ts'

const at = (seconds: number) => new Date(Date.parse('2026-01-05T02:00:00Z') + seconds * 1000)

test('an agent that restarts is accepted under its new id', () => {
  const first = withNewInstance(noInstances, 'a', at(0))
  expect(classifyInstance(first, 'a', at(1))).toBe('current')
  expect(classifyInstance(first, 'b', at(1))).toBe('unknown')
  const second = withNewInstance(first, 'b', at(1))
  expect(classifyInstance(second, 'b', at(2))).toBe('current')
})

test('a retired instance that still calls is a second agent, but not within the first seconds', () => {
  const second = withNewInstance(withNewInstance(noInstances, 'a', at(0)), 'b', at(100))
  expect(classifyInstance(second, 'a', at(104))).toBe('late')
  expect(classifyInstance(second, 'a', at(106))).toBe('twice')
})

test('only the last instances are stored', () => {
  let instances = noInstances
  for (let run = 0; run < 50; run++) instances = withNewInstance(instances, `run-${run}`, at(run))
  expect(instances.retired).toHaveLength(20)
  expect(instances.retired[0]?.id).toBe('run-48')
})

test.each([
  [null, true],
  [at(0).toISOString(), true],
  [at(11).toISOString(), false],
])('a host last seen at %s is offline: %s', (lastSeenAt, offline) => {
  expect(isOffline({ lastSeenAt }, at(101))).toBe(offline)
})
