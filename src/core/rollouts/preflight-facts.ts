import { type BoxFacts, type Component, synapseSchemaOf, type TierVersions, VersionedService } from '../boxes/index.ts'
import { plural } from '../kit/index.ts'
import { type Finding, refusal, warning } from './finding.ts'
import type { KnownBox, Limits } from './preflight.ts'

/** What the agent told beside versions. An agent that told nothing finds what it refuses itself, before any outage. */
export function factFindings(box: KnownBox, target: TierVersions, changes: readonly Component[], limits: Limits): Finding[] {
  const facts = box.report?.facts
  if (!facts) return []
  return [
    ...spaceFindings(box, facts, changes),
    ...composeFindings(box, facts, changes),
    ...serviceFindings(box, facts),
    ...(changes.includes('synapse') ? backgroundFindings(box, facts, target, limits) : []),
  ]
}

/** Kept free on every disk, as the agent does. */
const reserveBytes = 256 * 1024 * 1024
/** About what an unpacked image takes; the agent looks again once it is there. */
const imageBytes = 600 * 1024 * 1024

/** Images, one dump, and at worst a second database beside the first. Media and objects go to the store while the box serves. */
export function spaceFindings({ slug, databaseBytes }: KnownBox, { freeDiskBytes }: BoxFacts, changes: readonly Component[]): Finding[] {
  if (freeDiskBytes === null) return []
  const images = VersionedService.options.filter((service) => changes.includes(service)).length
  const needed = 2 * (databaseBytes ?? 0) + images * imageBytes + reserveBytes
  if (freeDiskBytes >= needed) return []
  const parts = [`${plural(images, 'image')}`, 'a dump', 'a second database', 'a reserve']
  return [
    refusal(
      'NO_SPACE',
      `updating ${slug} needs about ${inGb(needed)} free on its host (${parts.join(', ')}), and ${inGb(freeDiskBytes)} are: make room, or give the host a larger disk`,
    ),
  ]
}

const inGb = (bytes: number): string => `${(bytes / 1e9).toFixed(1)} GB`

/** An update brings only its own services to what the file says; what else was changed in it would come with the next `up` of whoever. */
export function composeFindings({ slug }: KnownBox, { wouldRecreate, composeChanged }: BoxFacts, changes: readonly Component[]): Finding[] {
  const planned = (service: string) => (changes as readonly string[]).includes(service)
  const others = (wouldRecreate ?? []).filter((service) => !planned(service))
  if (others.length > 0)
    return [
      refusal(
        'WOULD_RECREATE',
        `in ${slug} compose would also recreate ${others.join(', ')}, which nobody planned${composeChanged ? ': its compose file was changed by hand' : ''}; undo that, or bring the box up with it first`,
      ),
    ]
  const along = (wouldRecreate ?? []).filter(planned)
  if (along.length > 0)
    return [
      warning('COMPOSE_CHANGED', `the compose file of ${slug} was changed by hand: with the update ${along.join(', ')} gets that too`),
    ]
  return composeChanged
    ? [
        warning(
          'COMPOSE_CHANGED',
          `the compose file of ${slug} was changed by hand since its agent wrote it; the containers run what it says`,
        ),
      ]
    : []
}

const serviceFindings = ({ slug }: KnownBox, { otherServices }: BoxFacts): Finding[] =>
  otherServices === null || otherServices.length === 0
    ? []
    : [
        warning(
          'OTHER_SERVICES',
          `the compose file of ${slug} has ${plural(otherServices.length, 'service')} that no box has (${otherServices.join(', ')}): updates leave them alone, and a snapshot does not hold their data`,
        ),
      ]

/** A Synapse that raises what may read the database counts on all that was begun before it being done. */
function backgroundFindings({ slug }: KnownBox, facts: BoxFacts, target: TierVersions, { schemas }: Limits): Finding[] {
  const { backgroundUpdates, compatVersion } = facts
  if (backgroundUpdates === null || backgroundUpdates.length === 0) return []
  const some = `${backgroundUpdates.slice(0, 3).join(', ')}${backgroundUpdates.length > 3 ? ', …' : ''}`
  const pending = `${plural(backgroundUpdates.length, 'background update')} of the chat server in ${slug} ${backgroundUpdates.length === 1 ? 'has' : 'have'} not ended (${some})`
  const wanted = synapseSchemaOf(schemas, target.synapse)
  if (wanted && compatVersion !== null && wanted.compat > compatVersion)
    return [refusal('BACKGROUND_UPDATES', `${pending}, and Synapse ${target.synapse} needs them done: wait until they are`)]
  return [warning('BACKGROUND_UPDATES', `${pending}: the chat may be slow for a while after the update; better wait until they are done`)]
}
