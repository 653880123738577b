// What a tenant box is: its names, images, versions, manifest, probe, and what daemon and agent say about it.
// It decides what is right for one box; it never orders boxes (that is rollouts) and never touches one (that is the agent).

export {
  AppliedMigration,
  BoxMigration,
  headOf,
  needKnownHeads,
  needSoundMigrations,
  noMigrations,
  planMigrations,
  readBoxMigrations,
} from './box-migrations.ts'
export {
  type CompletionStep,
  completionSaga,
  type DrillStep,
  drillSaga,
  type HandOverStep,
  type HandOverWorld,
  handOverSaga,
  type TakeBackStep,
  type TakeOverStep,
  takeBackSaga,
  takeOverSaga,
} from './box-sagas.ts'
export {
  type AgentError,
  type BoxFacts,
  DatabaseBack,
  type DrillResult,
  InstalledVersions,
  type ListedSnapshot,
  type LogLine,
  Progress,
  type ResolvedImage,
  type RestoreOutcome,
  type RestoreResult,
  SnapshotTaken,
  SnapshotTier,
  type TendedSnapshots,
  UpdateOutcome,
  UpdateResult,
  UpdateStep,
  UpdateTargets,
  VersionsReport,
} from './command-parts.ts'
export {
  type BoxCommandKind,
  type BoxCommandPayload,
  type BoxCommandResult,
  besides,
  boxCommands,
  CommandOutputs,
  CommandSecrets,
  isBeside,
  isQuestion,
  questions,
} from './commands.ts'
export {
  AdoptBody,
  BoxDetail,
  BoxRow,
  BoxSnapshots,
  BoxStatus,
  boxesContract,
  ProvisionBody,
} from './contract.ts'
export {
  ComponentSeverity,
  DriftReport,
  driftOf,
  driftReport,
  Freshness,
  freshnessOf,
  isOlder,
  isUnknown,
  Severity,
  worstOf,
} from './drift.ts'
export { BoxFence, boxHeld, fenceDueAt, holdText, maintenanceHolder, whyAtRest } from './fences.ts'
export type { PullSource } from './images.ts'
export { Digest, fromSources, ImageRef, isRegistry, parseImage, registryOf, unneededImages } from './images.ts'
export { diffManifests, Manifest, type ManifestChange, ManifestRevision, parseManifest, TierVersions, targetImage } from './manifest.ts'
export {
  BoxMove,
  eventOfFailure,
  type MoveEvent,
  MoveState,
  moveHolds,
  moveIsOver,
  moveOn,
  orderOf,
  statesBetweenHosts,
} from './move.ts'
export {
  type BoxId,
  BoxKey,
  ChatDomain,
  Component,
  type HostId,
  isBoxId,
  isPathWord,
  Plan,
  pathWords,
  Service,
  Slug,
  Tier,
  tierOf,
  VersionedService,
} from './names.ts'
export { allocatePorts, type BoxPorts, portsFrom } from './ports.ts'
export { ProbeComponent, ProbeResult, ProbeRule } from './probe.ts'
export { BoxRemoval, type RemovalEvent, RemovalState, removalIsOver, removalOn, removalOrders } from './removal.ts'
export { type RestoreFacts, type RestoreStep, type RestoreWorld, restoreOutcome, restoreSaga, restoreSteps } from './restore-saga.ts'
export { parseSynapseSchemas, type SynapseSchema, type SynapseSchemas, synapseSchemaOf } from './synapse-schema.ts'
export { unifiedDiff } from './unified-diff.ts'
export { isLeftOpen, isOpened, isTouched, type UpdateFacts, type UpdateWorld, updateOutcome, updateSaga } from './update-saga.ts'
export { type Fix, holesText, ReopenedHole, reopenedHoles, reopenedText } from './vulnerabilities.ts'
