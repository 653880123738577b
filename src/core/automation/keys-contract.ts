import { z } from 'zod'
import { Slug } from '../boxes/index.ts'
import { admin, adminPerson, adminReauthenticated, type Contract, empty, endpoint, Timestamp } from '../contract/index.ts'

const base = '/api/admin/v1/automation-keys'
const KeyId = z.string().regex(/^aky_[0-9a-z]{20}$/, 'must be the id of an automation key')

export const AutomationKey = z.object({
  id: z.string(),
  name: z.string(),
  prefix: z.string().meta({ description: 'The first characters of the key, to identify it' }),
  tenants: z.array(Slug).meta({ description: 'The tenants that the key may act for' }),
  createdBy: z.string(),
  createdAt: Timestamp,
  expiresAt: Timestamp.nullable(),
  lastUsedAt: Timestamp.nullable(),
})
export type AutomationKey = z.infer<typeof AutomationKey>

const NewKey = z.strictObject({
  name: z.string().regex(/^[a-z0-9][a-z0-9._-]{0,63}$/, 'must be 1 to 64 lower-case letters, digits or . _ -'),
  tenants: z.array(Slug).min(1).max(500).meta({ description: 'Slugs of the tenants that the key may act for' }),
  days: z.int().min(1).max(3650).optional().meta({ description: 'Validity; without it the key is valid until it is revoked' }),
})

/** Keys of automation tools, for operators. */
export const automationKeysContract = {
  listAutomationKeys: endpoint({
    method: 'GET',
    path: base,
    auth: admin('viewer'),
    returns: z.object({ keys: z.array(AutomationKey) }),
    summary: 'List the keys of automation tools',
  }),
  createAutomationKey: endpoint({
    method: 'POST',
    audit: 'automation-key.created',
    path: base,
    auth: adminReauthenticated('operator'),
    body: NewKey,
    returns: AutomationKey.extend({ key: z.string() }),
    status: 201,
    problems: ['ALREADY_EXISTS', 'NOT_FOUND'],
    summary: 'Create a key for one tenant or several; it is shown once',
  }),
  revokeAutomationKey: endpoint({
    method: 'DELETE',
    audit: 'automation-key.revoked',
    path: `${base}/:id`,
    auth: adminPerson('operator'),
    params: z.object({ id: KeyId }),
    returns: empty,
    summary: 'Revoke a key on all replicas at once',
  }),
  rotateChatCredentials: endpoint({
    method: 'POST',
    audit: 'automation.credentials-rotated',
    path: '/api/admin/v1/tenants/:slug/automation/rotate',
    auth: adminPerson('operator'),
    params: z.object({ slug: Slug }),
    returns: z.object({ tenant: Slug, userId: z.string(), rotatedAt: Timestamp }),
    problems: ['HOMESERVER_UNREACHABLE', 'CONFLICT'],
    summary: 'End the chat token of a tenant’s automation user; the next call for it returns a new one',
  }),
} as const satisfies Contract
