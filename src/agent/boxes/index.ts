// What one host knows of its boxes and does to them outside an update: their records, their files, provisioning, adoption, health, versions.
// It never decides what a box should run, never moves a version (that is `update`), and reaches containers only through the ports.
export { adopt } from './adopt.ts'
export {
  beginMaintenance,
  endMaintenance,
  placeSwitch,
  readFence,
  refuseMaintenance,
  type StandingFence,
  takeSwitchAway,
} from './box-fence.ts'
export { boxOfBegun, boxOfCommand, knownOf, needManaged, refuseOlderOwner } from './box-of-command.ts'
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
export { bringImages, keepImage } from './bring-images.ts'
export { type ComposeFacts, isLiteralImage, mountSources, plainCompose, readCompose } from './compose-file.ts'
export { standingFindings } from './compose-findings.ts'
export { type ComposeRecord, composeRecord } from './compose-record.ts'
export { deathWatch } from './deaths.ts'
export { fenceSwitch } from './fence-switch.ts'
export { type FindFacts, factFinder } from './find-facts.ts'
export { healthcheck } from './healthcheck.ts'
export { fullName, fullRepository, isAllowedName, needAllowedImage } from './image-allow-list.ts'
export { type KnownMirrors, knownMirrors } from './known-mirrors.ts'
export { lastSaid } from './last-said.ts'
export { plainUrl, refuseTaken } from './lay-out.ts'
export { type LocalBoxes, localBoxes } from './local-boxes.ts'
export { logLines, logs } from './logs.ts'
export { maintain } from './maintain.ts'
export { applyMigrations, migrationsFor } from './migrate-box.ts'
export { type Mount, mountOf, mountsOf } from './mounts.ts'
export { refuseStackOfOther } from './one-box-a-stack.ts'
export { otherDatabasesFinding, refuseOtherDatabases } from './other-databases.ts'
export { portInUse } from './port-in-use.ts'
export { projectOf } from './project-of.ts'
export { type BoxSettings, type ProvisionDeps, provision } from './provision.ts'
export { recordOf } from './record-of.ts'
export { renderedFiles } from './render-box.ts'
export { report } from './report.ts'
export { type ReportDeps, reportVersions } from './report-versions.ts'
export { resolveImages } from './resolve-images.ts'
export { rewriteImages, rewriteVolumes } from './rewrite-compose.ts'
export { rewritePlace } from './rewrite-place.ts'
export { needSafeFolder } from './safe-folder.ts'
export { installedVersion } from './versions.ts'
export { waitForService } from './wait-for-service.ts'
export { waitUntil } from './wait-until.ts'
export { waitUntilStable } from './wait-until-stable.ts'
