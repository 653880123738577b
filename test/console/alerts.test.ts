import { expect, test } from 'vitest'
import { subjectPage } from '../../src/console/alerts/subject-page.ts'

test.each([
  ['update_failed', 'school-4', '/boxes/school-4'],
  ['rollout_paused', 'ro_7', '/rollouts/ro_7'],
  ['host_frozen', 'mars', '/hosts/mars'],
  ['billing_incomplete', 'school-4', '/tenants/school-4'],
  ['budget_high', 'school-4', '/tenants/school-4'],
  ['run_stalled', 'school-4/run_1', '/runs/school-4/run_1'],
  ['trigger_failed', 'school-4/brd_1', '/boards/school-4/brd_1'],
  ['trigger_failed', 'school-4/!room:school-4.example', '/tenants/school-4'],
  ['chat_refused', 'school-4/anna', '/tenants/school-4'],
  ['review_due', 'sbm_1', '/marketplace/submissions/sbm_1'],
  ['billing_incomplete', 'billing', undefined],
  ['vendor_restricted', 'ven_1', undefined],
] as const)('the subject of %s, %s, leads to %s', (kind, subject, page) => {
  expect(subjectPage(kind, subject)).toBe(page)
})
