import { z } from 'zod'
import { admin, type Contract, endpoint, sse, TimeInput, Timestamp } from '../contract/index.ts'
import { reasonLength } from '../kit/index.ts'
import { AgentError } from './command-parts.ts'
import { importContract } from './import-contract.ts'
import { BoxMove } from './move.ts'
import { Service, Slug } from './names.ts'
import { BoxRemoval } from './removal.ts'
import { LogBatch } from './services.ts'
import { ReintroducedVulnerability } from './vulnerabilities.ts'

const ofBox = '/api/admin/v1/boxes/:slug'
const bySlug = z.object({ slug: Slug })
const Reason = z.string().trim().min(reasonLength.min).max(reasonLength.max)
const HostName = z
  .string()
  .min(1)
  .max(100)
  .regex(/^[!-~]+$/, 'must be the name of a host')
const Asked = z.object({ commandId: z.string() })

const MoveBody = z.strictObject({
  to: HostName.meta({ description: 'Name of the target host' }),
  reason: Reason,
  oldHostIsDead: HostName.optional().meta({
    description: 'Name of the old host, typed, when it is permanently lost: the box is rebuilt from its newest snapshot',
  }),
  stoppedOnNewHost: z.boolean().optional().meta({
    description: 'true: the host of the stranded move that this one replaces does not run the box any more',
  }),
})

/** Lines of followed logs. `end` says why no more will come. */
export const FollowedLogs = LogBatch.extend({ end: AgentError.nullable() })
export type FollowedLogs = z.infer<typeof FollowedLogs>

/** The preview of a move. */
const MovePlan = z.object({
  from: z.string(),
  to: z.string(),
  ports: z.object({ public: z.number().int(), platform: z.number().int(), probe: z.number().int() }),
  /** Only when the old host is dead: otherwise the snapshot is taken after the box is stopped, and no data is lost. */
  snapshot: z
    .object({
      snapshotId: z.string(),
      takenAt: Timestamp,
      damaged: z.boolean(),
      reopens: z.array(ReintroducedVulnerability).meta({ description: 'Fixed vulnerabilities that the snapshot reintroduces' }),
    })
    .nullable(),
  losesMs: z.number(),
})
export type MovePlan = z.infer<typeof MovePlan>

