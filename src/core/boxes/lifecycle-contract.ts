import { z } from 'zod'
import { admin, type Contract, endpoint, Timestamp } from '../contract/index.ts'
import { BoxMove } from './move.ts'
import { Service, Slug } from './names.ts'
import { BoxRemoval } from './removal.ts'
import { ReintroducedVulnerability } from './vulnerabilities.ts'

const ofBox = '/api/admin/v1/boxes/:slug'
const bySlug = z.object({ slug: Slug })
const Reason = z.string().trim().min(3).max(300)
const HostName = z.string().min(1).max(100)
const Asked = z.object({ commandId: z.string() })
const Sha256 = z.string().regex(/^[0-9a-f]{64}$/, 'must be the sum of a diff that was shown')

const MoveBody = z.strictObject({
  to: HostName.meta({ description: 'Name of the host that is to carry it' }),
  reason: Reason,
  oldHostIsDead: HostName.optional().meta({
    description: 'The name of the old host, typed: it is gone for good, and the newest snapshot is what is left',
  }),
})

/** What a move would do. */
const MovePlan = z.object({
  from: z.string(),
  to: z.string(),
  ports: z.object({ public: z.number().int(), platform: z.number().int(), probe: z.number().int() }),
  /** Only when the old host is dead: otherwise the snapshot is taken when the box stands still, and nothing is lost. */
  snapshot: z
    .object({
      snapshotId: z.string(),
      takenAt: Timestamp,
      damaged: z.boolean(),
      reopens: z
        .array(ReintroducedVulnerability)
        .meta({ description: 'Holes that emergencies closed, and that the box has again with it' }),
    })
    .nullable(),
  losesMs: z.number(),
})

/** What befalls a box beside updates: people work on it, it changes hosts, it ends. */
export const lifecycleContract = {
  maintainBox: endpoint({
    method: 'POST',
    path: `${ofBox}/maintenance`,
    auth: admin('operator'),
    params: bySlug,
    body: z.strictObject({ on: z.boolean(), reason: Reason }),
    returns: Asked,
    status: 202,
    problems: ['HOST_OFFLINE', 'CONFLICT', 'BOX_HELD', 'BOX_NOT_MANAGED'],
    summary: 'Close the box for people’s work on it, or open it again; rollouts wait for its end',
  }),
  readLogs: endpoint({
    method: 'POST',
    path: `${ofBox}/logs`,
    auth: admin('operator'),
    params: bySlug,
    body: z.strictObject({
      services: z.array(Service).min(1).max(4).optional(),
      lines: z.number().int().min(1).max(2000).default(200),
      since: z.string().max(40).optional().meta({ description: 'Only lines after this moment of the host’s clock, ISO 8601' }),
      continues: z.string().max(200).optional().meta({ description: 'The command before, when somebody goes on reading' }),
    }),
    returns: Asked,
    status: 202,
    problems: ['HOST_OFFLINE', 'CONFLICT'],
    summary: 'Ask for what its services print, also while an update runs; the result of the command has it',
  }),
  planMove: endpoint({
    method: 'POST',
    path: `${ofBox}/move/plan`,
    auth: admin('operator'),
    params: bySlug,
    body: MoveBody.omit({ reason: true }),
    returns: MovePlan,
    problems: ['CONFLICT', 'CONFIG', 'HOST_OFFLINE', 'HOST_REVOKED', 'BOX_HELD', 'BOX_NOT_MANAGED', 'PORT_TAKEN', 'VALIDATION'],
    summary: 'What a move would do; changes nothing',
  }),
  moveBox: endpoint({
    method: 'POST',
    path: `${ofBox}/move`,
    auth: admin('operator'),
    params: bySlug,
    body: MoveBody,
    returns: BoxMove,
    status: 202,
    problems: ['CONFLICT', 'CONFIG', 'HOST_OFFLINE', 'HOST_REVOKED', 'BOX_HELD', 'BOX_NOT_MANAGED', 'PORT_TAKEN', 'VALIDATION'],
    summary: 'Move the box to another host; the old host keeps a stopped copy until that is confirmed',
  }),
  confirmMove: endpoint({
    method: 'POST',
    path: `${ofBox}/move/confirm`,
    auth: admin('operator'),
    params: bySlug,
    returns: BoxMove,
    status: 202,
    problems: ['INVALID_TRANSITION', 'HOST_OFFLINE'],
    summary: 'The box is well where it is now: its copy on the old host goes',
  }),
  giveBackBox: endpoint({
    method: 'POST',
    path: `${ofBox}/move/back`,
    auth: admin('operator'),
    params: bySlug,
    body: z.strictObject({
      newHostIsDead: HostName.optional().meta({
        description: 'The name of the new host, typed: it will never say how the take-over ended',
      }),
    }),
    returns: BoxMove,
    status: 202,
    problems: ['INVALID_TRANSITION', 'HOST_OFFLINE', 'CONFLICT', 'VALIDATION'],
    summary: 'End a move that hangs: the box runs on its old host again',
  }),
  removeBox: endpoint({
    method: 'POST',
    path: `${ofBox}/remove`,
    auth: admin('admin'),
    params: bySlug,
    body: z.strictObject({
      confirm: Slug.meta({ description: 'The slug once more, typed' }),
      reason: Reason,
      now: z.boolean().default(false).meta({ description: 'Erase its data on the host as soon as the last snapshot is taken' }),
    }),
    returns: BoxRemoval,
    status: 202,
    problems: ['CONFLICT', 'CONFIG', 'HOST_OFFLINE', 'BOX_HELD', 'VALIDATION', 'INVALID_TRANSITION'],
    summary: 'Stop a box for good after a last snapshot; its data stay on the host for a time',
  }),
  undoRemoval: endpoint({
    method: 'POST',
    path: `${ofBox}/remove/undo`,
    auth: admin('admin'),
    params: bySlug,
    returns: BoxRemoval,
    status: 202,
    problems: ['INVALID_TRANSITION', 'HOST_OFFLINE', 'HOST_REVOKED'],
    summary: 'Let a removed box run again',
  }),
  completeBox: endpoint({
    method: 'POST',
    path: `${ofBox}/complete`,
    auth: admin('operator'),
    params: bySlug,
    body: z.strictObject({
      expected: Sha256.nullable().meta({ description: 'null only asks for the diff; with its sum exactly that is done' }),
    }),
    returns: Asked,
    status: 202,
    problems: ['HOST_OFFLINE', 'CONFLICT', 'BOX_HELD', 'PORT_TAKEN'],
    summary: 'Add what an observed box lacks to be managed, after its diff was seen',
  }),
  releaseBox: endpoint({
    method: 'POST',
    path: `${ofBox}/release`,
    auth: admin('operator'),
    params: bySlug,
    body: z.strictObject({ confirm: Slug.meta({ description: 'The slug once more, typed' }), reason: Reason }),
    returns: z.object({ released: z.string(), fenced: z.boolean(), next: z.array(z.string()) }),
    problems: ['CONFLICT', 'VALIDATION'],
    summary: 'Take the hold of a box from somebody who will not come back for it',
  }),
} as const satisfies Contract
