import { test } from 'vitest'
import { happenings, whateverHappens } from '../../support/rollout-happenings.ts'

test('whatever happens to a rollout in whatever order, what was promised holds', () => whateverHappens(happenings, [1, 2, 100]), 300_000)
