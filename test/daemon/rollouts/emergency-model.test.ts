import { test } from 'vitest'
import { besideEmergencies } from '../../support/emergency-happenings.ts'
import { whateverHappens } from '../../support/rollout-happenings.ts'

test(
  'whatever happens to a rollout and to emergencies beside it, what was promised holds',
  () => whateverHappens(besideEmergencies, [1, 100]),
  300_000,
)
