import type { BoxCommandKind } from '../../core/boxes/index.ts'
import { roleAtLeast } from '../../core/contract/index.ts'
import { type CommandView, type HostView, hostsContract, isDiskLow, isOffline, isSkewed } from '../../core/hosts/index.ts'
import { serveContract } from '../http/index.ts'
import { awaitChange } from './command-bus.ts'
import type { Command } from './commands.repo.ts'
import type { HostsDeps } from './deps.ts'
import { inviteHost } from './enrolment.ts'
import { allHosts, type Host, hostById, hostByKey } from './hosts.repo.ts'
import { listRegistries, type RegistryDeps, removeRegistry, setRegistry } from './registries.ts'
import { revokeHost } from './revoke-host.ts'

export function hostsRoutes(deps: HostsDeps & RegistryDeps) {
  const { db } = deps
  return serveContract(hostsContract, {
    inviteHost: ({ actor, body }) => inviteHost(deps, actor, body),
    listHosts: async () => ({ hosts: (await allHosts(db)).map((host) => viewOf(deps, host)) }),
    showHost: async ({ params }) => viewOf(deps, await hostByKey(db, params.name)),
    revokeHost: async ({ actor, params, body }) => viewOf(deps, await revokeHost(deps, actor, { ...params, ...body })),
    listRegistries: async () => ({ registries: await listRegistries(deps) }),
    setRegistry: ({ actor, body }) => setRegistry(deps, actor, body),
    removeRegistry: async ({ actor, body }) => {
      await removeRegistry(deps, actor, body)
      return undefined
    },
    showCommand: async ({ actor, params, query, signal }) => {
      const command = await awaitChange(deps, { ...params, ...query }, signal)
      const view = commandView(deps, command, await hostById(db, command.hostId))
      return forOperators.includes(command.kind) && !roleAtLeast(actor.role, 'operator') ? { ...view, result: null } : view
    },
  })
}

function viewOf(deps: HostsDeps, host: Host): HostView {
  const { status: _stored, publicKey: _publicKey, keyId: _keyId, nextKey: _nextKey, instances: _instances, ...shown } = host
  const { resources } = host
  return {
    ...shown,
    status: statusOf(deps, host),
    skewed: isSkewed(host),
    diskLow: resources !== null && isDiskLow(resources),
  }
}

function statusOf({ clock, agents }: HostsDeps, host: Host): HostView['status'] {
  if (host.status !== 'active') return host.status
  return isOffline(host, clock.now(), agents.offlineAfterMs) ? 'offline' : 'online'
}

/** Results of these may contain what users wrote, so viewers must not read them. */
const forOperators: readonly BoxCommandKind[] = ['tenant-box.logs']

const commandView = (deps: HostsDeps, command: Command, host: Host): CommandView => ({
  id: command.id,
  hostId: command.hostId,
  hostName: host.name,
  hostStatus: statusOf(deps, host),
  boxId: command.boxId,
  kind: command.kind,
  status: command.status,
  revision: command.revision,
  progress: [...command.progress],
  result: command.result,
  error: command.error,
  createdAt: command.createdAt,
  deadlineAt: command.deadlineAt,
  startedAt: command.startedAt,
  finishedAt: command.finishedAt,
})
