// Shared by every feature: problems, time, ids, secrets, canonical text.
// It decides nothing about the product and does no input or output.

export { type Actor, type AdminActor, type AgentActor, actorLabel, type SystemActor, type TokenActor, type VendorActor } from './actor.ts'
export { addressBytes } from './address-bytes.ts'
export { bearerToken } from './bearer.ts'
export { canonicalJson, sha256Hex } from './canonical-json.ts'
export { type Clock, elapsedMs, isoIn, isoNow, spanMs } from './clock.ts'
export { bare, displayWidth } from './display-width.ts'
export { fold, foldBeside, wordsOf } from './fold.ts'
export { forbiddenPort } from './forbidden-port.ts'
export { escapeHtml } from './html.ts'
export { type Branded, newId, type Random, randomText } from './ids.ts'
export { isTooDeep, maxJsonLevels } from './json-depth.ts'
export { type Language, languageOf } from './language.ts'
export { isLoopback } from './loopback.ts'
export { type ManualClock, manualClock } from './manual-clock.ts'
export { maxChunks } from './max-chunks.ts'
export { type Picture, pictureOf, readPicture } from './picture.ts'
export {
  type AutomationActor,
  type Capability,
  capabilities,
  type DeveloperActor,
  type PlatformPrincipal,
  type TenantId,
  type UserId,
} from './principal.ts'
export {
  catalogue,
  type ExitCode,
  type FieldReason,
  isProblem,
  isProblemCode,
  Problem,
  type ProblemBody,
  type ProblemCode,
  type ProblemViolation,
  problem,
  splitFix,
} from './problem.ts'
export { reasonLength } from './reason.ts'
export { doubledMs, retryUntilDone } from './retry.ts'
export { Secret, secret } from './secret.ts'
export {
  asJson,
  bytesText,
  duration,
  isVisible,
  periodMs,
  plural,
  printable,
  quoted,
  shortDigests,
  trimmedPattern,
  visiblePattern,
} from './text.ts'
export { formatTraceparent, isSampledTrace, parseTraceparent, wrongCollector } from './traceparent.ts'
export { notUtf8, utf8Text } from './utf8-text.ts'
export { makeWatcher } from './watcher.ts'
export { withoutSecrets } from './without-secrets.ts'
