// Interfaces between the agent's features and their environment, as types only: container engine, servers of a box,
// snapshot store, command. The real and the simulated implementations pass the same contract suites.
// Contains no logic.
export type {
  BoxServers,
  ChatMark,
  DatabaseBackup,
  DatabaseFacts,
  ForeignDatabase,
  ForeignStack,
  HeldLog,
  ImportedFrom,
  LocalBox,
  MediaSample,
  ProbeAccount,
  RowCounts,
  StreamPositions,
  Written,
} from './box-servers.ts'
export type { CommandContext, CommandExecutor, CommandExecutors } from './command.ts'
export type {
  ComposedService,
  ContainerEngine,
  ContainerMount,
  ContainerSettings,
  ContainerState,
  ContainerUsage,
  EngineEvent,
  ExecOptions,
  ExecResult,
  HostContainer,
  LibC,
  LocalImage,
  LogOptions,
  Project,
  ProjectNetwork,
  PullOptions,
  PullProgress,
  ResolveOptions,
} from './container-engine.ts'
export type {
  ArchivePartRequest,
  OnWaiting,
  Repository,
  SnapshotFacts,
  SnapshotRequest,
  SnapshotStore,
  StoredSnapshot,
} from './snapshot-store.ts'
