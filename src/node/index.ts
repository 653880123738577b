// What every program needs of the machine: its clock, randomness, files and log.
// The only place outside the edges where the machine is touched; nothing here knows the product.
export { acceleratedClock, systemClock, untilIdle, type VirtualClock, virtualClock } from './clock.ts'
export { settlingFetch } from './fetch.ts'
export { readIfThere, syncFolder, writeFileAtomic } from './files.ts'
export { type Logger, makeLogger, silentLogger } from './logger.ts'
export { packageRoot, packageVersion } from './package.ts'
export { nativeSha256Hex, systemRandom } from './random.ts'