/** Maintenance, logs, moves, removal, adoption and release of a box. */
export const lifecycleContract = {
  maintainBox: endpoint({
    method: 'POST',
    audit: 'box.maintenance.on',
    path: `${ofBox}/maintenance`,
    auth: admin('operator'),
    params: bySlug,
    body: z.strictObject({ on: z.boolean(), reason: Reason }),
    returns: Asked,
    status: 202,
    problems: ['HOST_OFFLINE', 'CONFLICT', 'BOX_HELD', 'BOX_NOT_MANAGED'],
    summary: 'Enter or leave maintenance mode; rollouts wait until it ends',
  }),
  restartBox: endpoint({
    method: 'POST',
    audit: 'box.restart',
    path: `${ofBox}/restart`,
    auth: admin('operator'),
    params: bySlug,
    body: z.strictObject({
      reason: Reason,
      services: z.array(Service).min(1).max(4).optional().meta({ description: 'Only these; default: all' }),
    }),
    returns: Asked,
    status: 202,
    problems: ['HOST_OFFLINE', 'CONFLICT', 'BOX_HELD'],
    summary: 'Restart the containers of a box, unchanged; the result of the command has the probe afterwards',
  }),
  readLogs: endpoint({
    method: 'POST',
    audit: 'box.logs',
    path: `${ofBox}/logs`,
    auth: admin('operator'),
    params: bySlug,
    body: z.strictObject({
      services: z.array(Service).min(1).max(4).optional(),
      lines: z.number().int().min(1).max(2000).default(200),
      since: TimeInput.optional().meta({ description: 'Only lines after this time of the host’s clock, ISO 8601' }),
    }),
    returns: Asked,
    status: 202,
    problems: ['HOST_OFFLINE', 'CONFLICT'],
    summary: 'Read the logs of a box, also during an update; the lines are in the result of the command',
  }),
  readServices: endpoint({
    method: 'POST',
    audit: { none: 'changes nothing and reads nothing of users' },
    path: `${ofBox}/services`,
    auth: admin('operator'),
    params: bySlug,
    returns: Asked,
    status: 202,
    problems: ['HOST_OFFLINE', 'CONFLICT'],
    summary: 'Measure the services of a box: state, restarts, CPU and memory; they are in the result of the command',
  }),
  followLogs: endpoint({
    method: 'GET',
    path: `${ofBox}/logs/follow`,
    auth: admin('operator'),
    params: bySlug,
    query: z.strictObject({
      services: z
        .string()
        .regex(/^(edge|synapse|postgres|minio)(,(edge|synapse|postgres|minio)){0,3}$/, 'must be services, comma-separated')
        .optional()
        .meta({ description: 'Comma-separated; default: all' }),
      lines: z.coerce.number().int().min(0).max(2000).default(200).meta({ description: 'The newest lines to begin with' }),
      since: TimeInput.optional().meta({ description: 'Only lines after this time of the host’s clock, ISO 8601' }),
    }),
    returns: sse(FollowedLogs),
    problems: ['HOST_OFFLINE', 'CONFLICT', 'RATE_LIMITED'],
    summary: 'Follow the logs of a box, secrets removed; `Last-Event-ID` continues after the last lines',
  }),
  planMove: endpoint({
    method: 'POST',
    audit: { none: 'changes nothing' },
    path: `${ofBox}/move/plan`,
    auth: admin('operator'),
    cost: 'plan',
    params: bySlug,
    body: MoveBody.omit({ reason: true }),
    returns: MovePlan,
    problems: ['CONFLICT', 'CONFIG', 'HOST_OFFLINE', 'HOST_REVOKED', 'BOX_HELD', 'BOX_NOT_MANAGED', 'PORT_TAKEN', 'VALIDATION'],
    summary: 'Preview a move (read-only)',
  }),
  moveBox: endpoint({
    method: 'POST',
    audit: ['box.move.handing_over', 'box.move.done'],
    path: `${ofBox}/move`,
    auth: admin('operator'),
    params: bySlug,
    body: MoveBody,
    returns: BoxMove,
    status: 202,
    problems: ['CONFLICT', 'CONFIG', 'HOST_OFFLINE', 'HOST_REVOKED', 'BOX_HELD', 'BOX_NOT_MANAGED', 'PORT_TAKEN', 'VALIDATION'],
    summary: 'Move a box to another host; the old host keeps a stopped copy until the move is confirmed',
  }),
  confirmMove: endpoint({
    method: 'POST',
    audit: 'box.move.done',
    path: `${ofBox}/move/confirm`,
    auth: admin('operator'),
    params: bySlug,
    returns: BoxMove,
    status: 202,
    problems: ['INVALID_TRANSITION', 'HOST_OFFLINE'],
    summary: 'Confirm a move: delete the copy on the old host',
  }),
  giveBackBox: endpoint({
    method: 'POST',
    audit: 'box.move.taking_over',
    path: `${ofBox}/move/back`,
    auth: admin('operator'),
    params: bySlug,
    body: z.strictObject({
      newHostIsDead: HostName.optional().meta({
        description: 'Name of the new host, typed, when it is permanently lost',
      }),
      stoppedOnNewHost: z.boolean().optional().meta({
        description: 'true: you stopped the containers of the box on the new host, whose agent lost its state folder during the move',
      }),
    }),
    returns: BoxMove,
    status: 202,
    problems: ['INVALID_TRANSITION', 'HOST_OFFLINE', 'CONFLICT', 'VALIDATION'],
    summary: 'Revert a stalled move: the box runs on its old host again',
  }),
  removeBox: endpoint({
    method: 'POST',
    audit: ['box.removal.handing_over', 'box.removal.kept'],
    path: `${ofBox}/remove`,
    auth: admin('admin'),
    params: bySlug,
    body: z.strictObject({
      confirm: Slug.meta({ description: 'The slug, repeated' }),
      reason: Reason,
      now: z.boolean().default(false).meta({ description: 'Erase its data on the host right after the last snapshot' }),
      hostIsDead: HostName.optional().meta({
        description: 'Name of its host, typed, when it is permanently lost: the record ends, and data may stay there',
      }),
    }),
    returns: BoxRemoval,
    status: 202,
    problems: ['CONFLICT', 'CONFIG', 'HOST_OFFLINE', 'BOX_HELD', 'VALIDATION', 'INVALID_TRANSITION'],
    summary: 'Remove a box, healthy or not, after a last snapshot; its data stay on the host until they expire',
  }),
  undoRemoval: endpoint({
    method: 'POST',
    audit: 'box.removal.handing_over',
    path: `${ofBox}/remove/undo`,
    auth: admin('admin'),
    params: bySlug,
    returns: BoxRemoval,
    status: 202,
    problems: ['INVALID_TRANSITION', 'HOST_OFFLINE', 'HOST_REVOKED'],
    summary: 'Restore a removed box',
  }),
  ...importContract,
  adoptAgain: endpoint({
    method: 'POST',
    audit: 'box.adopt.again',
    path: `${ofBox}/adopt-again`,
    auth: admin('operator'),
    params: bySlug,
    body: z.strictObject({}),
    returns: Asked,
    status: 202,
    problems: ['HOST_OFFLINE', 'CONFLICT', 'BOX_HELD'],
    summary: 'Register a box again on its host, after the agent lost its state folder',
  }),
  releaseBox: endpoint({
    method: 'POST',
    audit: 'box.released',
    path: `${ofBox}/release`,
    auth: admin('operator'),
    params: bySlug,
    body: z.strictObject({ confirm: Slug.meta({ description: 'The slug, repeated' }), reason: Reason }),
    returns: z.object({ released: z.string(), fenced: z.boolean(), next: z.array(z.string()) }),
    problems: ['CONFLICT', 'VALIDATION'],
    summary: 'Force-release a stale hold',
  }),
} as const satisfies Contract
