// Modules: manifest, permissions, life cycle of an installation, calls and limits of a run.
// It decides which manifest, transition, permission and call is valid.
// It stores nothing, runs no code of a module and reads no package: the scan and the sandbox do.

export { answerHeaders } from './answer-headers.ts'
export { consentOf } from './consent.ts'
export { modulesContract, operatorModulesContract } from './contract.ts'
export { assertFlagFree, withModuleFlags } from './flags.ts'
export { healthBuckets, healthOf, healthStepMs, healthWindowMs, runsIn } from './health.ts'
export { Installation, type ModuleHealth, type ModuleHealthDetail, type OperatedModule, type RegistryEntry } from './installation.ts'
export { Json } from './json.ts'
export {
  type InstallationEvent,
  type InstallationState,
  type InstallationVerb,
  installationVerbs,
  mayRun,
  transition,
} from './lifecycle.ts'
export {
  maxDataBytes,
  maxMigrationMs,
  maxPackageBytes,
  maxPayloadBytes,
  maxPublishesPerMinute,
  migrationBound,
  type RunLimits,
  type RunResult,
  runLimits,
  type Violation,
  type ViolationKind,
} from './limits.ts'
export {
  assertSameManifest,
  EventName,
  ModuleCategory,
  ModuleId,
  ModuleManifest,
  manifestFile,
  moduleCategories,
  readModuleManifest,
} from './manifest.ts'
export { MemoryTenant, type Published } from './memory-tenant.ts'
export { moduleRunsContract } from './module-runs-contract.ts'
export { approvedAfterUpdate, approvedOf, Permission, permissionDifference } from './permissions.ts'
export { assertInstallPrice, assertPriceShown, isBillable, priceOf } from './price.ts'
export { ModuleResponse } from './response.ts'
export { routeResponse } from './route-response.ts'
export {
  documentBytes,
  type KeyRange,
  RunBuffer,
  type RunEffects,
  type RunReads,
  type StoredDocument,
  tooManyBytes,
} from './run-buffer.ts'
export { type Expected, readSamples, type SampleStep, type Samples, samplesFile, stepsOf } from './samples.ts'
export { effectiveSettings, SettingsSchema, secretSettings, settingsValues } from './settings.ts'
export { type CallAnswer, CallRefused, type ServeCall, type SvcHandlers, serveCalls, svcCalls } from './svc.ts'
export { usageEvent } from './usage.ts'
export { assertCompatible, assertNewVersion, isNewer, isOneEditApart } from './versions.ts'
