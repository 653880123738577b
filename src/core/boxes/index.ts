// The rules for one tenant box: names, images, manifest, drift, probe, fences, moves and removals, and the commands between daemon and agent.
// It decides what is valid for one box. It never orders boxes (rollouts do) and never changes one (the agent does).
// Everything here is pure: no clock, no database, no Docker.

export { ArchivePart, isBaseDue, Lsn, lsnText, lsnValue } from './archive.ts'
export {
  AppliedMigration,
  assertKnownHeads,
  assertValidMigrations,
  BoxMigration,
  headOf,
  noMigrations,
  planMigrations,
  readBoxMigrations,
} from './box-migrations.ts'
export {
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
export { boxState, chatsText, healthSentence } from './box-state.ts'
export { isFollowing, isNonBlocking, isReadOnly, nonBlockingKinds, readOnlyCommands } from './command-order.ts'
export {
  type AgentError,
  type BoxFacts,
  type BoxWatch,
  Downtime,
  type ImageRollback,
  InstalledVersions,
  maxKeptFiles,
  Progress,
  type ResolvedImage,
  RestoredDatabase,
  type RestoreOutcome,
  type RestoreResult,
  SnapshotTaken,
  SnapshotTier,
  UpdateOutcome,
  UpdateResult,
  UpdateStep,
  UpdateTargets,
  VersionsReport,
} from './command-parts.ts'
export { CommandSecrets } from './command-secrets.ts'
export {
  type BoxCommandKind,
  type BoxCommandPayload,
  type BoxCommandResult,
  boxCommands,
  CommandOutputs,
} from './commands.ts'
export {
  AdoptBody,
  BoxDetail,
  BoxRow,
  BoxSnapshots,
  BoxStatus,
  boxesContract,
  FleetSummary,
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
export { DrilledMedia, type DrillResult } from './drill-result.ts'
export { extraFileName, extraFindings, extraNetworksOfEdge, extraServices } from './extra-compose.ts'
export {
  BoxFence,
  boxHeld,
  FenceMode,
  fenceDueAt,
  holdText,
  maintenanceOwner,
  quarantineReason,
  SnapshotMode,
  StoredSnapshotMode,
  type TierSnapshots,
} from './fences.ts'
export { growthOf, growthText, type SizePart, sizeParts } from './growth.ts'
export { HealthState, healthOf, manyRestarts, type ReportedHealth, reportedHealth } from './health.ts'
export { chooseSnapshot, HotCopyFacts, type HotCopyInput, hotCopySql, SnapshotChoice, whyNoHotCopy } from './hot-copy.ts'
export { imageRollback, unknownUpdates } from './image-rollback.ts'
export { Digest, ImageRef, isRegistry, majorOfImage, parseImage, registryOf, UpgradeImage, unusedImages } from './images.ts'
export type { ImportFacts, WrittenSince } from './import-commands.ts'
export type {
  ChatConfigFile,
  ChatEvidence,
  DatabaseEvidence,
  ImportEvidence,
  MediaEvidence,
  ObjectsEvidence,
} from './import-evidence.ts'
export { isFound } from './import-evidence.ts'
export {
  adoptedFindings,
  databaseCopyText,
  importHint,
  inPlaceText,
  isImportFinished,
  isInPlace,
  notForeign,
  observedText,
  writtenText,
} from './import-hints.ts'
export { copyOf, type DatabaseCopy, ImportPlan, planImport } from './import-plan.ts'
export { BoxImport, type ImportEvent, type ImportState, importTransition } from './import-record.ts'
export { type ImportStep, type ImportWorld, importSaga, type UndoImportStep, undoImportSaga } from './import-saga.ts'
export { effectiveSettings } from './import-settings.ts'
export { drilledMediaText, provenDrill } from './judge-drill.ts'
export { FollowedLogs } from './lifecycle-contract.ts'
export { isMoveShown, isRemovalShown, lifecycleQuestions, moveHint, movePlanTexts, removalHint } from './lifecycle-hints.ts'
export { lineMatches } from './line-matches.ts'
export {
  digestsFor,
  imagesOfManifest,
  Manifest,
  type ManifestChange,
  ManifestRevision,
  parseManifest,
  TierVersions,
  targetImage,
} from './manifest.ts'
export { diffManifests } from './manifest-diff.ts'
export type { ManifestGates } from './manifest-gates.ts'
export {
  BoxMove,
  eventOfFailure,
  isMoveFinished,
  type MoveEvent,
  MoveState,
  mayRunUnknown,
  moveCommandOf,
  moveHoldsBox,
  statesBetweenHosts,
  transitionMove,
} from './move.ts'
export {
  type BoxId,
  BoxKey,
  ChatDomain,
  Component,
  type HostId,
  isBoxId,
  isReservedSlug,
  Plan,
  reservedSlugs,
  Service,
  Slug,
  Tier,
  tierOf,
  VersionedService,
} from './names.ts'
export { portableHomeserver } from './portable-homeserver.ts'
export { chatConfigPath, type PortableStack, portableStack, type StackMounts } from './portable-stack.ts'
export { allocatePorts, type BoxPorts, portsFrom } from './ports.ts'
export { ProbeComponent, ProbeResult, ProbeRule, quickRule, steadyFailureMsOf } from './probe.ts'
export type { PullSource } from './pull-sources.ts'
export { pullFromSources } from './pull-sources.ts'
export { BoxRemoval, isRemovalFinished, type RemovalEvent, RemovalState, removalCommands, transitionRemoval } from './removal.ts'
export type { ListedSnapshot, RepositoryReport } from './repository-report.ts'
export { type RestoreFacts, type RestoreStep, type RestoreWorld, restoreOutcome, restoreSaga, restoreSteps } from './restore-saga.ts'
export { LogBatch, LogLine, ServiceUsage } from './services.ts'
export { BoxSizes, sizesRetentionDays } from './sizes.ts'
export { snapshotChoiceText } from './snapshot-choice-text.ts'
export { stepWord } from './step-words.ts'
export { canObjectStoreReturn, parseSynapseSchemas, type SynapseSchema, type SynapseSchemas, synapseSchemaOf } from './synapse-schema.ts'
export {
  canRollBackByImages,
  hasColdCopy,
  isLeftOpen,
  isOpened,
  isProvenClosed,
  isRolledBackByImages,
  isTouched,
  maxRestoreFailures,
  snapshotModeOf,
  type UpdateFacts,
  type UpdateWorld,
  updateOutcome,
  updateSaga,
} from './update-saga.ts'
export { UpgradeFinding, UpgradeRehearsal, UpgradeTimes, upgradeImage } from './upgrade.ts'
export {
  contentFindings,
  DatabaseContent,
  dataMajorFinding,
  formerFindings,
  targetFindings,
  UpgradeFacts,
  UpgradeTarget,
} from './upgrade-checks.ts'
export { expectedDowntimeMs, formerDatabaseText, upgradeText, upgradeTimes, upgradeWays } from './upgrade-text.ts'
export { versionMoves } from './version-moves.ts'
export { type Fix, ReintroducedVulnerability, reintroducedVulnerabilities } from './vulnerabilities.ts'
export { reintroducedText, vulnerabilitiesText } from './vulnerability-texts.ts'
