// Boxes of one host: their records, files, secrets, fences and images; provisioning, adoption, reports and logs.
// Reaches containers only through the ports.
// Never decides what a box should run and never changes a version (`update` does).

export { adopt } from './adopt.ts'
export { adoptAgain } from './adopt-again.ts'
export { applyMigrations, assertNoOtherDatabases, migrationsFor } from './box-database.ts'
export { type FindFacts, factFinder } from './box-facts.ts'
export {
  type BoxSecrets,
  newBoxSecrets,
  parseBoxSecrets,
  parseProbeAccount,
  readBoxSecrets,
  readProbeAccount,
  secretsText,
  writeBoxSecrets,
  writeProbeAccount,
} from './box-secrets.ts'
export type { BoxSettings } from './box-settings.ts'
export {
  type ComposeFacts,
  composeFacts,
  isLiteralImage,
  mountSources,
  readCompose,
  readComposeFile,
  resolvedCompose,
} from './compose-file.ts'
export { composeRecord, recordCompose } from './compose-record.ts'
export { assertOwnDatabaseFiles, databaseWarnings } from './database-files.ts'
export { extraServicesOf } from './extra-file.ts'
export {
  assertNotInMaintenance,
  assertUnfenced,
  beginMaintenance,
  createFenceFile,
  endMaintenance,
  maintain,
  mayBeFenced,
  removeFenceFile,
} from './fence.ts'
export { type Fence, fenceFile, readFence } from './fence-file.ts'
export { followLogs } from './follow-logs.ts'
export { assertAllowedImage, fullName, fullRepository, isAllowedName, type KnownMirrors, knownMirrors } from './image-names.ts'
export {
  assertCurrentOwner,
  assertManaged,
  assertStackUnclaimed,
  boxOfCommand,
  boxOfStartedCommand,
  existingBox,
  type LocalBoxes,
  localBoxes,
  projectOf,
} from './local-boxes.ts'
export { logLines, logs } from './logs.ts'
export { environmentValue, mountsOf, recordOf } from './mounts.ts'
export {
  assertNoLinks,
  assertOnlyFiles,
  contentPath,
  listPlainFolder,
  openPlainFile,
  readBeginning,
  readPlainFile,
  sumPlainFile,
} from './plain-files.ts'
export { assertPlaceFree, type ProvisionDeps, plainUrl, portInUse, provision } from './provision.ts'
export { pinImage, pullImages, resolveImages } from './pull-images.ts'
export { logRedactor } from './redact-logs.ts'
export { remembered } from './remembered.ts'
export { type RenderFacts, renderedFiles, writeBoxFiles } from './render-box.ts'
export { healthcheck, type ReportDeps, report, reportVersions } from './report-versions.ts'
export { assertRestorable, reasonNotRestorable, resolvedFacts } from './restorable.ts'
export { rewriteImages } from './rewrite-compose.ts'
export { rewriteVolumes } from './rewrite-volumes.ts'
export { assertMountsAsWritten, assertRunsAsWritten, differencesOf, servicesChangedBy } from './running-versus-file.ts'
export { assertSafeFolder } from './safe-folder.ts'
export { assertNotScaled } from './scaled-services.ts'
export { services } from './services.ts'
export { beginSoftLogout, endSoftLogouts, softLogoutFile, softLogoutRules } from './soft-logout.ts'
export { crashLoopDetector, lastLogLine, waitForService, waitUntil, waitUntilStable } from './wait.ts'
export { type BoxWatcher, boxWatcher } from './watch-boxes.ts'
