import { z } from 'zod'
import { admin, adminPerson, adminReauthenticated, type Contract, empty, endpoint, Timestamp } from '../contract/index.ts'
import { CommandId, CommandView } from './command.ts'
import { EngineInfo, HostKey, HostName, HostResources, HostStatus } from './host.ts'
import { RegistryEntry, RegistryName, RegistrySetting } from './registry.ts'

export const HostView = z.object({
  id: z.string(),
  name: z.string(),
  status: HostStatus,
  enrolledAt: Timestamp,
  lastSeenAt: Timestamp.nullable(),
  agentVersion: z.string().nullable(),
  protocolVersion: z.number().int().nullable(),
  engine: EngineInfo.nullable(),
  resources: HostResources.nullable(),
  /** When the agent reported them. */
  resourcesAt: Timestamp.nullable(),
  /** Less than a tenth of the disk is free. */
  diskLow: z.boolean(),
  /** The host's clock minus the daemon's; null before the first measurement. */
  clockOffsetMs: z.number().nullable(),
  /** The clock is off by more than 30 s. */
  skewed: z.boolean(),
  keySince: Timestamp,
  /** Why it is frozen or revoked. */
  reason: z.string().nullable(),
})
export type HostView = z.infer<typeof HostView>

const byName = z.object({ name: HostName })

export const hostsContract = {
  inviteHost: endpoint({
    method: 'POST',
    audit: 'host.invited',
    path: '/api/admin/v1/hosts/invites',
    auth: adminReauthenticated('operator'),
    body: z.strictObject({ name: HostName }),
    returns: z.object({ token: z.string(), name: z.string(), expiresAt: Timestamp }),
    status: 201,
    problems: ['ALREADY_EXISTS'],
    summary: 'Create an enrolment token for one host, valid 15 minutes, shown once',
  }),
  listHosts: endpoint({
    method: 'GET',
    path: '/api/admin/v1/hosts',
    auth: admin('viewer'),
    returns: z.object({ hosts: z.array(HostView) }),
    summary: 'List hosts',
  }),
  showHost: endpoint({
    method: 'GET',
    path: '/api/admin/v1/hosts/:name',
    auth: admin('viewer'),
    params: z.object({ name: HostKey }),
    returns: HostView,
    summary: 'Show a host',
  }),
  revokeHost: endpoint({
    method: 'POST',
    audit: 'host.revoked',
    path: '/api/admin/v1/hosts/:name/revoke',
    auth: adminPerson('operator'),
    params: byName,
    body: z.strictObject({ reason: z.string().trim().min(1).max(500) }),
    returns: HostView,
    problems: ['CONFLICT'],
    summary: 'Revoke a host; its open commands expire',
  }),
  listRegistries: endpoint({
    method: 'GET',
    path: '/api/admin/v1/registries',
    auth: admin('viewer'),
    returns: z.object({ registries: z.array(RegistryEntry) }),
    summary: 'List registry mirrors and credentials; passwords are never shown',
  }),
  setRegistry: endpoint({
    method: 'PUT',
    audit: 'registry.set',
    path: '/api/admin/v1/registries',
    auth: adminPerson('operator'),
    body: RegistrySetting,
    returns: RegistryEntry,
    problems: ['NOT_FOUND'],
    summary: 'Set mirror and credentials of a registry, for one host or all',
  }),
  removeRegistry: endpoint({
    method: 'POST',
    audit: 'registry.removed',
    path: '/api/admin/v1/registries/remove',
    auth: adminPerson('operator'),
    body: z.strictObject({ registry: RegistryName, host: HostName.nullable() }),
    returns: empty,
    problems: ['NOT_FOUND'],
    summary: 'Remove mirror and credentials of a registry',
  }),
  showCommand: endpoint({
    method: 'GET',
    path: '/api/admin/v1/commands/:id',
    auth: admin('viewer'),
    params: z.object({ id: CommandId }),
    query: z.strictObject({
      waitMs: z.coerce.number().int().min(0).max(30_000).default(0),
      seen: z.coerce.number().int().min(0).optional(),
    }),
    returns: CommandView,
    summary: 'Show a command; with waitMs wait until it changes or finishes',
  }),
} as const satisfies Contract
