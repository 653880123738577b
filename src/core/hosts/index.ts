// Hosts, and the commands that their agents fetch: names, states, limits, and both sides of the wire.
// It decides what an agent may send; it knows no command's content (that is boxes) and dials nobody.
export {
  type AgentPublicKey,
  agentContract,
  type CommandOutcome,
  type DisownedBox,
  type HeldCommand,
  type LeasedCommand,
} from './agent-contract.ts'
export { type CommandError, type CommandStatus, type CommandView, isFinal } from './command.ts'
export { type HostView, hostsContract } from './contract.ts'
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
export { type Instances, judgeInstance, noInstances, welcomeInstance } from './instances.ts'
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
export type { RegistryEntry, RegistrySetting } from './registry.ts'
export { addSteps, type FirstTold } from './told-steps.ts'
