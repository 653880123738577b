import { type BoxFacts, ImageRef, isUnknown, Service, synapseSchemaOf, type VersionedService } from '../boxes/index.ts'
import { plural } from '../kit/index.ts'
import { type Finding, refusal, warning } from './finding.ts'
import type { CompletedUpdate, PlannedRollback } from './plan-rollback.ts'
import type { KnownBox, Limits } from './preflight.ts'
import { composeFindings, spaceFindings } from './preflight-facts.ts'
import { majorOf, schemaTooNew } from './preflight-versions.ts'
import { changedServices } from './rollback-findings.ts'

// Going back by images leaves the data where it is, so the older program must be able to read what the newer one wrote (SAFETY, Restore).
// What nobody knows counts as a no: then only the snapshot leads back.

/** The object store never goes back: it does not support that. */
const goesBack = (service: VersionedService): boolean => service !== 'minio'

/** What each service would run again, as far as the evidence tells. */
export function rollbackImages(update: CompletedUpdate): PlannedRollback['images'] {
  const known = changedServices(update).flatMap((service) => {
    const [image, digest] = [update.imagesBefore[service], update.digestsBefore[service]]
    return goesBack(service) && canBeOrdered(image) && digest ? [[service, { image, digest }] as const] : []
  })
  return Object.fromEntries(known)
}

/** A box that was adopted may have run an image without a tag, or one named by its digest alone: no command can name that. */
const canBeOrdered = (image: string | undefined): image is string => ImageRef.safeParse(image).success

/** What speaks against the former images over the data as it is now. */
export function imageRollbackFindings(update: CompletedUpdate, box: KnownBox, limits: Limits): Finding[] {
  const changed = changedServices(update)
  const back = changed.filter(goesBack)
  if (back.length === 0) return [nothingGoesBack(update, changed)]
  const facts = box.report?.facts
  return [
    ...evidenceFindings(update, back),
    ...(changed.includes('minio') ? [warning('OBJECT_STORE_STAYS', storeStays(update))] : []),
    ...serviceFindings(box),
    ...migrationFindings(update, box),
    ...(back.includes('postgres') ? postgresFindings(update, box) : []),
    ...(back.includes('synapse') ? synapseFindings(update, box, limits) : []),
    ...(facts ? [...spaceFindings(box, facts, back), ...composeFindings(box, facts, back)] : []),
  ]
}

const storeStays = ({ slug, to }: CompletedUpdate): string =>
  `the object store of ${slug} stays at ${to.minio}: MinIO does not support going back; only the snapshot brings its former one`

function nothingGoesBack(update: CompletedUpdate, changed: readonly VersionedService[]): Finding {
  if (changed.includes('minio')) return refusal('OBJECT_STORE_STAYS', storeStays(update))
  const { slug, from, to } = update
  if (changed.length === 0 && from.migrationsHead !== to.migrationsHead)
    return refusal('MIGRATIONS_BACK', `of ${slug} only the tables changed (to head ${to.migrationsHead}), and migrations never go back`)
  return refusal('NO_EVIDENCE', `nothing is kept of which images ${slug} ran before: only its snapshot leads back`)
}

function evidenceFindings({ slug, imagesBefore, digestsBefore }: CompletedUpdate, back: readonly VersionedService[]): Finding[] {
  const unknown = back.filter((service) => !canBeOrdered(imagesBefore[service]) || !digestsBefore[service])
  if (unknown.length === 0) return []
  const message = `which image of ${unknown.join(', ')} ${slug} ran before is not kept with a tag and a digest (it may never have been in a registry): only its snapshot leads back`
  return [refusal('NO_EVIDENCE', message)]
}

/** The agent replaces only what runs: what is down it refuses, before any outage. */
function serviceFindings({ slug, report }: KnownBox): Finding[] {
  const down = Service.options.filter((service) => (report?.services[service]?.state ?? 'running') !== 'running')
  if (down.length === 0) return []
  return [
    refusal('BOX_UNHEALTHY', `${down.join(', ')} of ${slug} ${down.length > 1 ? 'do' : 'does'} not run: repair it, or go back by snapshot`),
  ]
}

/** Box migrations only ever add, so every older program accepts a later head; it has to be known which one that is. */
function migrationFindings({ from }: CompletedUpdate, { slug, installed }: KnownBox): Finding[] {
  const head = installed.migrationsHead
  if (!/^[0-9]{4}$/.test(head)) return [refusal('VERSION_UNKNOWN', `at which migrations head the tables of ${slug} are is not known`)]
  if (head <= from.migrationsHead) return []
  return [warning('MIGRATIONS_BACK', `the tables of ${slug} stay at migrations head ${head}: migrations only add, and never go back`)]
}

function postgresFindings({ from }: CompletedUpdate, { slug, installed }: KnownBox): Finding[] {
  if (isUnknown(from.postgres) || isUnknown(installed.postgres))
    return [refusal('VERSION_UNKNOWN', `which PostgreSQL ${slug} runs, or ran, is not known`)]
  if (majorOf(from.postgres) === majorOf(installed.postgres)) return []
  const message = `PostgreSQL ${installed.postgres} → ${from.postgres} crosses a major version: its files do not fit; only the snapshot of ${slug} leads back`
  return [refusal('POSTGRES_MAJOR', message)]
}

function synapseFindings(update: CompletedUpdate, box: KnownBox, limits: Limits): Finding[] {
  const { from } = update
  const { slug, installed, report } = box
  const wanted = synapseSchemaOf(limits.schemas, from.synapse)
  const facts = report?.facts
  const written = facts?.compatVersion ?? synapseSchemaOf(limits.schemas, installed.synapse)?.compat
  if (!wanted || written === undefined) {
    const message = `nobody knows here whether Synapse ${from.synapse} reads the database of ${slug} as Synapse ${installed.synapse} left it: only the snapshot leads back`
    return [refusal('SCHEMA_UNKNOWN', message), ...backgroundFindings(update, facts)]
  }
  const target = { ...installed, synapse: from.synapse }
  return [...schemaTooNew(box, target, wanted, limits), ...backgroundFindings(update, facts)]
}

/** An older Synapse that finds one it does not know stops them all. It knows those that it had under way itself; of others nobody can tell. */
function backgroundFindings({ slug, backgroundBefore }: CompletedUpdate, facts: BoxFacts | undefined): Finding[] {
  const pending = facts?.backgroundUpdates ?? null
  if (pending === null) {
    const message = `whether background updates of the chat server in ${slug} are pending is not known: \`tenantry boxes scan\` asks its agent`
    return [refusal('BACKGROUND_UPDATES', message)]
  }
  const unknown = pending.filter((name) => !backgroundBefore.includes(name))
  if (unknown.length === 0) return []
  const some = `${unknown.slice(0, 3).join(', ')}${unknown.length > 3 ? ', …' : ''}`
  const [have, them] = unknown.length === 1 ? ['has', 'it'] : ['have', 'them']
  const message = `${plural(unknown.length, 'background update')} of the chat server in ${slug} ${have} not ended (${some}), and the former one may not know ${them}: wait until they are done (\`tenantry boxes scan\` asks again), or go back by snapshot`
  return [refusal('BACKGROUND_UPDATES', message)]
}
