import { z } from 'zod'
import { admin, type Contract, endpoint } from '../contract/index.ts'
import { UpgradeImage } from './images.ts'
import { Slug } from './names.ts'

/** Endpoints of upgrades to another major version of PostgreSQL. */
export const upgradeContract = {
  rehearseUpgrade: endpoint({
    method: 'POST',
    audit: 'box.rehearse_upgrade',
    path: '/api/admin/v1/boxes/:slug/upgrade-rehearsal',
    auth: admin('operator'),
    params: z.object({ slug: Slug }),
    body: z.strictObject({
      to: UpgradeImage.optional().meta({
        description: 'An image, or a major version as a tag of the present repository; the default is the image of the manifest',
      }),
    }),
    returns: z.object({ commandId: z.string(), image: z.string() }),
    status: 202,
    problems: ['NOT_FOUND', 'CONFLICT', 'HOST_OFFLINE', 'BOX_NOT_MANAGED'],
    summary: 'Rehearse an upgrade of PostgreSQL on a copy beside the box; the box stays online',
  }),
} as const satisfies Contract
