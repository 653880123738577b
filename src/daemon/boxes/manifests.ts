import { readdir } from 'node:fs/promises'
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
import { readUtf8 } from '../../node/index.ts'
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

/** The current manifest. Throws NOT_FOUND when none was applied. */
export async function currentManifest(db: DbOrTx): Promise<ManifestRevision> {
  const newest = await newestManifest(db)
  if (!newest) throw problem('NOT_FOUND', 'no manifest has been applied. fix: `tenantry manifest apply <file>`')
  return newest
}

/** One revision. Throws NOT_FOUND. */
export async function manifestByRevision(db: DbOrTx, revision: number): Promise<ManifestRevision> {
  const row = await db.selectFrom('manifests').selectAll().where('revision', '=', revision).executeTakeFirst()
  if (!row) throw problem('NOT_FOUND', `manifest revision ${revision} does not exist. Current one: \`tenantry manifest show\``)
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

/** Applies a manifest (spec 9.5). Unchanged content keeps its revision; any other content becomes a new one. */
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
    throw problem(
      'CONFLICT',
      'another manifest was applied at the same time. fix: check it (`tenantry manifest show`), then apply yours again',
    )
  })
}

/** The changes that applying would make. */
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
 * Applies a manifest in the caller's transaction. `revision` is the number after the one it is based on; if another was applied meanwhile, the unique
 * constraint aborts the transaction. Returns the changes; the caller audits them.
 */
export async function applyNextManifest(
  { tx, clock }: Readonly<{ tx: Tx; clock: Clock }>,
  actor: Actor,
  { revision, manifest }: Readonly<{ revision: number; manifest: Manifest }>,
): Promise<readonly ManifestChange[]> {
  const before = await manifestByRevision(tx, revision - 1)
  await insertManifest(tx, { revision, manifest, appliedAt: isoNow(clock), appliedBy: actorLabel(actor) })
  return diffManifests(before.manifest, manifest)
}

const actor: SystemActor = { kind: 'system', name: 'start' }

/**
 * Imports the manifest file at the first start; later only `tenantry manifest apply` changes the manifest.
 * Returns true when it was imported. Throws MANIFEST_INVALID.
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

/** Reads the folder of box migrations at start. Throws CONFIG_INVALID for a gap or SQL that is not allowed. */
export async function loadBoxMigrations(folder: string): Promise<readonly BoxMigration[]> {
  const names = (await readdir(folder)).filter((file) => !file.startsWith('.')).sort()
  const files = await Promise.all(names.map(async (file) => ({ file, text: await readUtf8(join(folder, file)) })))
  return readBoxMigrations(files)
}
