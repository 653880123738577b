import { test } from 'vitest'
import { besideEmergencies } from '../../support/emergency-happenings.ts'
import { whateverHappens } from '../../support/rollout-happenings.ts'

test(
  'a rollout and emergencies beside it keep their invariants under random operations',
  () => whateverHappens(besideEmergencies, [1, 100]),
  300_000,
)
