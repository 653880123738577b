import { expect, test } from 'vitest'
import { boxHeld } from '../../../src/core/boxes/index.ts'

const until = '2026-01-05T03:30:00.000Z'
const forever = '9999-12-31T23:59:59.999Z'

test.each([
  [
    { holder: 'rollout:ro_1', until },
    `is on hold: rollout ro_1 (until ${until} at the latest). fix: wait until it finishes; progress: \`tenantry rollouts show ro_1 --box oak\``,
  ],
  [{ holder: 'move:mv_1', until: forever }, 'is on hold: move mv_1. fix: wait until it finishes; progress: `tenantry boxes show oak`'],
  [{ holder: 'maintenance', until: forever }, 'is in maintenance. fix: `tenantry boxes maintenance off oak`'],
  [{ holder: 'another action' }, 'is on hold: another action. fix: wait until it finishes; progress: `tenantry boxes show oak`'],
])('BOX_HELD names the owner of the hold, its end and the next command: %o', (hold, text) => {
  expect(boxHeld({ slug: 'oak', ...hold })).toMatchObject({ code: 'BOX_HELD', message: `box oak ${text}` })
})
