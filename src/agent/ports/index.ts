// What the agent's rooms need of the world and of each other, as types only: the container engine, the inside of a box,
// the snapshot store, a command. Real and simulated implementations stand behind them and pass the same suites.
export type { BoxServers, DatabaseFacts, LocalBox, ProbeAccount, RowCounts, StreamPositions } from './box-servers.ts'
export type { CommandContext, CommandExecutor, CommandExecutors } from './command.ts'
export type {
  ContainerEngine,
  ContainerState,
  EngineEvent,
  ExecOptions,
  ExecResult,
  LibC,
  LocalImage,
  LogOptions,
  Project,
  PullOptions,
  PullProgress,
  ResolveOptions,
} from './container-engine.ts'
export type { Repository, SnapshotFacts, SnapshotRequest, SnapshotStore, StoredSnapshot } from './snapshot-store.ts'
