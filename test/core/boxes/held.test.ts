import { expect, test } from 'vitest'
import { boxHeld } from '../../../src/core/boxes/index.ts'

const until = '2026-01-05T03:30:00.000Z'
const forever = '9999-12-31T23:59:59.999Z'

test.each([
  [
    { holder: 'rollout:ro_1', until },
    `is held by rollout ro_1 until ${until} at the latest: wait for it; \`tenantry rollouts show ro_1 --box oak\` tells how far it is`,
  ],
  [{ holder: 'move:mv_1', until: forever }, 'is held by move mv_1: wait for it; `tenantry boxes show oak` tells how far it is'],
  [{ holder: 'maintenance', until: forever }, 'is in maintenance: `tenantry boxes maintenance off oak` ends it'],
  [{ holder: 'another action' }, 'is held by another action: wait for it; `tenantry boxes show oak` tells how far it is'],
])('who has a box is told with what to type, and never until the end of all days: %o', (holding, said) => {
  expect(boxHeld({ slug: 'oak', ...holding })).toMatchObject({ code: 'BOX_HELD', message: `the box oak ${said}` })
})
