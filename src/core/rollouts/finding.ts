import { z } from 'zod'

/** Findings of a plan or of a box's preflight (SAFETY, Pre-flight). The agent refuses what only it can know, before any downtime. */
export const FindingCode = z.enum([
  // the host and its agent
  'HOST_OFFLINE',
  'CLOCK_SKEW',
  'AGENT_TOO_OLD',
  // the state of the box
  'NOT_MANAGED',
  'IN_PLACE',
  'NO_REPORT',
  'STALE_REPORT',
  'BOX_HELD',
  'BOX_FENCED',
  'BOX_UNHEALTHY',
  'COMPOSE_CHANGED',
  'COMPOSE_UPGRADED',
  'WOULD_RECREATE',
  'OTHER_SERVICES',
  'SCALED_SERVICE',
  'NOT_RESTORABLE',
  'EXTRA_COMPOSE',
  // the version change
  'VERSION_UNKNOWN',
  'DOWNGRADE',
  'MIGRATIONS_BACK',
  'POSTGRES_MAJOR',
  'POSTGRES_TOO_OLD',
  'COLLATION',
  'SCHEMA_TOO_NEW',
  'SCHEMA_UNKNOWN',
  'OBJECT_STORE_UNKNOWN',
  'BACKGROUND_UPDATES',
  'IMAGE_NOT_FOUND',
  'DIGEST_DISPUTED',
  'DIGEST_UNCONFIRMED',
  // space and time
  'NO_SPACE',
  'LONG_FENCE',
  'WINDOW_TOO_SHORT',
  // an emergency has updated the box meanwhile
  'AHEAD_OF_PLAN',
  // left by an earlier attempt
  'OTHER_IMAGE',
  'ROLLED_BACK',
  // rollback
  'NO_EVIDENCE',
  'CHANGED_SINCE',
  'REINTRODUCES_CVE',
  'SNAPSHOT_GONE',
  'OBJECT_STORE_STAYS',
  'SYNC_POSITIONS',
])
export type FindingCode = z.infer<typeof FindingCode>

/** `refuse` blocks the box until the cause is fixed or the finding waived; `warn` does not. */
export const Finding = z.object({ severity: z.enum(['refuse', 'warn']), code: FindingCode, message: z.string() })
export type Finding = z.infer<typeof Finding>

export const refusal = (code: FindingCode, message: string): Finding => ({ severity: 'refuse', code, message })
export const warning = (code: FindingCode, message: string): Finding => ({ severity: 'warn', code, message })

export const refusalsOf = <One extends Pick<Finding, 'severity'>>(findings: readonly One[]): One[] =>
  findings.filter(({ severity }) => severity === 'refuse')

/** The messages of all refusals; empty without any. */
export const refusalText = (findings: readonly Finding[]): string =>
  refusalsOf(findings)
    .map(({ message }) => message)
    .join('; ')
