import { type BoxFacts, ImageRef, isUnknown, Service, synapseSchemaOf, unknownUpdates, type VersionedService } from '../boxes/index.ts'
import { plural } from '../kit/index.ts'
import { type Finding, refusal, warning } from './finding.ts'
import type { KnownBox, Limits } from './known-box.ts'
import { composeFindings, guardFindings, spaceFindings } from './preflight-facts.ts'
import { majorOf } from './preflight-upgrade.ts'
import { schemaTooNew } from './preflight-versions.ts'
import type { CompletedUpdate, PlannedRollback } from './rollback.types.ts'
import { changedServices } from './rollback-findings.ts'

// A rollback by images keeps the data, so the older version must read what the newer one wrote (SAFETY, Restore). What is unknown counts
// as incompatible: then only the snapshot is left.

/** MinIO does not support a downgrade. */
const isRevertible = (service: VersionedService): boolean => service !== 'minio'

/** The former image of each changed service, by the evidence of the update. */
export function rollbackImages(update: CompletedUpdate): PlannedRollback['images'] {
  const known = changedServices(update).flatMap((service) => {
    const [image, digest] = [update.imagesBefore[service], update.digestsBefore[service]]
    return isRevertible(service) && isTagged(image) && digest ? [[service, { image, digest }] as const] : []
  })
  return Object.fromEntries(known)
}

/** Never the lossy rollback of all boxes: one box that cannot go back by images is decided alone. */
const restoreAlone = (slug: string): string => `skip it, and restore this box alone (\`tenantry snapshots list --slug ${slug}\`)`

/** An adopted box may have run an image without a tag, or by its digest alone: no command can order that. */
const isTagged = (image: string | undefined): image is string => ImageRef.safeParse(image).success

/** Findings about the former images with the present data. */
export function imageRollbackFindings(update: CompletedUpdate, box: KnownBox, limits: Limits): Finding[] {
  const changed = changedServices(update)
  const back = changed.filter(isRevertible)
  if (back.length === 0) return [nothingToRollBack(update, changed)]
  const facts = box.report?.facts
  return [
    ...evidenceFindings(update, back),
    ...(changed.includes('minio') ? [warning('OBJECT_STORE_STAYS', storeStays(update))] : []),
    ...serviceFindings(box),
    ...migrationFindings(update, box),
    ...(back.includes('postgres') ? postgresFindings(update, box) : []),
    ...(back.includes('synapse') ? synapseFindings(update, box, limits) : []),
    ...(facts ? [...spaceFindings(box, facts, back), ...composeFindings(box, facts), ...guardFindings(box, facts)] : []),
  ]
}

const storeStays = ({ slug, to }: CompletedUpdate): string =>
  `the object store of ${slug} stays at ${to.minio}: MinIO does not support a downgrade; only the snapshot restores the former version`

function nothingToRollBack(update: CompletedUpdate, changed: readonly VersionedService[]): Finding {
  if (changed.includes('minio')) return refusal('OBJECT_STORE_STAYS', storeStays(update))
  const { slug, from, to } = update
  if (changed.length === 0 && from.migrationsHead !== to.migrationsHead)
    return refusal(
      'MIGRATIONS_BACK',
      `only the tables of ${slug} changed (to head ${to.migrationsHead}), and migrations cannot be reverted`,
    )
  return refusal('NO_EVIDENCE', `the former images of ${slug} are unknown. fix: ${restoreAlone(slug)}`)
}

function evidenceFindings({ slug, imagesBefore, digestsBefore }: CompletedUpdate, back: readonly VersionedService[]): Finding[] {
  const unknown = back.filter((service) => !isTagged(imagesBefore[service]) || !digestsBefore[service])
  if (unknown.length === 0) return []
  const message = `the former image of ${unknown.join(', ')} in ${slug} has no known tag and digest (it may never have been in a registry). fix: ${restoreAlone(slug)}`
  return [refusal('NO_EVIDENCE', message)]
}

/** The agent refuses to replace a service that is down, before any downtime. */
function serviceFindings({ slug, report }: KnownBox): Finding[] {
  const down = Service.options.filter((service) => (report?.services[service]?.state ?? 'running') !== 'running')
  if (down.length === 0) return []
  return [
    refusal(
      'BOX_UNHEALTHY',
      `${down.join(', ')} of ${slug} ${down.length > 1 ? 'do' : 'does'} not run. fix: repair it, or ${restoreAlone(slug)}`,
    ),
  ]
}

/** Box migrations only add, so older versions accept a later head; the head must be known. */
function migrationFindings({ from }: CompletedUpdate, { slug, installed }: KnownBox): Finding[] {
  const head = installed.migrationsHead
  if (!/^[0-9]{4}$/.test(head)) return [refusal('VERSION_UNKNOWN', `the migrations head of ${slug} is unknown`)]
  if (head <= from.migrationsHead) return []
  return [warning('MIGRATIONS_BACK', `the tables of ${slug} stay at migrations head ${head}: migrations cannot be reverted`)]
}

function postgresFindings({ from }: CompletedUpdate, { slug, installed }: KnownBox): Finding[] {
  if (isUnknown(from.postgres) || isUnknown(installed.postgres))
    return [refusal('VERSION_UNKNOWN', `the present or former PostgreSQL version of ${slug} is unknown`)]
  if (majorOf(from.postgres) === majorOf(installed.postgres)) return []
  const message = `PostgreSQL ${installed.postgres} → ${from.postgres} crosses a major version, whose files are incompatible. fix: ${restoreAlone(slug)}`
  return [refusal('POSTGRES_MAJOR', message)]
}

function synapseFindings(update: CompletedUpdate, box: KnownBox, limits: Limits): Finding[] {
  const { from } = update
  const { slug, installed, report } = box
  const former = synapseSchemaOf(limits.schemas, from.synapse)
  const facts = report?.facts
  const written = facts?.compatVersion ?? synapseSchemaOf(limits.schemas, installed.synapse)?.compat
  if (!former || written === undefined) {
    const message = `it is unknown whether Synapse ${from.synapse} can read the database of ${slug} after Synapse ${installed.synapse}. fix: ${restoreAlone(slug)}`
    return [refusal('SCHEMA_UNKNOWN', message), ...backgroundFindings(update, facts, limits.schemas)]
  }
  const target = { ...installed, synapse: from.synapse }
  return [...schemaTooNew({ box, target, known: former }, limits), ...backgroundFindings(update, facts, limits.schemas)]
}

/** An older Synapse stops all background updates at one that it does not know. It knows those that it was running itself. */
function backgroundFindings(
  { slug, backgroundBefore }: CompletedUpdate,
  facts: BoxFacts | undefined,
  { harmlessUpdates: harmless = [] }: Limits['schemas'],
): Finding[] {
  const pending = facts?.backgroundUpdates ?? null
  if (pending === null) {
    const message = `the pending background updates of the chat server in ${slug} are unknown. fix: run \`tenantry boxes scan\``
    return [refusal('BACKGROUND_UPDATES', message)]
  }
  const unknown = unknownUpdates(pending, [...backgroundBefore, ...harmless])
  if (unknown.length === 0) return []
  const some = `${unknown.slice(0, 3).join(', ')}${unknown.length > 3 ? ', …' : ''}`
  const [are, them] = unknown.length === 1 ? ['is', 'it'] : ['are', 'them']
  const message = `${plural(unknown.length, 'background update')} of the chat server in ${slug} ${are} pending (${some}), and the former version may not know ${them}. fix: wait until done (\`tenantry boxes scan\` checks), or ${restoreAlone(slug)}`
  return [refusal('BACKGROUND_UPDATES', message)]
}
