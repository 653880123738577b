import { z } from 'zod'
import { admin, type Contract, CounterText, endpoint, Paging, TimeInput, Timestamp } from '../contract/index.ts'
import { Checkpoint } from './checkpoint.ts'

const ChainName = z.string().regex(/^[a-z0-9][a-z0-9:_.-]{0,80}$/, 'must be the name of a chain, such as admin')

const AuditEntryAnswer = z.object({
  chain: z.string(),
  seq: z.int(),
  at: Timestamp,
  actor: z.string().meta({ description: '`admin:anna`, `token:ci`, `agent:host-1`, `system:cron`' }),
  action: z.string(),
  subject: z.string().nullable(),
  data: z.unknown(),
  previousHash: z.string(),
  hash: z.string(),
})

export const ChainReport = z.object({
  chain: z.string(),
  entries: z.int(),
  ok: z.boolean(),
  brokenAt: z.int().optional().meta({ description: 'Number of the first broken entry' }),
  reason: z.string().optional(),
  head: z.object({ seq: z.int(), hash: z.string() }),
})
export type ChainReport = z.output<typeof ChainReport>

const PublicKey = z.object({
  keyId: z.string(),
  publicKey: z.string().meta({ description: 'Ed25519, SPKI in PEM. Store it apart from the database and the key file' }),
})

const Filter = z.string().min(1).max(200).optional()

export const auditContract = {
  listAudit: endpoint({
    method: 'GET',
    path: '/api/admin/v1/audit',
    auth: admin('viewer'),
    query: Paging.extend({
      cursor: CounterText.optional(),
      chain: ChainName.default('admin'),
      actor: Filter.meta({ description: 'Exact match, or a prefix with a trailing *' }),
      action: Filter,
      subject: Filter,
      since: TimeInput.optional().meta({ description: 'Only entries of this time or later' }),
      until: TimeInput.optional().meta({ description: 'Only entries before this time' }),
    }),
    returns: z.object({ entries: z.array(AuditEntryAnswer), nextCursor: z.string().nullable() }),
    summary: 'List audit entries, newest first',
  }),
  verifyAudit: endpoint({
    method: 'GET',
    path: '/api/admin/v1/audit/verify',
    auth: admin('viewer'),
    cost: 'export',
    takesLong: true,
    perAddress: 1,
    query: z.strictObject({ chain: ChainName.optional() }),
    returns: z.object({ chains: z.array(ChainReport) }),
    problems: ['NOT_FOUND'],
    summary: 'Verify every chain of the audit log',
  }),
  exportAudit: endpoint({
    method: 'GET',
    path: '/api/admin/v1/audit/export',
    auth: admin('viewer'),
    cost: 'export',
    query: z.strictObject({
      chain: ChainName.default('admin'),
      after: z.coerce.number().int().min(0).default(0).meta({ description: 'Number of the last entry of the previous page' }),
      limit: z.coerce.number().int().min(1).max(1000).default(1000),
    }),
    returns: z.object({
      chain: z.string(),
      head: z.object({ seq: z.int(), hash: z.string() }),
      entries: z.array(AuditEntryAnswer),
    }),
    problems: ['NOT_FOUND'],
    summary: 'A page of a chain as it is hashed, for verification outside the daemon',
  }),
  listCheckpoints: endpoint({
    method: 'GET',
    path: '/api/admin/v1/audit/checkpoints',
    auth: admin('viewer'),
    query: z.strictObject({ chain: ChainName.default('admin') }),
    returns: PublicKey.extend({ checkpoints: z.array(Checkpoint) }),
    summary: 'The newest signed heads of a chain, oldest first, and the signing key',
  }),
  signCheckpoint: endpoint({
    method: 'POST',
    audit: { none: 'signs the log and adds nothing to it' },
    path: '/api/admin/v1/audit/checkpoints',
    auth: admin('operator'),
    body: z.strictObject({ chain: ChainName.optional() }),
    returns: PublicKey.extend({ checkpoints: z.array(Checkpoint) }),
    problems: ['NOT_FOUND'],
    summary: 'Sign the current heads of all chains or of one; return the newest checkpoint of each',
  }),
  auditPublicKey: endpoint({
    method: 'GET',
    path: '/api/admin/v1/audit/public-key',
    auth: admin('viewer'),
    returns: PublicKey,
    summary: 'The key that checkpoints are signed with',
  }),
} as const satisfies Contract
