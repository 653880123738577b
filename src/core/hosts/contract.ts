import { z } from 'zod'
import { admin, adminPerson, type Contract, empty, endpoint, Timestamp } from '../contract/index.ts'
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
  /** When the agent told them. */
  resourcesAt: Timestamp.nullable(),
  /** Less than a tenth of the disk is free. */
  diskLow: z.boolean(),
  /** The host's clock minus the daemon's; null while it was never measured. */
  clockOffsetMs: z.number().nullable(),
  /** It is off by more than 30 s. */
  skewed: z.boolean(),
  /** Since when the agent's key is in use. */
  keySince: Timestamp,
  /** Why it is frozen or revoked. */
  reason: z.string().nullable(),
})
export type HostView = z.infer<typeof HostView>

const byName = z.object({ name: HostName })

/** Hosts as operators manage them, and the commands that go to them. */
export const hostsContract = {
  inviteHost: endpoint({
    method: 'POST',
    path: '/api/admin/v1/hosts/invites',
    auth: adminPerson('operator'),
    body: z.strictObject({ name: HostName }),
    returns: z.object({ token: z.string(), name: z.string(), expiresAt: Timestamp }),
    status: 201,
    problems: ['ALREADY_EXISTS'],
    summary: 'Make a token with which one agent enrols under this name within 15 minutes; shown once',
  }),
  listHosts: endpoint({
    method: 'GET',
    path: '/api/admin/v1/hosts',
    auth: admin('viewer'),
    returns: z.object({ hosts: z.array(HostView) }),
    summary: 'All hosts by name',
  }),
  showHost: endpoint({
    method: 'GET',
    path: '/api/admin/v1/hosts/:name',
    auth: admin('viewer'),
    params: z.object({ name: HostKey }),
    returns: HostView,
    summary: 'One host',
  }),
  revokeHost: endpoint({
    method: 'POST',
    path: '/api/admin/v1/hosts/:name/revoke',
    auth: adminPerson('operator'),
    params: byName,
    body: z.strictObject({ reason: z.string().trim().min(1).max(500) }),
    returns: HostView,
    problems: ['CONFLICT'],
    summary: 'Shut the agent of a host out at once; its open commands expire',
  }),
  listRegistries: endpoint({
    method: 'GET',
    path: '/api/admin/v1/registries',
    auth: admin('viewer'),
    returns: z.object({ registries: z.array(RegistryEntry) }),
    summary: 'Mirrors and accounts that agents pull images with; passwords are never shown',
  }),
  setRegistry: endpoint({
    method: 'PUT',
    path: '/api/admin/v1/registries',
    auth: adminPerson('operator'),
    body: RegistrySetting,
    returns: RegistryEntry,
    problems: ['NOT_FOUND'],
    summary: 'Say by which mirror and as whom the agents of one host, or of all, pull from a registry',
  }),
  removeRegistry: endpoint({
    method: 'POST',
    path: '/api/admin/v1/registries/remove',
    auth: adminPerson('operator'),
    body: z.strictObject({ registry: RegistryName, host: HostName.nullable() }),
    returns: empty,
    problems: ['NOT_FOUND'],
    summary: 'Pull from a registry itself again, without an account',
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
    summary: 'One command; with waitMs answered when it changes, finishes, or the time is up',
  }),
} as const satisfies Contract
