// Hosts and the channel to their agents: enrolment, identity, commands handed out under leases, results taken back once.
// It never dials a host, knows no box beyond where it is, and never decides by the content of a command or a result.
import './hosts.tables.ts'

export { agentRoutes } from './agent.routes.ts'
export { authenticateAgent } from './authenticate-agent.ts'
export { awaitCommand } from './await-command.ts'
export {
  type Command,
  commandById,
  commandsByIds,
  commandsOfBox,
  enqueueCommand,
  enqueueCommands,
  type NewCommand,
} from './command.repo.ts'
export { type CommandBus, makeCommandBus, runBusPoll } from './command-bus.ts'
export { type CommandListener, listenedTo, tellFailures } from './command-listeners.ts'
export { registrySecrets, secretsByKind } from './command-secrets.ts'
export { type CommandState, statesOfCommands } from './command-states.repo.ts'
export type { AgentTimes, BoxSide, FailureHandlers, HostsDeps, ResultHandlers } from './deps.ts'
export { giveUpCommand } from './give-up-command.ts'
export { allHosts, type Host, type HostSighting, hostById, hostByName, hostSightings, lockHost } from './host.repo.ts'
export { hostsJobs } from './hosts.jobs.ts'
export { hostsRoutes } from './hosts.routes.ts'
export { deleteEndedInvites } from './invite-host.ts'
export { hostsSealedColumns } from './registries.repo.ts'
export { commandSweep, requireWindows, runCommandSweep } from './sweep-commands.ts'
export { stepsOfCommands } from './told-steps.repo.ts'
