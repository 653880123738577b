import type { Manifest } from '../boxes/index.ts'
import { type Finding, refusal, warning } from './finding.ts'
import type { KnownBox } from './known-box.ts'
import type { PlannedBox, PlannedImage, RolloutPlan } from './plan.ts'

// The digest of each tag in a plan: what the fleet runs under it, else what its registry resolves. The first pull pins what stays unresolved.

/**
 * The digest of a tag by its registry, and the host that asked it; or why it stays unresolved. `missing`: the registry says it has no such tag.
 * `disputed`: hosts got different digests. `confirmedBy`: a second host that got the same digest; null: none of the others did. `missingOn`:
 * hosts whose registry or mirror says that it has no such tag, although another host resolved it.
 */
export type RegistryAnswer = Readonly<
  | { digest: string; host: string; confirmedBy?: string | null; missingOn?: readonly string[] }
  | { digest: null; why: string; host?: string; missing?: boolean; disputed?: boolean; confirmedBy?: null }
>
export type RegistryAnswers = ReadonlyMap<string, RegistryAnswer>

/** A host that may ask registries: one of its boxes is updated, so it will pull from them anyway. */
export type HostToAsk = Readonly<{ hostId: string; hostName: string; boxId: string }>

/** Two hosts must agree where there are two: one alone would decide what all others pull. */
export const isSettled = (answers: readonly RegistryAnswer[], hosts: number): boolean =>
  answers.filter(({ digest }) => digest !== null).length >= Math.min(2, hosts)

/** The answer of all hosts that were asked about one image, in the order in which they would pull. `hosts`: how many could be asked. */
export function combineAnswers(answers: readonly RegistryAnswer[], hosts: number): RegistryAnswer {
  const found = answers.flatMap((answer) => (answer.digest === null ? [] : [answer]))
  const alone = hosts > 1 ? ({ confirmedBy: null } as const) : {}
  const [first, second] = found
  if (!first) {
    const reasons = answers.flatMap((answer) => (answer.digest === null ? [answer] : []))
    const missing = reasons.some((answer) => answer.missing)
    return { digest: null, why: reasons.map(({ why }) => why).join('; '), missing, ...alone }
  }
  if (found.some(({ digest }) => digest !== first.digest))
    return { digest: null, why: found.map(({ host, digest }) => `${host}: ${digest}`).join('; '), disputed: true }
  const missingOn = answers.flatMap((answer) => (answer.digest === null && answer.missing && answer.host ? [answer.host] : []))
  const onSome = missingOn.length > 0 ? { missingOn } : {}
  return { digest: first.digest, host: first.host, ...(second ? { confirmedBy: second.host } : alone), ...onSome }
}

/**
 * Resolves each image. The manifest's digest decides, then what two hosts run. One host's report is one answer beside the registry's. A tag under
 * which the fleet runs several digests is not resolved by the fleet.
 */
export function knownImages(
  boxes: readonly KnownBox[],
  resolved: RegistryAnswers,
  digests: Manifest['digests'] = {},
): (image: string) => PlannedImage {
  const inFleet = fleetDigests(boxes)
  const needed = Math.min(2, new Set(boxes.map(({ hostId }) => hostId)).size)
  return (image) => {
    const pinned = Object.hasOwn(digests, image) ? digests[image] : undefined
    if (pinned !== undefined) return { image, digest: pinned, from: 'manifest' }
    const running = inFleet.get(image)
    const answer = resolved.get(image)
    if (!running?.digest) return byRegistry(image, answer)
    if (running.hosts.size >= needed) return { image, digest: running.digest, from: 'fleet' }
    const [host = ''] = running.hosts
    return withOneHost(image, { digest: running.digest, host }, answer)
  }
}

function byRegistry(image: string, answer: RegistryAnswer | undefined): PlannedImage {
  if (!answer) return { image, digest: null, from: 'first-pull' }
  const confirmed = answer.confirmedBy === undefined ? {} : { confirmedBy: answer.confirmedBy }
  if (answer.digest !== null)
    return { image, digest: answer.digest, from: 'registry', askedFrom: answer.host, ...confirmed, ...onSome(answer) }
  if (answer.disputed) return { image, digest: null, from: 'disputed', why: answer.why }
  return { image, digest: null, from: answer.missing ? 'missing' : 'first-pull', why: answer.why, ...confirmed }
}

/** An image that only one host runs. */
function withOneHost(image: string, running: Readonly<{ digest: string; host: string }>, answer: RegistryAnswer | undefined): PlannedImage {
  const { digest, host } = running
  if (answer?.digest === null && (answer.disputed || answer.missing)) return byRegistry(image, answer)
  if (!answer || answer.digest === null)
    return { image, digest, from: 'fleet', askedFrom: host, confirmedBy: null, ...(answer ? { why: answer.why } : {}) }
  if (answer.digest !== digest)
    return { image, digest: null, from: 'disputed', why: `${host} runs ${digest}; ${answer.host}: ${answer.digest}` }
  const confirmedBy = answer.confirmedBy ?? (answer.host === host ? null : host)
  return { image, digest, from: 'registry', askedFrom: answer.host, confirmedBy, ...onSome(answer) }
}

