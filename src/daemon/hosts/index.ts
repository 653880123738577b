// Hosts and the channel to their agents: enrolment, authentication, commands leased to agents, results stored once.
// It never connects to a host, knows only the location of a box, and never decides by the content of a command or a result.
import './hosts.tables.ts'
import { feature } from '../feature/index.ts'
import { agentRoutes } from './agent.routes.ts'
import type { HostsDeps } from './deps.ts'
import { type HousekeepingDeps, hostsJobs } from './hosts.jobs.ts'
import { hostsRoutes } from './hosts.routes.ts'
import { hostsSealedColumns, type RegistryDeps } from './registries.ts'
import { commandSweep } from './sweep-commands.ts'
import { hostWatch } from './watch-hosts.ts'

export { agentRoutes } from './agent.routes.ts'
export { authenticateAgent } from './authenticate-agent.ts'
export { awaitChange, awaitCommand, type CommandBus, makeCommandBus } from './command-bus.ts'
export { type CommandListener, composeHandlers, notifyFailures, notifyLost, registrySecrets, secretsByKind } from './command-handlers.ts'
export { deleteLines, extendDeadline, openFollowers, takeLines } from './command-lines.ts'
export {
  type Command,
  type CommandState,
  commandById,
  commandsByIds,
  commandsOfBox,
  deleteEndedCommands,
  enqueueCommand,
  enqueueCommands,
  isAnswered,
  type NewCommand,
  openCommandsOfKind,
  statesOfCommands,
  stepsOfCommands,
} from './commands.repo.ts'
export type { AgentTimes, BoxPort, CommandEnding, FailureHandlers, HostsDeps, ResultHandlers } from './deps.ts'
export { deleteEndedInvites } from './enrolment.ts'
export { abandonCommand } from './expire-commands.ts'
export { type HostMetrics, hostMetrics } from './host-metrics.repo.ts'
export { hostsJobs } from './hosts.jobs.ts'
export { allHosts, type Host, type HostSummary, hostById, hostByName, hostSummaries, lockHost } from './hosts.repo.ts'
export { hostsRoutes } from './hosts.routes.ts'
export { assertWindows, commandSweep } from './sweep-commands.ts'
export { hostWatch } from './watch-hosts.ts'

export const hostsFeature = feature<HostsDeps & RegistryDeps & HousekeepingDeps & Parameters<typeof commandSweep>[0]>({
  name: 'hosts',
  routes: (deps) => [...hostsRoutes(deps), ...agentRoutes(deps)],
  crons: hostsJobs,
  loops: (deps) => [
    { name: 'notify agents of commands of other replicas', everyMs: 1000, run: () => deps.bus.poll(deps.db) },
    commandSweep(deps),
    hostWatch(deps),
  ],
  sealed: hostsSealedColumns,
})
