// What one host knows of its boxes and does to them outside an update: their records, their files, provisioning, adoption, health, versions.
// It never decides what a box should run, never moves a version (that is `update`), and reaches containers only through the ports.
export { adopt } from './adopt.ts'
export { applyMigrations, migrationsFor, otherDatabasesFinding, refuseOtherDatabases } from './box-database.ts'
export { type FindFacts, factFinder } from './box-facts.ts'
export {
  type BoxSecrets,
  newBoxSecrets,
  probeFile,
  readBoxSecrets,
  readProbeAccount,
  readSecretsAt,
  secretsFile,
  secretsText,
  writeProbeAccount,
} from './box-secrets.ts'
export { type ComposeFacts, isLiteralImage, mountSources, plainCompose, readCompose, standingFindings } from './compose-file.ts'
export { type ComposeRecord, composeRecord, recordCompose } from './compose-record.ts'
export {
  beginMaintenance,
  endMaintenance,
  fenceSwitch,
  maintain,
  placeSwitch,
  readFence,
  refuseMaintenance,
  type StandingFence,
  takeSwitchAway,
} from './fence.ts'
export { fullName, fullRepository, isAllowedName, type KnownMirrors, knownMirrors, needAllowedImage } from './image-names.ts'
export {
  boxOfBegun,
  boxOfCommand,
  knownOf,
  type LocalBoxes,
  localBoxes,
  needManaged,
  projectOf,
  refuseOlderOwner,
  refuseStackOfOther,
} from './local-boxes.ts'
export { logLines, logs } from './logs.ts'
export { type Mount, mountOf, mountsOf, recordOf } from './mounts.ts'
export { type BoxSettings, type ProvisionDeps, plainUrl, portInUse, provision, refuseTaken } from './provision.ts'
export { bringImages, keepImage, resolveImages } from './pull-images.ts'
export { renderedFiles } from './render-box.ts'
export { healthcheck, installedVersion, type ReportDeps, report, reportVersions } from './report-versions.ts'
export { rewriteImages, rewritePlace, rewriteVolumes } from './rewrite-compose.ts'
export { needSafeFolder } from './safe-folder.ts'
export { deathWatch, lastSaid, waitForService, waitUntil, waitUntilStable } from './wait.ts'
