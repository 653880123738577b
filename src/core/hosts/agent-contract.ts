import { z } from 'zod'
import { BoxMigration, CommandOutputs, CommandSecrets, LogBatch, Progress, VersionsReport } from '../boxes/index.ts'
import { agent, type Contract, Counter, empty, endpoint, open } from '../contract/index.ts'
import { ArchiveOrders, ArchiveReport } from './archive-exchange.ts'
import { CommandError, CommandId, CommandStatus } from './command.ts'
import { EngineInfo, HostName, HostResources } from './host.ts'
import { channelLimits } from './protocol.ts'

const byId = z.object({ id: CommandId })

/** A command the agent works on; listing it renews its lease. */
export const HeldCommand = z.strictObject({ id: CommandId, leaseToken: Counter })
export type HeldCommand = z.infer<typeof HeldCommand>

const Holding = z.array(HeldCommand).max(channelLimits.held)
const AgentVersion = z.string().regex(/^[\x21-\x7e]{1,50}$/, 'must be a version such as 1.2.3')
/** The host's clock minus the daemon's, measured by the agent; null before the first measurement. */
const ClockOffset = z.number().min(-1e13).max(1e13).nullable()
const Reports = z.array(VersionsReport).max(channelLimits.reports)

/** A box that now belongs to another host, and its ownership epoch there. */
export const DisownedBox = z.object({ slug: z.string(), boxId: z.string(), ownershipEpoch: z.number().int().min(1) })
export type DisownedBox = z.infer<typeof DisownedBox>

/** A command leased to the agent. `kind` is a plain string: an agent rejects kinds it does not know. */
export const LeasedCommand = z.object({
  id: CommandId,
  kind: z.string(),
  boxId: z.string(),
  payload: z.unknown(),
  leaseToken: Counter,
  /** Time until expiry, as a duration because clocks may differ. */
  deadlineMs: z.number().int(),
  /** `traceparent` of the span that handed it out; absent outside a trace. */
  trace: z.string().max(60).optional(),
})
export type LeasedCommand = z.infer<typeof LeasedCommand>

/** The outcome of a command. The result is validated against the schema of its kind. */
export const CommandOutcome = z.discriminatedUnion('ok', [
  z.strictObject({ ok: z.literal(true), result: z.unknown() }),
  z.strictObject({ ok: z.literal(false), error: CommandError }),
])
export type CommandOutcome = z.infer<typeof CommandOutcome>

/** The public half of the agent's key, as a JWK. */
export const AgentPublicKey = z.strictObject({
  kty: z.literal('OKP'),
  crv: z.literal('Ed25519'),
  x: z.string().regex(/^[A-Za-z0-9_-]{43}$/, 'must be 32 bytes in base64url'),
})
export type AgentPublicKey = z.infer<typeof AgentPublicKey>

