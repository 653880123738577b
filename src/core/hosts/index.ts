// Hosts, and the commands their agents fetch: names, states, limits, and the agent and admin contracts.
// It validates what an agent may send; the content of commands belongs to boxes.
export {
  type AgentPublicKey,
  agentContract,
  type CommandOutcome,
  type DisownedBox,
  type HeldCommand,
  type LeasedCommand,
} from './agent-contract.ts'
export { type HostBefore, planAgentUpgrade, upgradeLack } from './agent-upgrade.ts'
export { ArchiveOrder, ArchiveOrders, ArchiveReport } from './archive-exchange.ts'
export { addSteps, type CommandError, type CommandStatus, type CommandView, type FirstReport, isFinal } from './command.ts'
export { type HostView, hostsContract } from './contract.ts'
export { type DiskSample, fullAt, isDiskShort, isDiskUrgent, withSample } from './disk-forecast.ts'
export {
  type EngineInfo,
  HostKey,
  HostName,
  type HostResources,
  hostPathWords,
  isDiskLow,
  isHostId,
  isHostPathWord,
  isOffline,
  isSkewed,
} from './host.ts'
export { classifyInstance, classifyReplacedKey, type Instances, type KeyReplacement, noInstances, withNewInstance } from './instances.ts'
export {
  agentAudience,
  agentToken,
  channelLimits,
  commonProtocol,
  oldestProtocol,
  plainUrl,
  protocolVersion,
  type SpokenProtocols,
  supportedProtocols,
} from './protocol.ts'
export { type RegistryEntry, RegistryMirror, RegistryName, type RegistrySetting } from './registry.ts'
