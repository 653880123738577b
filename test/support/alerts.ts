import type { NewAlert } from '../../src/core/alerts/index.ts'

/** An alert as a feature raises it, for tests of what becomes of it. */
export const stuckFence = (slug: string): NewAlert => ({
  kind: 'fence_stuck',
  subject: slug,
  title: `${slug} has been in maintenance too long`,
  body: `${slug} has been fenced since 2026-01-05 02:00:00 UTC.\nUsers see a maintenance page.`,
  command: `tenantry boxes show ${slug}`,
  standing: true,
})
