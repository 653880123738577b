import { z } from 'zod'
import { Branding } from '../branding/index.ts'
import { Capability, type Contract, endpoint, platform, Timestamp } from '../contract/index.ts'
import { PlannedMaintenance } from '../maintenance/index.ts'
import { Profile } from '../profile/index.ts'
import { Space } from '../spaces/index.ts'
import { TaskStatus } from '../tasks/index.ts'

/** A module as clients see it (spec 2.6). */
export const BootstrapModule = z.object({
  key: z.string(),
  version: z.string(),
  enabled: z.boolean(),
  moduleId: z.string().optional(),
  apiPrefix: z.string().optional(),
})
export type BootstrapModule = z.infer<typeof BootstrapModule>

const { id, name, type, visibility, role } = Space.shape
const BootstrapSpace = z.object({ id, name, type, visibility, role: role.unwrap() })

/** Everything a client needs after a login. */
export const Bootstrap = z.object({
  user: z.object({ matrixUserId: z.string() }),
  context: z.object({ schoolId: z.string(), orgId: z.string(), roles: z.array(z.string()) }),
  modules: z.array(BootstrapModule),
  featureFlags: z.record(z.string(), z.boolean()),
  branding: Branding,
  apiVersion: z.literal('v1'),
  spaces: z.array(BootstrapSpace).meta({ description: 'Spaces you are a member of' }),
  tasks: z
    .array(
      z.object({
        id: z.string(),
        title: z.string(),
        status: TaskStatus,
        assignedRole: z.string().nullable(),
        dueAt: Timestamp.nullable(),
      }),
    )
    .meta({ description: 'Your unfinished tasks by due date, at most 200' }),
  permissions: z.array(Capability),
  profile: Profile,
  maintenance: PlannedMaintenance.nullable().meta({ description: 'The next maintenance of the chat server; null: none is planned' }),
})
export type Bootstrap = z.infer<typeof Bootstrap>

export const bootstrapContract = {
  bootstrap: endpoint({
    method: 'GET',
    path: '/api/platform/v1/bootstrap',
    auth: platform(),
    returns: Bootstrap,
    tagged: true,
    summary: 'Show everything an app needs after a login; supports `If-None-Match` with the last `ETag`',
    spec: '2.6',
  }),
} as const satisfies Contract
