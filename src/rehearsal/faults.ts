import { type Fault, seededRandom } from '../agent/simulated/index.ts'
import type { RehearsedFaults } from '../core/rollouts/index.ts'

type Target = Readonly<{ slug: string; image: string | undefined; isSynapse: boolean }>

const slowMs = [10 * 60_000, 20 * 60_000] as const

/** True in so many of all cases; what is asked about draws for itself, so that the order of questions changes nothing. */
function strikes(seed: string, what: string, name: string, rate: number): boolean {
  if (rate === 0) return false
  return Buffer.from(seededRandom(`${seed}/${what}/${name}`).bytes(4)).readUInt32BE() / 2 ** 32 < rate
}

/** What goes wrong with one box. Its former images are spared: what fails is the new one. */
export function faultsOf(seed: string, wanted: RehearsedFaults, { slug, image, isSynapse }: Target): Fault[] {
  const where = image === undefined ? {} : { image }
  const failing = wanted.failProbes.includes(slug) || strikes(seed, 'probe', slug, wanted.probeFailRate)
  const broken = wanted.failPulls.includes(slug) || strikes(seed, 'pull', slug, wanted.pullFailRate)
  const sick: Fault = isSynapse ? { kind: 'probe-fails', components: ['chatSync'], ...where } : { kind: 'dies-at-start', ...where }
  return [
    ...(failing ? [sick] : []),
    ...(broken ? [{ kind: 'pull-fails', ...where } as const] : []),
    ...(strikes(seed, 'slow', slug, wanted.slowPullRate) ? [{ kind: 'slow-pull', extraMs: slowMs, times: 1, ...where } as const] : []),
  ]
}

/** A host that is gone answers nothing from its first command on. */
export const isOffline = (seed: string, { offlineHosts, offlineRate }: RehearsedFaults, host: string): boolean =>
  offlineHosts.includes(host) || strikes(seed, 'offline', host, offlineRate)
