// Machine access for all programs: clock, randomness, files, fetch and logging.
// The only place besides the program entry points that touches the machine.
// Contains no product logic.
export { systemClock, type VirtualClock, virtualClock, yieldUntilIdle } from './clock.ts'
export { decodeText, decodeTextAs } from './decode-text.ts'
export { type Egress, egressRules } from './egress.ts'
export { settlingFetch } from './fetch.ts'
export { readIfThere, syncFile, syncFolder, writeFileAtomic } from './files.ts'
export { installLastResort } from './last-resort.ts'
export { type Logger, makeLogger, silentLogger } from './logger.ts'
export { buildVersion, packageRoot, packageVersion } from './package.ts'
export { nativeSha256Hex, systemRandom } from './random.ts'
export { inChildSpan, inSpan, inTrace, outsideTrace, type Tracing, traceparent } from './tracing.ts'
export { readUtf8, readUtf8Stream, readUtf8Sync } from './utf8-file.ts'
