import { type BoxFacts, type Component, synapseSchemaOf, type TierVersions, VersionedService } from '../boxes/index.ts'
import { plural } from '../kit/index.ts'
import { type Finding, refusal, warning } from './finding.ts'
import type { KnownBox, Limits } from './known-box.ts'

/** Findings from the facts that the agent reports besides versions. Without facts the agent itself refuses, before any downtime. */
export function factFindings(
  { box, target, changes }: Readonly<{ box: KnownBox; target: TierVersions; changes: readonly Component[] }>,
  limits: Limits,
): Finding[] {
  const facts = box.report?.facts
  if (!facts) return []
  return [
    ...spaceFindings(box, facts, changes),
    ...composeFindings(box, facts),
    ...guardFindings(box, facts),
    ...serviceFindings(box, facts),
    ...(changes.includes('synapse') ? backgroundFindings({ box, facts, target }, limits) : []),
  ]
}

/** Reserved on every disk, as by the agent. */
const reserveBytes = 256 * 1024 * 1024
/** About the size of an unpacked image; the agent checks again after the pull. */
const imageBytes = 600 * 1024 * 1024

/** Images, one dump, and at most a second database beside the first. Media and objects go to the snapshot store. */
export function spaceFindings({ slug, databaseBytes }: KnownBox, { freeDiskBytes }: BoxFacts, changes: readonly Component[]): Finding[] {
  if (freeDiskBytes === null) return []
  const images = VersionedService.options.filter((service) => changes.includes(service)).length
  const needed = 2 * (databaseBytes ?? 0) + images * imageBytes + reserveBytes
  if (freeDiskBytes >= needed) return []
  const parts = [`${plural(images, 'image')}`, 'a dump', 'a second database', 'a reserve']
  return [
    refusal(
      'NO_SPACE',
      `updating ${slug} needs about ${inGb(needed)} free on its host (${parts.join(', ')}), but ${inGb(freeDiskBytes)} are free. fix: free disk space or extend the disk`,
    ),
  ]
}

const inGb = (bytes: number): string => `${(bytes / 1e9).toFixed(1)} GB`

/** A container that differs from its file would change, or lose a change, with the update or any later `up`. */
export function composeFindings(
  { slug }: KnownBox,
  facts: Pick<BoxFacts, 'wouldRecreate' | 'composeChanged' | 'differences' | 'otherCompose' | 'otherNetworks'>,
): Finding[] {
  const { wouldRecreate, composeChanged, differences } = facts
  if (wouldRecreate !== null && wouldRecreate.length > 0) {
    const detail = (differences ?? []).slice(0, 3).join('; ')
    return [
      refusal(
        'WOULD_RECREATE',
        `in ${slug} what runs is not what compose would bring up (${wouldRecreate.join(', ')})${composeChanged ? '; its compose file was changed by hand' : ''}${detail === '' ? '. fix: revert the file, or run `docker compose up -d` first' : `: ${detail}`}`,
      ),
    ]
  }
  return [...networkFindings(slug, facts), ...fileFindings(slug, facts)]
}

/** Compose stops all containers of a network that it recreates, those beside the update too. */
const networkFindings = (slug: string, { otherNetworks }: Pick<BoxFacts, 'otherNetworks'>): Finding[] =>
  otherNetworks && otherNetworks.length > 0
    ? [
        warning(
          'COMPOSE_UPGRADED',
          `Compose was upgraded on the host of ${slug}, and may recreate its network ${otherNetworks.join(', ')}: all its containers stop for that, the edge too. fix: run \`docker compose up -d\` in its folder at a quiet time`,
        ),
      ]
    : []

function fileFindings(slug: string, { composeChanged, otherCompose }: Pick<BoxFacts, 'composeChanged' | 'otherCompose'>): Finding[] {
  const changed = `the compose file of ${slug} was changed by hand since its agent wrote it`
  if (otherCompose && otherCompose.length > 0) {
    const matches = `Compose was upgraded on the host of ${slug}, so its hash no longer proves that ${otherCompose.join(', ')} ${otherCompose.length > 1 ? 'match' : 'matches'} the compose file; images, mounts, networks, variables and commands do`
    return [warning('COMPOSE_UPGRADED', composeChanged ? `${matches}; ${changed}. fix: check the change` : matches)]
  }
  return composeChanged ? [warning('COMPOSE_CHANGED', `${changed}; its containers match the file`)] : []
}

/** Without these no rollback could succeed, so nothing begins. */
export const guardFindings = ({ slug }: KnownBox, { scaledServices, notRestorable, extra }: BoxFacts): Finding[] => [
  ...(extra ?? []).map((reason) => refusal('EXTRA_COMPOSE', `${slug}: ${reason}`)),
  ...(scaledServices ?? []).map((service) =>
    refusal(
      'SCALED_SERVICE',
      `${service} of ${slug} has more than one container. fix: remove replicas and scale from the compose file, then run \`docker compose up -d --scale ${service}=1\``,
    ),
  ),
  ...(notRestorable ?? []).map((reason) => refusal('NOT_RESTORABLE', `${slug} could not be restored after an update: ${reason}`)),
]

const serviceFindings = ({ slug }: KnownBox, { otherServices }: BoxFacts): Finding[] =>
  otherServices === null || otherServices.length === 0
    ? []
    : [
        warning(
          'OTHER_SERVICES',
          `the compose file of ${slug} has ${plural(otherServices.length, 'service')} unknown to Tenantry (${otherServices.join(', ')}): updates do not touch them, and snapshots do not contain their data`,
        ),
      ]

/** A Synapse that raises the schema compatibility needs all earlier background updates done. */
function backgroundFindings(
  { box: { slug }, facts, target }: Readonly<{ box: KnownBox; facts: BoxFacts; target: TierVersions }>,
  { schemas }: Limits,
): Finding[] {
  const { backgroundUpdates, compatVersion } = facts
  if (backgroundUpdates === null || backgroundUpdates.length === 0) return []
  const some = `${backgroundUpdates.slice(0, 3).join(', ')}${backgroundUpdates.length > 3 ? ', …' : ''}`
  const pending = `${plural(backgroundUpdates.length, 'background update')} of the chat server in ${slug} ${backgroundUpdates.length === 1 ? 'is' : 'are'} pending (${some})`
  const schema = synapseSchemaOf(schemas, target.synapse)
  if (schema && compatVersion !== null && schema.compat > compatVersion)
    return [refusal('BACKGROUND_UPDATES', `${pending}, and Synapse ${target.synapse} requires them to be done. fix: wait until they are`)]
  return [warning('BACKGROUND_UPDATES', `${pending}: the chat may be slow after the update. fix: wait until they are done`)]
}
