import { z } from 'zod'
import { BoxMigration, CommandOutputs, CommandSecrets, Progress, VersionsReport } from '../boxes/index.ts'
import { agent, type Contract, Counter, empty, endpoint, open } from '../contract/index.ts'
import { CommandError, CommandId, CommandStatus } from './command.ts'
import { EngineInfo, HostName, HostResources } from './host.ts'
import { channelLimits } from './protocol.ts'

const byId = z.object({ id: CommandId })

/** A command that the agent works on. Naming it renews its lease. */
export const HeldCommand = z.strictObject({ id: CommandId, leaseToken: Counter })
export type HeldCommand = z.infer<typeof HeldCommand>

const Holding = z.array(HeldCommand).max(channelLimits.held)
const AgentVersion = z.string().regex(/^[\x21-\x7e]{1,50}$/, 'must be a version such as 1.2.3')
/** The host's clock minus the daemon's, as the agent measured it; null while it has heard no time. */
const ClockOffset = z.number().min(-1e13).max(1e13).nullable()
const Reports = z.array(VersionsReport).max(channelLimits.reports)

/** A box that is no longer this host's, and the epoch under which it is another's. */
export const DisownedBox = z.object({ slug: z.string(), boxId: z.string(), ownershipEpoch: z.number().int().min(1) })
export type DisownedBox = z.infer<typeof DisownedBox>

/** A command on its way to the agent. `kind` is open here: an agent answers a kind that it does not know with an error. */
export const LeasedCommand = z.object({
  id: CommandId,
  kind: z.string(),
  boxId: z.string(),
  payload: z.unknown(),
  leaseToken: Counter,
  /** Left until the daemon gives up, as a duration: the two clocks need not agree. */
  deadlineMs: z.number().int(),
})
export type LeasedCommand = z.infer<typeof LeasedCommand>

/** What became of a command. The result is checked against its kind's schema. */
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

/** What agents say to the daemon. All of it is sent by the agent; the daemon never dials a host. */
export const agentContract = {
  enrolHost: endpoint({
    method: 'POST',
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
    path: '/api/agent/v1/hello',
    auth: agent,
    bodyLimit: channelLimits.reportsBytes,
    // Open, for an agent that is newer than the daemon says more than the daemon knows.
    body: z.object({
      protocolVersion: z.number().int(),
      /** The agent speaks all from here to `protocolVersion`; absent: that one alone. */
      oldestProtocol: z.number().int().optional(),
      agentVersion: AgentVersion,
      clockOffsetMs: ClockOffset.optional(),
      engine: EngineInfo.nullable(),
      resources: HostResources.nullable(),
      /** Every box of the host, as it runs. */
      reports: Reports,
      /** Every command that the agent still works on; the host's other taken commands are offered again. */
      holding: Holding,
    }),
    returns: z.object({
      hostId: z.string(),
      name: z.string(),
      /** The highest version that both sides speak. */
      protocol: z.number().int(),
      serverTime: z.string(),
      /** Since the agent's key is in use. */
      keyAgeMs: z.number().min(0),
      longPollMs: z.number().int(),
      heartbeatMs: z.number().int(),
      /** When this daemon goes away, each agent waits a random part of this before it says hello again: it grows with the fleet. */
      reconnectSpreadMs: z.number().int(),
      /** Boxes that the agent told of and that are another host's by now; it stops them before anything else. */
      disowned: z.array(DisownedBox).max(channelLimits.reports).default([]),
    }),
    problems: ['PROTOCOL_VERSION'],
    summary: 'Begin to speak: versions, machine, boxes, commands in hand',
  }),
  nextCommand: endpoint({
    method: 'POST',
    path: '/api/agent/v1/commands/next',
    auth: agent,
    body: z.strictObject({
      holding: Holding,
      /** `questions` = all hands are full: only what disturbs no work is wanted. */
      room: z.enum(['all', 'questions']).default('all'),
    }),
    returns: z.object({ command: LeasedCommand.nullable() }),
    summary: 'Wait up to 25 s for a command whose box is free',
  }),
  heartbeat: endpoint({
    method: 'POST',
    path: '/api/agent/v1/heartbeat',
    auth: agent,
    body: z.object({ holding: Holding, resources: HostResources.nullable().optional(), clockOffsetMs: ClockOffset.optional() }),
    returns: z.object({
      lost: z.array(z.string()).meta({ description: 'Commands that are no longer this agent’s' }),
      serverTime: z.string(),
    }),
    summary: 'Renew the leases of the commands in hand; once a minute, tell what of the machine is in use',
  }),
  rotateKey: endpoint({
    method: 'POST',
    path: '/api/agent/v1/key',
    auth: agent,
    body: z.strictObject({ publicKey: AgentPublicKey }),
    returns: z.object({
      keyId: z.string(),
      state: z.enum(['announced', 'current']).meta({ description: '`announced`: it counts from its first use, which ends the former key' }),
    }),
    problems: ['CONFLICT'],
    summary: 'Announce the key that is to replace the one which signs this call',
  }),
  postProgress: endpoint({
    method: 'POST',
    path: '/api/agent/v1/commands/:id/progress',
    auth: agent,
    params: byId,
    body: z.strictObject({ leaseToken: Counter, progress: z.array(Progress).max(channelLimits.progressPerCall) }),
    returns: empty,
    summary: 'Tell the steps of a command; renews its lease',
  }),
  postResult: endpoint({
    method: 'POST',
    path: '/api/agent/v1/commands/:id/result',
    auth: agent,
    params: byId,
    bodyLimit: channelLimits.resultBytes,
    body: z.strictObject({ leaseToken: Counter, outcome: CommandOutcome }),
    returns: z.object({ status: CommandStatus }),
    summary: 'Finish a command; a repeated call changes nothing',
  }),
  commandSecrets: endpoint({
    method: 'POST',
    path: '/api/agent/v1/commands/:id/secrets',
    auth: agent,
    params: byId,
    body: z.strictObject({ leaseToken: Counter }),
    returns: CommandSecrets,
    problems: ['CONFIG', 'SNAPSHOT_STORE_UNAVAILABLE'],
    summary: 'The secrets of a command in hand; for memory only',
  }),
  postOutputs: endpoint({
    method: 'POST',
    path: '/api/agent/v1/commands/:id/outputs',
    auth: agent,
    params: byId,
    body: z.strictObject({ leaseToken: Counter, outputs: CommandOutputs }),
    returns: empty,
    summary: 'Deliver secrets made on the host; they are sealed before they are stored',
  }),
  boxMigrations: endpoint({
    method: 'GET',
    path: '/api/agent/v1/box-migrations',
    auth: agent,
    returns: z.object({ migrations: z.array(BoxMigration) }),
    summary: 'All box migrations in their order, each with its text and its sum',
    spec: '4.10',
  }),
  postReports: endpoint({
    method: 'POST',
    path: '/api/agent/v1/reports',
    auth: agent,
    bodyLimit: channelLimits.reportsBytes,
    body: z.strictObject({ reports: Reports }),
    returns: empty,
    summary: 'Tell what runs in boxes after a change on the host',
  }),
} as const satisfies Contract