/** The agent API. Agents connect to the daemon; the daemon never connects to a host. */
export const agentContract = {
  enrolHost: endpoint({
    method: 'POST',
    audit: 'host.enrolled',
    path: '/api/agent/v1/enrol',
    auth: open,
    perAddress: 2,
    body: z.strictObject({
      token: z.string().max(200),
      publicKey: AgentPublicKey,
      daemonUrl: z.url({ protocol: /^https?$/ }),
      protocolVersion: z.number().int(),
      agentVersion: AgentVersion,
    }),
    returns: z.object({ hostId: z.string(), name: HostName, keyId: z.string() }),
    status: 201,
    problems: ['ENROLMENT_INVALID', 'PROTOCOL_VERSION', 'CONFLICT'],
    summary: 'Enrol the agent of a host with a token from `tenantry hosts invite`',
  }),
  hello: endpoint({
    method: 'POST',
    audit: { none: 'what an agent reports is stored as events and evidence; its results are audited by the feature they concern' },
    path: '/api/agent/v1/hello',
    auth: agent,
    bodyLimit: channelLimits.reportsBytes,
    // Unknown fields are allowed: a newer agent may send more.
    body: z.object({
      protocolVersion: z.number().int(),
      /** The oldest supported version; default: `protocolVersion`. */
      oldestProtocol: z.number().int().optional(),
      agentVersion: AgentVersion,
      clockOffsetMs: ClockOffset.optional(),
      engine: EngineInfo.nullable(),
      resources: HostResources.nullable(),
      /** The running state of every box of the host. */
      reports: Reports,
      /** Every command the agent still works on; other leased commands of the host are requeued. */
      holding: Holding,
    }),
    returns: z.object({
      hostId: z.string(),
      name: z.string(),
      /** The highest version both sides support. */
      protocol: z.number().int(),
      serverTime: z.string(),
      /** Age of the agent's key. */
      keyAgeMs: z.number().min(0),
      longPollMs: z.number().int(),
      heartbeatMs: z.number().int(),
      /** After a lost connection each agent waits a random part of this; it grows with the fleet. */
      reconnectSpreadMs: z.number().int(),
      /** Reported boxes that now belong to another host; the agent stops them first. */
      disowned: z.array(DisownedBox).max(channelLimits.reports).default([]),
    }),
    problems: ['PROTOCOL_VERSION'],
    summary: 'Connect: report versions, machine, boxes and running commands',
  }),
  nextCommand: endpoint({
    method: 'POST',
    audit: { none: 'what an agent reports is stored as events and evidence; its results are audited by the feature they concern' },
    path: '/api/agent/v1/commands/next',
    auth: agent,
    body: z.strictObject({
      holding: Holding,
      /** `questions`: the agent is busy and accepts only read-only commands. */
      room: z.enum(['all', 'questions']).default('all'),
    }),
    returns: z.object({ command: LeasedCommand.nullable() }),
    summary: 'Long-poll up to 25 s for the next command',
  }),
  heartbeat: endpoint({
    method: 'POST',
    audit: { none: 'what an agent reports is stored as events and evidence; its results are audited by the feature they concern' },
    path: '/api/agent/v1/heartbeat',
    auth: agent,
    body: z.object({ holding: Holding, resources: HostResources.nullable().optional(), clockOffsetMs: ClockOffset.optional() }),
    returns: z.object({
      lost: z.array(z.string()).meta({ description: 'Commands no longer leased to this agent' }),
      serverTime: z.string(),
    }),
    summary: 'Renew command leases; report machine usage once a minute',
  }),
  rotateKey: endpoint({
    method: 'POST',
    audit: ['host.key_announced', 'host.key_rotated'],
    path: '/api/agent/v1/key',
    auth: agent,
    body: z.strictObject({ publicKey: AgentPublicKey }),
    returns: z.object({
      keyId: z.string(),
      state: z
        .enum(['announced', 'current'])
        .meta({ description: '`announced`: valid from its first use, which invalidates the former key' }),
    }),
    problems: ['CONFLICT'],
    summary: 'Announce the next key of the agent',
  }),
  postProgress: endpoint({
    method: 'POST',
    audit: { none: 'what an agent reports is stored as events and evidence; its results are audited by the feature they concern' },
    path: '/api/agent/v1/commands/:id/progress',
    auth: agent,
    params: byId,
    body: z.strictObject({ leaseToken: Counter, progress: z.array(Progress).max(channelLimits.progressPerCall) }),
    returns: empty,
    summary: 'Report progress of a command; renews its lease',
  }),
  postLines: endpoint({
    method: 'POST',
    audit: { none: 'reading logs is audited when an operator begins it' },
    path: '/api/agent/v1/lines',
    auth: agent,
    bodyLimit: channelLimits.reportsBytes,
    body: z.strictObject({
      batches: z.array(z.strictObject({ commandId: z.string(), leaseToken: Counter, ...LogBatch.shape })).max(channelLimits.followers),
    }),
    returns: z.object({
      states: z.array(z.enum(['accepted', 'busy', 'ended'])).meta({
        description: 'Of each batch. `busy`: not stored, because the follower is slow; send it again. `ended`: the follower is gone',
      }),
    }),
    summary: 'Send log lines of followed boxes, also none as a sign of life',
  }),
  postResult: endpoint({
    method: 'POST',
    audit: { none: 'what an agent reports is stored as events and evidence; its results are audited by the feature they concern' },
    path: '/api/agent/v1/commands/:id/result',
    auth: agent,
    params: byId,
    bodyLimit: channelLimits.resultBytes,
    body: z.strictObject({ leaseToken: Counter, outcome: CommandOutcome }),
    returns: z.object({ status: CommandStatus }),
    summary: 'Report the outcome of a command (idempotent)',
  }),
  commandSecrets: endpoint({
    method: 'POST',
    audit: { none: 'what an agent reports is stored as events and evidence; its results are audited by the feature they concern' },
    path: '/api/agent/v1/commands/:id/secrets',
    auth: agent,
    params: byId,
    body: z.strictObject({ leaseToken: Counter }),
    returns: CommandSecrets,
    problems: ['CONFIG', 'SNAPSHOT_STORE_UNAVAILABLE'],
    summary: 'Get the secrets of a leased command; keep them in memory only',
  }),
  postOutputs: endpoint({
    method: 'POST',
    audit: { none: 'what an agent reports is stored as events and evidence; its results are audited by the feature they concern' },
    path: '/api/agent/v1/commands/:id/outputs',
    auth: agent,
    params: byId,
    body: z.strictObject({ leaseToken: Counter, outputs: CommandOutputs }),
    returns: empty,
    summary: 'Deliver secrets made on the host; sealed before storage',
  }),
  boxMigrations: endpoint({
    method: 'GET',
    path: '/api/agent/v1/box-migrations',
    auth: agent,
    returns: z.object({ migrations: z.array(BoxMigration) }),
    summary: 'List box migrations in order, with SQL and checksum',
    spec: '4.10',
  }),
  archives: endpoint({
    method: 'POST',
    audit: { none: 'what an agent reports is stored as events and evidence; its results are audited by the feature they concern' },
    path: '/api/agent/v1/archives',
    auth: agent,
    bodyLimit: channelLimits.reportsBytes,
    body: z.strictObject({
      reports: z.array(ArchiveReport).max(channelLimits.reports),
      secrets: z.boolean().meta({ description: 'Also return the repositories; keep them in memory only' }),
    }),
    returns: ArchiveOrders,
    problems: ['CONFIG', 'SNAPSHOT_STORE_UNAVAILABLE'],
    summary: 'Report what was archived, and list the boxes whose archive this host stores',
  }),
  postReports: endpoint({
    method: 'POST',
    audit: { none: 'what an agent reports is stored as events and evidence; its results are audited by the feature they concern' },
    path: '/api/agent/v1/reports',
    auth: agent,
    bodyLimit: channelLimits.reportsBytes,
    body: z.strictObject({ reports: Reports }),
    returns: empty,
    summary: 'Report the running state of boxes after a change on the host',
  }),
} as const satisfies Contract
