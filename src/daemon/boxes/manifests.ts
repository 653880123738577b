import { readdir, readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { parse } from 'yaml'
import {
  assertKnownHeads,
  type BoxMigration,
  diffManifests,
  type Manifest,
  type ManifestChange,
  type ManifestRevision,
  parseManifest,
  readBoxMigrations,
} from '../../core/boxes/index.ts'
import { type Actor, actorLabel, type Clock, isoNow, isProblem, problem, type SystemActor } from '../../core/kit/index.ts'
import { recordAudit } from '../audit/index.ts'
import { type Db, type DbOrTx, isUniqueViolation, type Tx } from '../db/index.ts'
import type { ManifestTable } from './boxes.tables.ts'

const toRevision = (row: ManifestTable): ManifestRevision => ({
  revision: row.revision,
  manifest: JSON.parse(row.content) as Manifest,
  appliedAt: row.applied_at,
  appliedBy: row.applied_by,
})

/** The newest revision, or undefined before the first import. */
export async function newestManifest(db: DbOrTx): Promise<ManifestRevision | undefined> {
  const row = await db.selectFrom('manifests').selectAll().orderBy('revision', 'desc').limit(1).executeTakeFirst()
  return row && toRevision(row)
}

/** What boxes should run now; throws NOT_FOUND when no manifest was ever applied. */
export async function currentManifest(db: DbOrTx): Promise<ManifestRevision> {
  const newest = await newestManifest(db)
  if (!newest) throw problem('NOT_FOUND', 'there is no manifest yet: `tenantry manifest apply <file>` makes the first')
  return newest
}

/** The manifest that a rollout was made from. */
export async function manifestByRevision(db: DbOrTx, revision: number): Promise<ManifestRevision> {
  const row = await db.selectFrom('manifests').selectAll().where('revision', '=', revision).executeTakeFirst()
  if (!row) throw problem('NOT_FOUND', `there is no manifest revision ${revision}: \`tenantry manifest show\` tells the current one`)
  return toRevision(row)
}

/** Newest first, before the given revision. */
export async function manifestsBefore(
  db: DbOrTx,
  { before, limit }: { before?: number | undefined; limit: number },
): Promise<ManifestRevision[]> {
  let query = db.selectFrom('manifests').selectAll().orderBy('revision', 'desc').limit(limit)
  if (before !== undefined) query = query.where('revision', '<', before)
  return (await query.execute()).map(toRevision)
}

async function insertManifest(tx: Tx, { revision, manifest, appliedAt, appliedBy }: ManifestRevision): Promise<void> {
  await tx
    .insertInto('manifests')
    .values({ revision, content: JSON.stringify(manifest), applied_at: appliedAt, applied_by: appliedBy })
    .execute()
}

export type ManifestDeps = Readonly<{ db: Db; clock: Clock; migrations: readonly BoxMigration[] }>

type AppliedManifest = Readonly<{ revision: number; changed: boolean; changes: readonly ManifestChange[] }>

/** Makes a manifest the canonical one (spec 9.5). The content of the current revision keeps that revision; older content becomes a new one. */
export async function applyManifest({ db, clock, migrations }: ManifestDeps, actor: Actor, value: unknown): Promise<AppliedManifest> {
  const manifest = parseManifest(value)
  assertKnownHeads(manifest, migrations)
  const apply = db.transaction().execute(async (tx) => {
    const current = await newestManifest(tx)
    const changes = diffManifests(current?.manifest, manifest)
    const changed = current === undefined || changes.length > 0
    const revision = changed ? (current?.revision ?? 0) + 1 : current.revision
    if (changed) await insertManifest(tx, { revision, manifest, appliedAt: isoNow(clock), appliedBy: actorLabel(actor) })
    const action = changed ? 'manifest.applied' : 'manifest.unchanged'
    await recordAudit(tx, clock, { actor, action, subject: `revision ${revision}`, data: { revision, changes } })
    return { revision, changed, changes }
  })
  return apply.catch((error) => {
    if (!isUniqueViolation(error)) throw error
    throw problem('CONFLICT', 'another manifest was applied at the same moment: look at it, then apply yours again')
  })
}

/** What applying would change; changes nothing. */
export async function previewManifest(
  { db, migrations }: Omit<ManifestDeps, 'clock'>,
  value: unknown,
): Promise<Omit<AppliedManifest, 'changed'>> {
  const manifest = parseManifest(value)
  assertKnownHeads(manifest, migrations)
  const current = await newestManifest(db)
  return { revision: current?.revision ?? 0, changes: diffManifests(current?.manifest, manifest) }
}

/**
 * Makes a manifest the canonical one within somebody else's transaction. `revision` is the one after that which it was made from: when
 * another was applied meanwhile the number is taken, and the unique constraint ends the transaction. Answers what changed; the caller writes
 * it into the audit log, at its end.
 */
export async function applyNextManifest(
  tx: Tx,
  clock: Clock,
  actor: Actor,
  { revision, manifest }: Readonly<{ revision: number; manifest: Manifest }>,
): Promise<readonly ManifestChange[]> {
  const before = await manifestByRevision(tx, revision - 1)
  await insertManifest(tx, { revision, manifest, appliedAt: isoNow(clock), appliedBy: actorLabel(actor) })
  return diffManifests(before.manifest, manifest)
}

const actor: SystemActor = { kind: 'system', name: 'start' }

/**
 * Takes the manifest file in at the first start; later the file says nothing any more, only `tenantry manifest apply` does.
 * True when it was taken in. Throws MANIFEST_INVALID.
 */
export async function importManifest(deps: ManifestDeps, yaml: string): Promise<boolean> {
  if (await newestManifest(deps.db)) return false
  try {
    await applyManifest(deps, actor, readYaml(yaml))
    return true
  } catch (error) {
    if (isProblem(error, 'CONFLICT')) return false // another replica was first
    throw error
  }
}

function readYaml(yaml: string): unknown {
  try {
    return parse(yaml)
  } catch (error) {
    throw problem('MANIFEST_INVALID', `the manifest is not YAML: ${(error as Error).message.split('\n')[0]}`)
  }
}

/** Reads the folder once, at the start of the daemon: with a gap or a text that must not run in boxes it does not start (CONFIG_INVALID). */
export async function loadBoxMigrations(folder: string): Promise<readonly BoxMigration[]> {
  const names = (await readdir(folder)).filter((file) => !file.startsWith('.')).sort()
  const files = await Promise.all(names.map(async (file) => ({ file, text: await readFile(join(folder, file), 'utf8') })))
  return readBoxMigrations(files)
}
