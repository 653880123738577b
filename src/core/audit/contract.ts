import { z } from 'zod'
import { admin, type Contract, CounterText, endpoint, Paging, Timestamp } from '../contract/index.ts'

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
  brokenAt: z.int().optional().meta({ description: 'Number of the first entry that does not hold' }),
  reason: z.string().optional(),
  head: z.object({ seq: z.int(), hash: z.string() }),
})
export type ChainReport = z.output<typeof ChainReport>

const Filter = z.string().min(1).max(200).optional()

export const auditContract = {
  listAudit: endpoint({
    method: 'GET',
    path: '/api/admin/v1/audit',
    auth: admin('viewer'),
    query: Paging.extend({
      cursor: CounterText.optional(),
      chain: ChainName.default('admin'),
      actor: Filter.meta({ description: 'Exactly, or the beginning with a * at the end' }),
      action: Filter,
      subject: Filter,
    }),
    returns: z.object({ entries: z.array(AuditEntryAnswer), nextCursor: z.string().nullable() }),
    summary: 'Who did what, newest first',
  }),
  verifyAudit: endpoint({
    method: 'GET',
    path: '/api/admin/v1/audit/verify',
    auth: admin('viewer'),
    perAddress: 1,
    query: z.strictObject({ chain: ChainName.optional() }),
    returns: z.object({ chains: z.array(ChainReport) }),
    summary: 'Whether every chain of the log still holds together',
  }),
} as const satisfies Contract
