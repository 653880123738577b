// What every program needs of the machine: its clock, randomness, files and log.
// The only place outside the edges where the machine is touched; nothing here knows the product.
export { acceleratedClock, systemClock } from './clock.ts'
export { settlingFetch } from './fetch.ts'
export { readIfThere, syncFolder, writeFileAtomic } from './files.ts'
export { type Logger, makeLogger, silentLogger } from './logger.ts'
export { packageRoot, packageVersion } from './package.ts'
export { systemRandom } from './random.ts'
export { nativeSha256Hex } from './sha256.ts'
export { untilIdle } from './until-idle.ts'
export { type VirtualClock, virtualClock } from './virtual-clock.ts'