const onSome = ({ missingOn }: Readonly<{ missingOn?: readonly string[] }>) => (missingOn ? { missingOn: [...missingOn] } : {})

/**
 * An image that its registry does not have blocks the box; a registry that does not answer does not. One that some host resolved exists: a host
 * that does not find it, as behind an outdated mirror, is a warning.
 */
export const missingImageFindings = (slug: string, images: readonly PlannedImage[]): Finding[] =>
  images.flatMap(({ image, from, why, askedFrom, missingOn = [] }) => {
    if (from === 'missing')
      return [refusal('IMAGE_NOT_FOUND', `the image ${image} of ${slug} does not exist (${why}). fix: push it, or correct the manifest`)]
    if (missingOn.length === 0) return []
    const hosts = missingOn.join(' and ')
    const fix = `fix: check the mirrors and accounts of ${hosts} with \`tenantry hosts registries list\``
    return [
      warning('IMAGE_NOT_FOUND', `${askedFrom} finds the image ${image} of ${slug}, but ${hosts} does not: pulls there may fail. ${fix}`),
    ]
  })

/** One host must not decide what the others pull: a disputed digest blocks the box, an unconfirmed one is a warning. */
export const digestFindings = (slug: string, images: readonly PlannedImage[]): Finding[] =>
  images.flatMap(({ image, from, why, askedFrom, confirmedBy }) => {
    if (from === 'disputed') {
      const fix = 'fix: find out which host or mirror is wrong, and write the right digest into `digests` of the manifest'
      return [refusal('DIGEST_DISPUTED', `hosts get different digests for the image ${image} of ${slug} (${why}). ${fix}`)]
    }
    if (confirmedBy !== null || from === 'missing') return []
    const reason =
      askedFrom === undefined
        ? 'no host resolved it, so the first pull decides for all'
        : `only ${askedFrom} ${from === 'fleet' ? 'runs' : 'resolved'} it`
    const message = `no second host confirmed the digest of the image ${image} of ${slug}: ${reason}. fix: tenantry manifest resolve <file>`
    return [warning('DIGEST_UNCONFIRMED', message)]
  })

/** `digest`: null where the fleet runs several under the tag. `hosts`: the names of those that run it. */
type Running = Readonly<{ digest: string | null; hosts: ReadonlySet<string> }>

function fleetDigests(boxes: readonly KnownBox[]): ReadonlyMap<string, Running> {
  const found = new Map<string, Running>()
  for (const { report, hostName } of boxes)
    for (const service of Object.values(report?.services ?? {})) {
      if (!service?.digest) continue
      const { image, digest } = service
      const before = found.get(image) ?? { digest, hosts: new Set<string>() }
      found.set(image, { digest: before.digest === digest ? digest : null, hosts: new Set([...before.hosts, hostName]) })
    }
  return found
}

/** Each image that a box would get, once, sorted. */
export const imagesOf = (boxes: readonly PlannedBox[], know: (image: string) => PlannedImage): PlannedImage[] =>
  [...new Set(movingIn(boxes).flatMap(({ images }) => Object.values(images).map(({ image }) => image)))].sort().map(know)

/** The images that a registry must resolve or confirm. */
export const unresolvedImages = ({ images }: RolloutPlan): string[] =>
  images.flatMap(({ image, digest, confirmedBy }) => (digest === null || confirmedBy === null ? [image] : []))

/** Images pinned before the first pull. Those that the fleet runs are pulled by tag: an operator decides about a moved tag. */
export const pinnedDigests = ({ images }: RolloutPlan): Record<string, string> =>
  Object.fromEntries(
    images.flatMap(({ image, digest, from }) => ((from === 'registry' || from === 'manifest') && digest !== null ? [[image, digest]] : [])),
  )

/** In the order in which they would pull. An offline host has no box that is updated. */
export function hostsToAsk({ phases, boxes }: RolloutPlan): HostToAsk[] {
  const order = phases.map(({ phase }) => phase)
  const hosts = new Map<string, HostToAsk>()
  for (const { hostId, hostName = hostId, boxId } of movingIn(boxes).toSorted((a, b) => order.indexOf(a.phase) - order.indexOf(b.phase)))
    if (!hosts.has(hostId)) hosts.set(hostId, { hostId, hostName, boxId })
  return [...hosts.values()]
}

const movingIn = (boxes: readonly PlannedBox[]): PlannedBox[] => boxes.filter(({ does }) => does === 'update')
